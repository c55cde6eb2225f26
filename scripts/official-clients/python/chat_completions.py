"""Chat Completions, with the official client."""

import json

import openai
from conversation import ANSWER, DESCRIPTION, FIRST, SCHEMA, SECOND, SHORT, URL, done, expect, expect_calls, run

TOOLS = [{"type": "function", "function": {"name": "weather", "description": DESCRIPTION, "parameters": SCHEMA}}]


def streamed(client, messages):
    """One reply, put together out of its pieces."""
    text, calls, finish, usage, chunks = "", {}, None, None, 0
    stream = client.chat.completions.create(
        model="scripted", messages=messages, tools=TOOLS, stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        chunks += 1
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
            for piece in choice.delta.tool_calls or []:
                call = calls.setdefault(piece.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
                call["id"] += piece.id or ""
                call["function"]["name"] += piece.function.name or ""
                call["function"]["arguments"] += piece.function.arguments or ""
    if chunks < 5:
        raise SystemExit(f"a stream of {chunks} chunks is none")
    return text, [calls[index] for index in sorted(calls)], finish, usage


def parsed(calls):
    return [(call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]


def answers(calls):
    results = [run(name, arguments) for name, arguments in parsed(calls)]
    return [{"role": "tool", "tool_call_id": call["id"], "content": result} for call, result in zip(calls, results)]


client = openai.OpenAI(base_url=URL, api_key="none", max_retries=0, timeout=20)
expect("the models", [model.id for model in client.models.list()], ["scripted"])

messages = [{"role": "user", "content": FIRST}]
text, calls, finish, usage = streamed(client, messages)
expect("the end of the first reply", finish, "tool_calls")
expect("the tokens", (usage.total_tokens, usage.prompt_tokens_details.cached_tokens), (70, 10))
expect_calls(parsed(calls))
expect("the ids of its calls", len({call["id"] for call in calls}), 2)
messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
messages += answers(calls)
text, calls, finish, usage = streamed(client, messages)
expect("the answer", (text, calls, finish), (ANSWER, [], "stop"))
expect("its tokens", usage.total_tokens, 105)

# The same in one piece.
messages = [{"role": "user", "content": SECOND}]
reply = client.chat.completions.create(model="scripted", messages=messages, tools=TOOLS).choices[0]
expect("the end of the whole reply", reply.finish_reason, "tool_calls")
messages.append(reply.message.model_dump(exclude_none=True))
messages += answers([call.model_dump() for call in reply.message.tool_calls])
reply = client.chat.completions.create(model="scripted", messages=messages, tools=TOOLS)
expect("the whole answer", (reply.choices[0].message.content, reply.usage.total_tokens), (SHORT, 54))

# After the end of the script the server returns an error that the client understands.
try:
    client.chat.completions.create(model="scripted", messages=messages)
    raise SystemExit("a request beyond the script was answered")
except openai.BadRequestError as error:
    expect("the error", error.type, "script_ended")
done("openai", "Chat Completions")
