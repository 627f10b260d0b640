// A paying client: @x402/fetch over Node's fetch; pays v2 and v1 offers. usage: node --import ./env_proxy.mjs pay_fetch_v2.mjs URL ; env EVM_KEY
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { ExactEvmSchemeV1 } from "@x402/evm/v1";
import { countedAccount, signatures } from "./counted.mjs";
const account = countedAccount(process.env.EVM_KEY);
const client = new x402Client().register("eip155:*", new ExactEvmScheme(account)).registerV1("base-sepolia", new ExactEvmSchemeV1(account));
try {
  const answer = await wrapFetchWithPayment(fetch, client)(process.argv[2]);
  const receipt = answer.headers.get("payment-response") ?? answer.headers.get("x-payment-response");
  console.log(JSON.stringify({ status: answer.status, body: (await answer.text()).slice(0, 2000), receipt, reason: answer.headers.get("x-tollgate-reason"), signed: signatures() }));
} catch (error) {
  console.log(JSON.stringify({ exception: error.name, message: String(error.message).slice(0, 300), cause: String(error.cause?.code ?? error.cause ?? ""), signed: signatures() }));
}
