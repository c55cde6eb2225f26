"""Ollama, with the official client."""

import ollama
from conversation import ANSWER, DESCRIPTION, FIRST, SCHEMA, SECOND, SHORT, URL, done, expect, expect_calls, run

client = ollama.Client(host=URL.removesuffix("/v1"), timeout=20)
expect("the models", [model.model for model in client.list().models], ["scripted"])
TOOLS = [{"type": "function", "function": {"name": "weather", "description": DESCRIPTION, "parameters": SCHEMA}}]


def streamed(messages):
    """One reply, put together out of its lines."""
    content, thinking, calls, lines = "", "", [], 0
    for line in client.chat(model="scripted", messages=messages, tools=TOOLS, stream=True, think=True):
        lines += 1
        content += line.message.content or ""
        thinking += line.message.thinking or ""
        calls += line.message.tool_calls or []
    expect("a stream of many lines", lines > 3, True)
    return ollama.Message(role="assistant", content=content, thinking=thinking, tool_calls=calls or None), line


def go_on(messages, message):
    messages.append(message)
    for call in message.tool_calls or []:
        result = run(call.function.name, call.function.arguments)
        messages.append({"role": "tool", "tool_name": call.function.name, "content": result})


def calls(message):
    return [(call.function.name, dict(call.function.arguments)) for call in message.tool_calls or []]


messages = [{"role": "user", "content": FIRST}]
message, last = streamed(messages)
expect_calls(calls(message))
expect("the thinking", message.thinking, "I should look at both places.")
expect("the end", (last.done, last.done_reason, last.prompt_eval_count, last.eval_count), (True, "stop", 40, 30))
go_on(messages, message)
message, _ = streamed(messages)
expect("the answer", message.content, ANSWER)
go_on(messages, message)

messages.append({"role": "user", "content": SECOND})
message = client.chat(model="scripted", messages=messages, tools=TOOLS).message
expect("the call", calls(message), [("weather", {"city": "Basel", "days": 1})])
go_on(messages, message)
expect("the whole answer", client.chat(model="scripted", messages=messages, tools=TOOLS).message.content, SHORT)

try:
    client.chat(model="scripted", messages=messages[:1])
    raise SystemExit("a request beyond the script was answered")
except ollama.ResponseError as error:
    expect("the error", (error.status_code, "script has ended" in error.error), (400, True))
done("ollama", "Ollama")
