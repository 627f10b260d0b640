// A v2 seller: the SDK's own Express middleware. usage: node express_v2.mjs FACILITATOR_PORT CERT KEY. Prints its port.
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import express from "express";
import { paymentMiddleware, x402ResourceServer } from "@x402/express";
import { HTTPFacilitatorClient } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/server";
const [facilitator, cert, key] = process.argv.slice(2);
const sales = new x402ResourceServer(new HTTPFacilitatorClient({ url: `http://127.0.0.1:${facilitator}` })).register("eip155:*", new ExactEvmScheme());
const price = { scheme: "exact", price: "$0.01", network: "eip155:84532", payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C" };
const app = express();
app.use(paymentMiddleware({ "GET /paid": { accepts: [price], description: "one cent", mimeType: "application/json" } }, sales));
app.get("/paid", (_, answer) => answer.json({ ok: true }));
app.get("/free", (_, answer) => answer.json({ free: true }));
const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, app);
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
