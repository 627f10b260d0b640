// A paying client: the legacy x402-fetch (v1 only). usage: node --import ./env_proxy.mjs pay_fetch_v1.mjs URL… ; env EVM_KEY
import { wrapFetchWithPayment } from "x402-fetch";
import { createWalletClient, http } from "viem";
import { baseSepolia } from "viem/chains";
import { buy } from "./buy.mjs";
import { countedAccount } from "./counted.mjs";
const wallet = createWalletClient({ account: countedAccount(process.env.EVM_KEY), chain: baseSepolia, transport: http("http://127.0.0.1:9") });
const pay = wrapFetchWithPayment(fetch, wallet);
await buy((url) => pay(url, {}));
