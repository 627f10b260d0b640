// A paying client without a key: @x402/fetch, whose signer knows an address and sends a placeholder; v2 and v1 offers.
// usage: node --import ./env_proxy.mjs pay_placeholder.mjs URL… ; env PAYER
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { ExactEvmSchemeV1 } from "@x402/evm/v1";
import { buy } from "./buy.mjs";
let asked = 0;
const signer = {
  address: process.env.PAYER,
  signTypedData: async () => {
    asked += 1;
    return "0x" + "c0de".repeat(32) + "1b";
  },
};
const client = new x402Client().register("eip155:*", new ExactEvmScheme(signer)).registerV1("base-sepolia", new ExactEvmSchemeV1(signer));
await buy(wrapFetchWithPayment(fetch, client), () => asked);
