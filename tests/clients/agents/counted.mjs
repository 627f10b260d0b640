// A viem account that counts what it signs.
import { privateKeyToAccount } from "viem/accounts";

let count = 0;
export const signatures = () => count;

export function countedAccount(key) {
  const account = privateKeyToAccount(key);
  const counted = { ...account };
  for (const name of ["sign", "signMessage", "signTypedData", "signTransaction"]) {
    counted[name] = (...given) => {
      count += 1;
      return account[name](...given);
    };
  }
  return counted;
}
