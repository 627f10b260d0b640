// Buys at every URL of the command line at once, and prints one JSON line for each: what came of it, and how often this process has signed.
import { signatures } from "./counted.mjs";

export async function buy(pay, signed = signatures) {
  const one = async (url) => {
    try {
      const answer = await pay(url);
      const header = (name) => answer.headers.get(name);
      const receipt = header("payment-response") ?? header("x-payment-response") ?? header("payment-receipt");
      return { status: answer.status, body: (await answer.text()).slice(0, 2000), receipt, reason: header("x-tollgate-reason") };
    } catch (error) {
      return { exception: error.name, message: String(error.message).slice(0, 300), cause: String(error.cause?.code ?? error.cause ?? "") };
    }
  };
  const sales = await Promise.all(process.argv.slice(2).map(one));
  for (const sale of sales) console.log(JSON.stringify({ ...sale, signed: signed() }));
}
