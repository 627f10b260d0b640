// A paying client on Solana: @x402/svm over @x402/fetch. usage: node --import ./env_proxy.mjs pay_svm_v2.mjs URL… ; env SVM_KEY (base58), SVM_RPC, NO_PROXY
import { createKeyPairSignerFromBytes, getBase58Encoder } from "@solana/kit";
import { wrapFetchWithPayment, x402Client } from "@x402/fetch";
import { ExactSvmScheme } from "@x402/svm/exact/client";
import { buy } from "./buy.mjs";
import { counted } from "./counted.mjs";
const signer = counted(await createKeyPairSignerFromBytes(getBase58Encoder().encode(process.env.SVM_KEY)), "signTransactions");
const client = new x402Client().register("solana:*", new ExactSvmScheme(signer, { rpcUrl: process.env.SVM_RPC }));
await buy(wrapFetchWithPayment(fetch, client));
