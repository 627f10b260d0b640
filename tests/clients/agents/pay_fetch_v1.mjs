// A paying client: the legacy x402-fetch (v1 only). usage: node --import ./env_proxy.mjs pay_fetch_v1.mjs URL ; env EVM_KEY
import { wrapFetchWithPayment } from "x402-fetch";
import { createWalletClient, http } from "viem";
import { baseSepolia } from "viem/chains";
import { countedAccount, signatures } from "./counted.mjs";
const wallet = createWalletClient({ account: countedAccount(process.env.EVM_KEY), chain: baseSepolia, transport: http("http://127.0.0.1:9") });
try {
  const answer = await wrapFetchWithPayment(fetch, wallet)(process.argv[2], {});
  const receipt = answer.headers.get("x-payment-response");
  console.log(JSON.stringify({ status: answer.status, body: (await answer.text()).slice(0, 2000), receipt, reason: answer.headers.get("x-tollgate-reason"), signed: signatures() }));
} catch (error) {
  console.log(JSON.stringify({ exception: error.name, message: String(error.message).slice(0, 300), cause: String(error.cause?.code ?? error.cause ?? ""), signed: signatures() }));
}
