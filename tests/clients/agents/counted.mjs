// A viem account that counts what it signs. With SIGN_AFTER it says so (FILE.asked), and signs once that file exists, or after a minute.
import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { privateKeyToAccount } from "viem/accounts";

let count = 0;
export const signatures = () => count;

/** Counts the calls of these methods of a signer. */
export function counted(signer, ...names) {
  const copy = { ...signer };
  for (const name of names) {
    copy[name] = async (...given) => {
      count += 1;
      const file = process.env.SIGN_AFTER;
      if (file) {
        writeFileSync(`${file}.asked`, "");
        for (let waited = 0; waited < 60_000 && !existsSync(file); waited += 20) await pause(20);
      }
      return signer[name](...given);
    };
  }
  return copy;
}

export const countedAccount = (key) => counted(privateKeyToAccount(key), "sign", "signMessage", "signTypedData", "signTransaction");
