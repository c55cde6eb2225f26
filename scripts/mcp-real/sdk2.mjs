// The TypeScript SDK 2.x: sdk2.mjs COMMAND|URL
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { check } from "./checks.mjs";

const target = process.argv[2];
const client = new Client({ name: "sdk2", version: "1" }, { capabilities: { elicitation: { form: {} } } });
client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { approve: true } }));
const transport = target.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target });
await client.connect(transport);
const done = await check(client, (params, options) => client.callTool(params, options));
const version = client.getNegotiatedProtocolVersion?.() ?? "";
await client.close();
console.log(done, version);
