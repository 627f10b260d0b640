// A paying client: @x402/fetch with a node to ask, so that it adds an allowance for Permit2 (`eip2612GasSponsoring`) where the seller takes one.
// usage: node --import ./env_proxy.mjs pay_sponsored.mjs URL… ; env EVM_KEY, EVM_RPC, NO_PROXY
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { buy } from "./buy.mjs";
import { countedAccount } from "./counted.mjs";
const scheme = new ExactEvmScheme(countedAccount(process.env.EVM_KEY), { rpcUrl: process.env.EVM_RPC });
await buy(wrapFetchWithPayment(fetch, new x402Client().register("eip155:*", scheme)));
