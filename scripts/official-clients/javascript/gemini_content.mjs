// Gemini, with the official client.
import { ANSWER, DESCRIPTION, FIRST, ROOT, SCHEMA, SECOND, SHORT, done, expect, expectBasel, expectCalls, load, refused, run } from "./conversation.mjs";

const { GoogleGenAI } = await load("@google/genai");
const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: ROOT, timeout: 20_000 } });
const config = {
  tools: [{ functionDeclarations: [{ name: "weather", description: DESCRIPTION, parametersJsonSchema: SCHEMA }] }],
  thinkingConfig: { includeThoughts: true },
};

const models = [];
for await (const model of await client.models.list()) models.push(model.name);
expect("the models", models, ["models/scripted"]);

const asks = (text) => ({ role: "user", parts: [{ text }] });
const calls = (parts) =>
  parts.filter((part) => part.functionCall).map((part) => [part.functionCall.name, part.functionCall.args]);
const text = (parts) => parts.filter((part) => part.text && !part.thought).map((part) => part.text).join("");

async function streamed(contents) {
  let [parts, last] = [[], null];
  for await (const chunk of await client.models.generateContentStream({ model: "scripted", contents, config })) {
    parts.push(...(chunk.candidates[0].content.parts ?? []));
    last = chunk;
  }
  return { parts, last };
}

/** Repeats the parts, and adds the results of the calls in one content. */
function goOn(contents, parts) {
  contents.push({ role: "model", parts });
  const results = calls(parts).map(([name, args]) => {
    return { functionResponse: { name, response: { result: run(name, args) } } };
  });
  if (results.length > 0) contents.push({ role: "user", parts: results });
}

const contents = [asks(FIRST)];
let reply = await streamed(contents);
expectCalls(calls(reply.parts));
expect("the thought", reply.parts.filter((part) => part.thought).map((part) => part.text).join(""), "I should look at both places.");
expect("the tokens", [reply.last.usageMetadata.promptTokenCount, reply.last.usageMetadata.thoughtsTokenCount], [40, 8]);
goOn(contents, reply.parts);
reply = await streamed(contents);
expect("the answer", [text(reply.parts), reply.last.candidates[0].finishReason], [ANSWER, "STOP"]);
goOn(contents, reply.parts);

contents.push(asks(SECOND));
let whole = await client.models.generateContent({ model: "scripted", contents, config });
expectBasel(calls(whole.candidates[0].content.parts));
goOn(contents, whole.candidates[0].content.parts);
whole = await client.models.generateContent({ model: "scripted", contents, config });
expect("the whole answer", whole.text, SHORT);

const error = await refused(() => client.models.generateContent({ model: "scripted", contents: [asks(FIRST)], config }));
expect("the error", [error.status, error.message.includes("script has ended")], [400, true]);
done("@google/genai", "Gemini");
