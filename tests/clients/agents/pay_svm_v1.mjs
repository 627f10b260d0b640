// A paying client on Solana: the legacy x402-fetch (v1 only). usage: node --import ./env_proxy.mjs pay_svm_v1.mjs URL ; env SVM_KEY (base58), SVM_RPC, NO_PROXY
import { createSigner, wrapFetchWithPayment } from "x402-fetch";
try {
  const signer = await createSigner("solana-devnet", process.env.SVM_KEY);
  const config = { svmConfig: { rpcUrl: process.env.SVM_RPC } };
  const answer = await wrapFetchWithPayment(fetch, signer, undefined, undefined, config)(process.argv[2], {});
  console.log(JSON.stringify({ status: answer.status, body: (await answer.text()).slice(0, 2000), reason: answer.headers.get("x-tollgate-reason") }));
} catch (error) {
  console.log(JSON.stringify({ exception: error.name, message: String(error.message).slice(0, 300), cause: String(error.cause?.code ?? error.cause ?? "") }));
}
