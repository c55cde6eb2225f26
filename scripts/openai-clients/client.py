"""A conversation with tools, with the official Python client: with streaming, then without."""

import json
import sys

import openai

WEATHER = {"Bern": "rain", "Zürich": "sun", "Basel": "fog"}
TOOLS = [{
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}]


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} where {wanted!r} was expected")


def run(call):
    """The tool, which runs here."""
    expect("the tool", call["function"]["name"], "weather")
    args = json.loads(call["function"]["arguments"])
    return f"{args['city']}: {WEATHER[args['city']]}"


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
        sys.exit(f"a stream of {chunks} chunks is none")
    return text, [calls[index] for index in sorted(calls)], finish, usage


def answers(calls):
    return [{"role": "tool", "tool_call_id": call["id"], "content": run(call)} for call in calls]


client = openai.OpenAI(base_url=sys.argv[1], api_key="none", max_retries=0, timeout=20)
expect("the models", [model.id for model in client.models.list()], ["scripted"])

messages = [{"role": "user", "content": "How is the weather in Bern and in Zürich?"}]
text, calls, finish, usage = streamed(client, messages)
expect("the end of the first reply", finish, "tool_calls")
expect("its tokens", usage.total_tokens, 70)
expect("its calls", [json.loads(call["function"]["arguments"])["city"] for call in calls], ["Bern", "Zürich"])
expect("the ids of its calls", len({call["id"] for call in calls}), 2)
messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
messages += answers(calls)
expect("what the tools say", [it["content"] for it in messages[-2:]], ["Bern: rain", "Zürich: sun"])
text, calls, finish, usage = streamed(client, messages)
expect("the answer", (text, calls, finish), ("It rains in Bern, and in Zürich the sun shines 🌞.", [], "stop"))
expect("its tokens", usage.total_tokens, 105)

# The same without streaming.
messages = [{"role": "user", "content": "And in Basel?"}]
reply = client.chat.completions.create(model="scripted", messages=messages, tools=TOOLS).choices[0]
expect("the end of the whole reply", reply.finish_reason, "tool_calls")
messages.append(reply.message.model_dump(exclude_none=True))
messages += answers([call.model_dump() for call in reply.message.tool_calls])
reply = client.chat.completions.create(model="scripted", messages=messages, tools=TOOLS)
expect("the whole answer", (reply.choices[0].message.content, reply.usage.total_tokens), ("Basel: fog.", 54))

# After the end of the script the server returns an error that the client understands.
try:
    client.chat.completions.create(model="scripted", messages=messages)
    sys.exit("a request beyond the script was answered")
except openai.BadRequestError as error:
    expect("the error", error.type, "script_ended")

print(f"openai for Python {openai.__version__}: a conversation with tools, with and without streaming")
