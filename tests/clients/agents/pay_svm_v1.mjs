// A paying client on Solana: the legacy x402-fetch (v1 only). usage: node --import ./env_proxy.mjs pay_svm_v1.mjs URL… ; env SVM_KEY (base58), SVM_RPC, NO_PROXY
import { createSigner, wrapFetchWithPayment } from "x402-fetch";
import { buy } from "./buy.mjs";
import { counted } from "./counted.mjs";
const signer = counted(await createSigner("solana-devnet", process.env.SVM_KEY), "signTransactions");
const pay = wrapFetchWithPayment(fetch, signer, undefined, undefined, { svmConfig: { rpcUrl: process.env.SVM_RPC } });
await buy((url) => pay(url, {}));
