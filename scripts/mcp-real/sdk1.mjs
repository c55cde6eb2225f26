// The TypeScript SDK 1.x: sdk1.mjs COMMAND|URL
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { check } from "./checks.mjs";

const target = process.argv[2];
const client = new Client({ name: "sdk1", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { approve: true } }));
const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target });
await client.connect(transport);
const done = await check(client, (params, options) => client.callTool(params, undefined, options));
await client.close();
console.log(done);
