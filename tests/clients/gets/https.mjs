// node:https, without an agent of its own.
import https from "node:https";
https.get(process.argv[2], async (answer) => {
  let body = "";
  for await (const piece of answer) body += piece;
  console.log(answer.statusCode, body);
});
