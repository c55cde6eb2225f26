// Ollama, with the official client.
import { ANSWER, DESCRIPTION, FIRST, ROOT, SCHEMA, SECOND, SHORT, done, expect, expectBasel, expectCalls, load, refused, run } from "./conversation.mjs";

const { Ollama } = await load("ollama");
const client = new Ollama({ host: ROOT });
const tools = [{ type: "function", function: { name: "weather", description: DESCRIPTION, parameters: SCHEMA } }];
expect("the models", (await client.list()).models.map((model) => model.model), ["scripted"]);

/** One reply, put together out of its lines. */
async function streamed(messages) {
  const message = { role: "assistant", content: "", thinking: "", tool_calls: [] };
  let last = null;
  for await (const line of await client.chat({ model: "scripted", messages, tools, stream: true, think: true })) {
    message.content += line.message.content ?? "";
    message.thinking += line.message.thinking ?? "";
    message.tool_calls.push(...(line.message.tool_calls ?? []));
    last = line;
  }
  return { message, last };
}

const calls = (message) => (message.tool_calls ?? []).map((call) => [call.function.name, call.function.arguments]);

function goOn(messages, message) {
  messages.push(message);
  for (const call of message.tool_calls ?? []) {
    const content = run(call.function.name, call.function.arguments);
    messages.push({ role: "tool", tool_name: call.function.name, tool_call_id: call.id, content });
  }
}

const messages = [{ role: "user", content: FIRST }];
let { message, last } = await streamed(messages);
expectCalls(calls(message));
expect("the thinking", message.thinking, "I should look at both places.");
expect("the end", [last.done, last.done_reason, last.prompt_eval_count, last.eval_count], [true, "stop", 40, 30]);
goOn(messages, message);
({ message } = await streamed(messages));
expect("the answer", message.content, ANSWER);
goOn(messages, message);

messages.push({ role: "user", content: SECOND });
({ message } = await client.chat({ model: "scripted", messages, tools }));
expectBasel(calls(message));
goOn(messages, message);
({ message } = await client.chat({ model: "scripted", messages, tools }));
expect("the whole answer", message.content, SHORT);

const error = await refused(() => client.chat({ model: "scripted", messages: messages.slice(0, 1) }));
expect("the error", [error.status_code, error.error.includes("script has ended")], [400, true]);
done("ollama", "Ollama");
