// Chat Completions, with the official client.
import { ANSWER, DESCRIPTION, FIRST, SCHEMA, SECOND, SHORT, URL, done, expect, expectBasel, expectCalls, load, refused, run } from "./conversation.mjs";

const { default: OpenAI } = await load("openai");
const client = new OpenAI({ baseURL: URL, apiKey: "none", maxRetries: 0, timeout: 20_000 });
const tools = [{ type: "function", function: { name: "weather", description: DESCRIPTION, parameters: SCHEMA } }];

const models = [];
for await (const model of client.models.list()) models.push(model.id);
expect("the models", models, ["scripted"]);

/** One reply, put together out of its pieces. */
async function streamed(messages) {
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

const parsed = (calls) => calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]);
const answers = (calls) =>
  calls.map((call) => {
    const content = run(call.function.name, JSON.parse(call.function.arguments));
    return { role: "tool", tool_call_id: call.id, content };
  });

let messages = [{ role: "user", content: FIRST }];
let reply = await streamed(messages);
expect("the end of the first reply", [reply.finish, reply.usage.total_tokens], ["tool_calls", 70]);
expectCalls(parsed(reply.calls));
messages.push({ role: "assistant", content: reply.text || null, tool_calls: reply.calls }, ...answers(reply.calls));
reply = await streamed(messages);
expect("the answer", [reply.text, reply.calls, reply.finish], [ANSWER, [], "stop"]);

messages = [{ role: "user", content: SECOND }];
let whole = await client.chat.completions.create({ model: "scripted", messages, tools });
expectBasel(parsed(whole.choices[0].message.tool_calls));
messages.push(whole.choices[0].message, ...answers(whole.choices[0].message.tool_calls));
whole = await client.chat.completions.create({ model: "scripted", messages, tools });
expect("the whole answer", [whole.choices[0].message.content, whole.usage.total_tokens], [SHORT, 54]);

const error = await refused(() => client.chat.completions.create({ model: "scripted", messages }));
expect("the error", [error.status, error.type], [400, "script_ended"]);
done("openai", "Chat Completions");
