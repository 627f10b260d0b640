// An ordinary client, undici. usage: node plain_undici.mjs URL… ; proxy and CA come from the environment. One JSON line per URL.
import { EnvHttpProxyAgent, request } from "undici";
const dispatcher = new EnvHttpProxyAgent();
for (const url of process.argv.slice(2)) {
  try {
    const answer = await request(url, { dispatcher });
    const body = await answer.body.text();
    console.log(JSON.stringify({ status: answer.statusCode, body: body.slice(0, 2000), reason: answer.headers["x-tollgate-reason"] ?? null }));
  } catch (error) {
    console.log(JSON.stringify({ exception: error.name, message: String(error.message).slice(0, 300), cause: String(error.cause?.code ?? "") }));
  }
}
await dispatcher.close();
