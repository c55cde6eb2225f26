"""Anthropic Messages, with the official client and thinking."""

import anthropic
from conversation import ANSWER, DESCRIPTION, FIRST, SCHEMA, SECOND, SHORT, URL, done, expect, expect_calls, run

client = anthropic.Anthropic(base_url=URL.removesuffix("/v1"), api_key="none", max_retries=0, timeout=20)
expect("the models", [model.id for model in client.models.list()], ["scripted"])
OPTIONS = {
    "model": "scripted",
    "max_tokens": 4096,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "tools": [{"name": "weather", "description": DESCRIPTION, "input_schema": SCHEMA}],
}


def streamed(messages):
    """The client puts the message together."""
    text = ""
    with client.messages.stream(messages=messages, **OPTIONS) as stream:
        for piece in stream.text_stream:
            text += piece
        message = stream.get_final_message()
    return text, message


def go_on(messages, message):
    """Repeats the blocks, and adds the results of the calls in one message."""
    messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in message.content]})
    results = [
        {"type": "tool_result", "tool_use_id": block.id, "content": run(block.name, block.input)}
        for block in message.content
        if block.type == "tool_use"
    ]
    if results:
        messages.append({"role": "user", "content": results})


def calls(message):
    return [(block.name, block.input) for block in message.content if block.type == "tool_use"]


messages = [{"role": "user", "content": FIRST}]
_, message = streamed(messages)
expect("the stop reason", message.stop_reason, "tool_use")
expect_calls(calls(message))
expect("the thinking", message.content[0].thinking, "I should look at both places.")
expect("the tokens", (message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens),
       (30, 10, 30))
go_on(messages, message)
text, message = streamed(messages)
expect("the answer", (text, message.stop_reason), (ANSWER, "end_turn"))
go_on(messages, message)

messages.append({"role": "user", "content": SECOND})
message = client.messages.create(messages=messages, **OPTIONS)
expect("the call", calls(message), [("weather", {"city": "Basel", "days": 1})])
go_on(messages, message)
message = client.messages.create(messages=messages, **OPTIONS)
expect("the whole answer", [block.text for block in message.content], [SHORT])

try:
    client.messages.create(messages=messages[:1], **OPTIONS)
    raise SystemExit("a request beyond the script was answered")
except anthropic.BadRequestError as error:
    expect("the error", error.body["error"]["type"], "script_ended")
done("anthropic", "Messages")
