// Responses, with the official client: stateless, so that all items go back.
import { ANSWER, DESCRIPTION, FIRST, SCHEMA, SECOND, SHORT, URL, done, expect, expectBasel, expectCalls, load, refused, run } from "./conversation.mjs";

const { default: OpenAI } = await load("openai");
const client = new OpenAI({ baseURL: URL, apiKey: "none", maxRetries: 0, timeout: 20_000 });
const options = {
  model: "scripted",
  store: false,
  include: ["reasoning.encrypted_content"],
  tools: [{ type: "function", name: "weather", description: DESCRIPTION, parameters: SCHEMA, strict: false }],
};

/** The items of `response.output_item.done`, the text of the deltas, and the last response. */
async function streamed(input) {
  let [output, text, last] = [[], "", null];
  for await (const event of await client.responses.create({ ...options, input, stream: true })) {
    if (event.type === "response.output_item.done") output.push(event.item);
    if (event.type === "response.output_text.delta") text += event.delta;
    if (event.type === "response.completed") last = event.response;
  }
  expect("the status", last.status, "completed");
  return { output, text, last };
}

const calls = (output) =>
  output.filter((item) => item.type === "function_call").map((item) => [item.name, JSON.parse(item.arguments)]);

/** Repeats the items, and adds the results of the calls. */
function goOn(input, output) {
  input.push(...output);
  for (const item of output.filter((item) => item.type === "function_call")) {
    const result = run(item.name, JSON.parse(item.arguments));
    input.push({ type: "function_call_output", call_id: item.call_id, output: result });
  }
}

const input = [{ role: "user", content: FIRST }];
let reply = await streamed(input);
expectCalls(calls(reply.output));
expect("the reasoning", reply.output[0].summary[0].text, "I should look at both places.");
expect("the tokens", [reply.last.usage.input_tokens, reply.last.usage.input_tokens_details.cached_tokens], [40, 10]);
goOn(input, reply.output);
reply = await streamed(input);
expect("the answer", reply.text, ANSWER);
goOn(input, reply.output);

input.push({ role: "user", content: SECOND });
let whole = await client.responses.create({ ...options, input });
expectBasel(calls(whole.output));
goOn(input, whole.output);
whole = await client.responses.create({ ...options, input });
expect("the whole answer", whole.output_text, SHORT);

const error = await refused(() => client.responses.create({ ...options, input: "More?" }));
expect("the error", [error.status, error.type], [400, "script_ended"]);
done("openai", "Responses");
