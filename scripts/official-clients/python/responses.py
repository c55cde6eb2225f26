"""Responses, with the official client: stateless, so that all items go back."""

import json

import openai
from conversation import ANSWER, DESCRIPTION, FIRST, SCHEMA, SECOND, SHORT, URL, done, expect, expect_calls, run

client = openai.OpenAI(base_url=URL, api_key="none", max_retries=0, timeout=20)
OPTIONS = {
    "model": "scripted",
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "tools": [{"type": "function", "name": "weather", "description": DESCRIPTION, "parameters": SCHEMA, "strict": False}],
}


def streamed(items):
    """The items of `response.output_item.done`, the text of the deltas, and the last response."""
    output, text, last, events = [], "", None, 0
    for event in client.responses.create(input=items, stream=True, **OPTIONS):
        events += 1
        if event.type == "response.output_item.done":
            output.append(event.item)
        elif event.type == "response.output_text.delta":
            text += event.delta
        elif event.type == "response.completed":
            last = event.response
    expect("a stream of many events", events > 8, True)
    expect("the status", last.status, "completed")
    return output, text, last


def go_on(items, output):
    """Repeats the items, and adds the results of the calls."""
    items += [item.model_dump(exclude_none=True) for item in output]
    for item in output:
        if item.type == "function_call":
            result = run(item.name, json.loads(item.arguments))
            items.append({"type": "function_call_output", "call_id": item.call_id, "output": result})


def calls(output):
    return [(item.name, json.loads(item.arguments)) for item in output if item.type == "function_call"]


items = [{"role": "user", "content": FIRST}]
output, _, last = streamed(items)
expect_calls(calls(output))
expect("the reasoning", output[0].summary[0].text, "I should look at both places.")
usage = last.usage
expect("the tokens", (usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens,
                      usage.output_tokens_details.reasoning_tokens), (40, 10, 30, 8))
go_on(items, output)
output, text, last = streamed(items)
expect("the answer", (text, last.output_text), (ANSWER, ANSWER))
go_on(items, output)

items.append({"role": "user", "content": SECOND})
response = client.responses.create(input=items, **OPTIONS)
expect("the call", calls(response.output), [("weather", {"city": "Basel", "days": 1})])
go_on(items, response.output)
response = client.responses.create(input=items, **OPTIONS)
expect("the whole answer", response.output_text, SHORT)

try:
    client.responses.create(input="More?", **OPTIONS)
    raise SystemExit("a request beyond the script was answered")
except openai.BadRequestError as error:
    expect("the error", error.type, "script_ended")
done("openai", "Responses")
