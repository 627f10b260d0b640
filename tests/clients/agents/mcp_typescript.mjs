// The TypeScript MCP SDK's client. usage: URL TOOL… Lists the tools, then calls each; one JSON line per step.
import "./env_proxy.mjs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const say = (line) => console.log(JSON.stringify(line));
const [url, ...tools] = process.argv.slice(2);
const given = { add: { a: 40, b: 2 }, drop: { table: "users" } };

const client = new Client({ name: "agent", version: "1" });
const transport = new StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);
const listed = await client.listTools();
say({ tools: listed.tools.map((tool) => tool.name).sort() });
for (const tool of tools) {
  try {
    const answer = await client.callTool({ name: tool, arguments: given[tool] });
    say({ tool, text: answer.content[0].text });
  } catch (error) {
    say({ tool, exception: error.constructor.name, message: String(error.message).slice(0, 300) });
  }
}
await transport.terminateSession();
say({ session: "ended" });
await client.close();
