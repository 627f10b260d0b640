// A WebSocket client, `ws`. usage: URL MESSAGE… ; a message is `text:…`, `fragments:a|b|c`, `large:LENGTH` or `binary:HEX`; proxy and CA
// come from the environment. One JSON line for the handshake, then one for each answer, up to the first close.
import createHttpsProxyAgent from "https-proxy-agent";
import { WebSocket } from "ws";
const [url, ...messages] = process.argv.slice(2);
const say = (line) => console.log(JSON.stringify(line));
const agent = createHttpsProxyAgent(process.env.https_proxy);
const socket = new WebSocket(url, { agent, perMessageDeflate: { threshold: 0 }, handshakeTimeout: 10_000 });
const send = (text) => {
  const kind = text.slice(0, text.indexOf(":"));
  const rest = text.slice(kind.length + 1);
  if (kind === "fragments") {
    const pieces = rest.split("|");
    pieces.forEach((piece, i) => socket.send(piece, { fin: i === pieces.length - 1, compress: true }));
  } else if (kind === "large") {
    socket.send(Array.from({ length: Number(rest) }, (_, i) => String.fromCharCode(0x61 + ((i * i) % 26))).join(""));
  } else {
    socket.send(kind === "binary" ? Buffer.from(rest, "hex") : rest);
  }
};
const next = () => {
  const text = messages.shift();
  if (text === undefined) socket.close(1000);
  else send(text);
};
let open = false;
let extensions = null;
socket.on("upgrade", (answer) => {
  extensions = answer.headers["sec-websocket-extensions"] ?? null;
});
socket.on("open", () => {
  open = true;
  say({ open: true, extensions });
  next();
});
socket.on("message", (data, binary) => {
  say({ answer: data.toString(binary ? "hex" : "utf8") });
  next();
});
socket.on("unexpected-response", (request, answer) => {
  say({ status: answer.statusCode, reason: answer.headers["x-tollgate-reason"] ?? null });
  request.destroy();
});
socket.on("error", () => {});
socket.on("close", (code, reason) => {
  if (open && code !== 1000) say({ code, reason: reason.toString() });
});
