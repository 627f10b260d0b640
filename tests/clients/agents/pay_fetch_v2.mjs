// A paying client: @x402/fetch over Node's fetch; pays v2 and v1 offers. usage: node --import ./env_proxy.mjs pay_fetch_v2.mjs URL… ; env EVM_KEY
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { ExactEvmSchemeV1 } from "@x402/evm/v1";
import { buy } from "./buy.mjs";
import { countedAccount } from "./counted.mjs";
const account = countedAccount(process.env.EVM_KEY);
const client = new x402Client().register("eip155:*", new ExactEvmScheme(account)).registerV1("base-sepolia", new ExactEvmSchemeV1(account));
await buy(wrapFetchWithPayment(fetch, client));
