// A GraphQL client, `graphql-request`. usage: URL QUERY… One JSON line per query.
import "./env_proxy.mjs";
import { GraphQLClient } from "graphql-request";

const [url, ...queries] = process.argv.slice(2);
const client = new GraphQLClient(url);
for (const query of queries) {
  try {
    console.log(JSON.stringify({ data: await client.request(query) }));
  } catch (error) {
    console.log(JSON.stringify({ status: error.response?.status, reason: error.response?.headers?.get("x-tollgate-reason") ?? null }));
  }
}
