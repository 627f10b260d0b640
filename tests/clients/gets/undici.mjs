// The package undici, without a dispatcher of its own.
import { request } from "undici";
const answer = await request(process.argv[2]);
console.log(answer.statusCode, await answer.body.text());
