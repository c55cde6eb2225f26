// A conversation with tools, with the official JavaScript client: with streaming, then without.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

// The package is in the given folder, not next to this file.
const [url, folder] = process.argv.slice(2);
const require = createRequire(path.join(folder, "here.js"));
const { default: OpenAI } = await import(pathToFileURL(require.resolve("openai")).href);
const { version } = JSON.parse(readFileSync(path.join(folder, "node_modules/openai/package.json")));

const WEATHER = { Bern: "rain", Zürich: "sun", Basel: "fog" };
const tools = [
  {
    type: "function",
    function: {
      name: "weather",
      description: "The weather in a city.",
      parameters: {
        type: "object",
        properties: { city: { type: "string" }, days: { type: "integer" } },
        required: ["city"],
      },
    },
  },
];

function expect(what, found, wanted) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`${what}: ${a} where ${b} was expected`);
}

/** The tool, which runs here. */
function run(call) {
  expect("the tool", call.function.name, "weather");
  const { city } = JSON.parse(call.function.arguments);
  return `${city}: ${WEATHER[city]}`;
}

/** One reply, put together out of its pieces. */
async function streamed(client, messages) {
  let [text, calls, finish, usage, chunks] = ["", [], null, null, 0];
  const stream = await client.chat.completions.create({
    model: "scripted", messages, tools, stream: true, stream_options: { include_usage: true },
  });
  for await (const chunk of stream) {
    chunks += 1;
    usage = chunk.usage ?? usage;
    for (const choice of chunk.choices) {
      text += choice.delta.content ?? "";
      finish = choice.finish_reason ?? finish;
      for (const piece of choice.delta.tool_calls ?? []) {
        calls[piece.index] ??= { id: "", type: "function", function: { name: "", arguments: "" } };
        const call = calls[piece.index];
        call.id += piece.id ?? "";
        call.function.name += piece.function?.name ?? "";
        call.function.arguments += piece.function?.arguments ?? "";
      }
    }
  }
  if (chunks < 5) throw new Error(`a stream of ${chunks} chunks is none`);
  return { text, calls, finish, usage };
}

const answers = (calls) =>
  calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: run(call) }));

const client = new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0, timeout: 20_000 });
const models = [];
for await (const model of client.models.list()) models.push(model.id);
expect("the models", models, ["scripted"]);

let messages = [{ role: "user", content: "How is the weather in Bern and in Zürich?" }];
let reply = await streamed(client, messages);
expect("the end of the first reply", reply.finish, "tool_calls");
expect("its tokens", reply.usage.total_tokens, 70);
expect("its calls", reply.calls.map((call) => JSON.parse(call.function.arguments).city), ["Bern", "Zürich"]);
messages.push({ role: "assistant", content: reply.text || null, tool_calls: reply.calls }, ...answers(reply.calls));
expect("what the tools say", messages.slice(-2).map((it) => it.content), ["Bern: rain", "Zürich: sun"]);
reply = await streamed(client, messages);
expect("the answer", [reply.text, reply.calls, reply.finish], ["It rains in Bern, and in Zürich the sun shines 🌞.", [], "stop"]);
expect("its tokens", reply.usage.total_tokens, 105);

// The same without streaming.
messages = [{ role: "user", content: "And in Basel?" }];
let whole = await client.chat.completions.create({ model: "scripted", messages, tools });
expect("the end of the whole reply", whole.choices[0].finish_reason, "tool_calls");
messages.push(whole.choices[0].message, ...answers(whole.choices[0].message.tool_calls));
whole = await client.chat.completions.create({ model: "scripted", messages, tools });
expect("the whole answer", [whole.choices[0].message.content, whole.usage.total_tokens], ["Basel: fog.", 54]);

// After the end of the script the server returns an error that the client understands.
let refused = null;
try {
  await client.chat.completions.create({ model: "scripted", messages });
} catch (error) {
  refused = [error.status, error.type];
}
expect("the error beyond the script", refused, [400, "script_ended"]);

console.log(`openai for JavaScript ${version}: a conversation with tools, with and without streaming`);
