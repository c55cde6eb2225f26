// Anthropic Messages, with the official client and thinking.
import { ANSWER, DESCRIPTION, FIRST, ROOT, SCHEMA, SECOND, SHORT, done, expect, expectBasel, expectCalls, load, refused, run } from "./conversation.mjs";

const { default: Anthropic } = await load("@anthropic-ai/sdk");
const client = new Anthropic({ baseURL: ROOT, apiKey: "none", maxRetries: 0, timeout: 20_000 });
const options = {
  model: "scripted",
  max_tokens: 4096,
  thinking: { type: "enabled", budget_tokens: 1024 },
  tools: [{ name: "weather", description: DESCRIPTION, input_schema: SCHEMA }],
};

const models = [];
for await (const model of client.models.list()) models.push(model.id);
expect("the models", models, ["scripted"]);

const streamed = (messages) => client.messages.stream({ ...options, messages }).finalMessage();
const used = (message) => message.content.filter((block) => block.type === "tool_use");
const calls = (message) => used(message).map((block) => [block.name, block.input]);

/** Repeats the blocks, and adds the results of the calls in one message. */
function goOn(messages, message) {
  messages.push({ role: "assistant", content: message.content });
  const results = used(message).map((block) => {
    return { type: "tool_result", tool_use_id: block.id, content: run(block.name, block.input) };
  });
  if (results.length > 0) messages.push({ role: "user", content: results });
}

const messages = [{ role: "user", content: FIRST }];
let message = await streamed(messages);
expectCalls(calls(message));
expect("the thinking", message.content[0].thinking, "I should look at both places.");
expect("the tokens", [message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens], [30, 10, 30]);
goOn(messages, message);
message = await streamed(messages);
expect("the answer", [message.content.map((block) => block.text), message.stop_reason], [[ANSWER], "end_turn"]);
goOn(messages, message);

messages.push({ role: "user", content: SECOND });
message = await client.messages.create({ ...options, messages });
expectBasel(calls(message));
goOn(messages, message);
message = await client.messages.create({ ...options, messages });
expect("the whole answer", message.content.map((block) => block.text), [SHORT]);

const error = await refused(() => client.messages.create({ ...options, messages: messages.slice(0, 1) }));
expect("the error", [error.status, error.error.error.type], [400, "script_ended"]);
done("@anthropic-ai/sdk", "Messages");
