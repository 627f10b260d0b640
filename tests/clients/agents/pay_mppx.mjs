// A paying client: mppx, which answers `WWW-Authenticate: Payment` with `Authorization: Payment`, and x402 challenges too. A URL that ends
// in /mcp is sent a call of a tool. usage: node --import ./env_proxy.mjs pay_mppx.mjs URL… ; env EVM_KEY
import { Mppx, evm } from "mppx/client";
import { buy } from "./buy.mjs";
import { countedAccount } from "./counted.mjs";
const charge = { account: countedAccount(process.env.EVM_KEY), currencies: [evm.assets.baseSepolia.USDC], maxAmount: "1", networks: [84532] };
const client = Mppx.create({ polyfill: false, methods: [evm.charge(charge)] });
const call = {
  method: "POST",
  headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "weather", arguments: {} } }),
};
await buy((url) => client.fetch(url, url.endsWith("/mcp") ? call : undefined));
