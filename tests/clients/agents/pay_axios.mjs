// A paying client: @x402/axios; axios reads the proxy variables by itself. usage: node pay_axios.mjs URL… ; env EVM_KEY
import axios from "axios";
import { wrapAxiosWithPayment, x402Client } from "@x402/axios";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { buy } from "./buy.mjs";
import { countedAccount } from "./counted.mjs";
const client = new x402Client().register("eip155:*", new ExactEvmScheme(countedAccount(process.env.EVM_KEY)));
const http = wrapAxiosWithPayment(axios.create({ timeout: 45000 }), client);
await buy(async (url) => {
  // axios throws what is not a 2xx; the answer is in the error.
  const answer = await http.get(url).catch((error) => error.response ?? Promise.reject(error));
  return { status: answer.status, headers: { get: (name) => answer.headers[name] ?? null }, text: async () => JSON.stringify(answer.data) };
});
