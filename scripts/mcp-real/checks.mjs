// The checks that both SDKs make with a connected client.
import assert from "node:assert/strict";

export async function check(client, call) {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ["add", "pay", "book", "count"]);
  assert.equal(tools[0].annotations.readOnlyHint, true);
  assert.equal(tools[1].annotations.destructiveHint, true);

  const sum = await call({ name: "add", arguments: { a: 1, b: 2 } });
  assert.deepEqual(sum.structuredContent, { sum: 3 });
  const refused = await call({ name: "add", arguments: { a: "x", b: 2 } });
  assert.equal(refused.isError, true);
  assert.match(refused.content[0].text, /Invalid arguments for `add`/);

  const paid = await call({ name: "pay", arguments: { euros: 7 } });
  assert.equal(paid.content[0].text, "paid 7 euros");

  const progress = [];
  await call({ name: "count", arguments: {} }, { onprogress: (step) => progress.push(step.message) });
  assert.deepEqual(progress, ["one", "two", "three"]);

  const book = await call({ name: "book", arguments: {} });
  const link = book.content.find((block) => block.type === "resource_link");
  let text = "";
  let pieces = 0;
  for (let uri = link.uri; uri; pieces += 1) {
    const { contents } = await client.readResource({ uri });
    text += contents[0].text;
    uri = contents[0]._meta?.["turnwright/next"];
  }
  const expected = Array.from({ length: 100_000 }, (_, line) => `Line ${line + 1} of the bóok.\n`).join("");
  assert.ok(text === expected, `${text.length} of ${expected.length}`);
  assert.equal(Buffer.byteLength(text), link.size);
  await assert.rejects(call({ name: "no_such_tool", arguments: {} }));
  return `list, call, refusal, approval, progress, ${link.size} bytes in ${pieces} pieces`;
}
