// A paying client without a key: @x402/fetch, whose signer knows an address and sends a placeholder; v2 and v1 offers.
// usage: node --import ./env_proxy.mjs pay_placeholder.mjs URL ; env PAYER
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { ExactEvmSchemeV1 } from "@x402/evm/v1";
let asked = 0;
const signer = {
  address: process.env.PAYER,
  signTypedData: async () => {
    asked += 1;
    return "0x" + "c0de".repeat(32) + "1b";
  },
};
const client = new x402Client().register("eip155:*", new ExactEvmScheme(signer)).registerV1("base-sepolia", new ExactEvmSchemeV1(signer));
try {
  const answer = await wrapFetchWithPayment(fetch, client)(process.argv[2]);
  const receipt = answer.headers.get("payment-response") ?? answer.headers.get("x-payment-response");
  console.log(JSON.stringify({ status: answer.status, body: (await answer.text()).slice(0, 2000), receipt, reason: answer.headers.get("x-tollgate-reason"), signed: asked }));
} catch (error) {
  console.log(JSON.stringify({ exception: error.name, message: String(error.message).slice(0, 300), cause: String(error.cause?.code ?? error.cause ?? ""), signed: asked }));
}
