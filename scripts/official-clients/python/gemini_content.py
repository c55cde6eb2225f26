"""Gemini, with the official client."""

from google import genai
from google.genai import errors, types

from conversation import ANSWER, DESCRIPTION, FIRST, SCHEMA, SECOND, SHORT, URL, done, expect, expect_calls, run

client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=URL.removesuffix("/v1"), timeout=20_000))
expect("the models", [model.name for model in client.models.list(config={"query_base": True})], ["models/scripted"])
declaration = types.FunctionDeclaration(name="weather", description=DESCRIPTION, parameters_json_schema=SCHEMA)
CONFIG = types.GenerateContentConfig(
    tools=[types.Tool(function_declarations=[declaration])],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    thinking_config=types.ThinkingConfig(include_thoughts=True),
)


def streamed(contents):
    """The parts of all chunks, and the last chunk."""
    parts, chunks = [], 0
    for chunk in client.models.generate_content_stream(model="scripted", contents=contents, config=CONFIG):
        chunks += 1
        parts += chunk.candidates[0].content.parts or []
    expect("a stream of many chunks", chunks > 3, True)
    return parts, chunk


def go_on(contents, parts):
    """Repeats the parts, and adds the results of the calls in one content."""
    contents.append(types.Content(role="model", parts=parts))
    results = [
        types.Part.from_function_response(name=part.function_call.name, response={"result": run(*call(part))})
        for part in parts
        if part.function_call
    ]
    if results:
        contents.append(types.Content(role="user", parts=results))


def call(part):
    return part.function_call.name, part.function_call.args


def asks(text):
    return types.Content(role="user", parts=[types.Part(text=text)])


def text_of(parts):
    return "".join(part.text for part in parts if part.text and not part.thought)


contents = [asks(FIRST)]
parts, last = streamed(contents)
expect_calls([call(part) for part in parts if part.function_call])
expect("the thought", "".join(part.text for part in parts if part.thought), "I should look at both places.")
expect("the finish reason", last.candidates[0].finish_reason.value, "STOP")
usage = last.usage_metadata
expect("the tokens", (usage.prompt_token_count, usage.cached_content_token_count, usage.candidates_token_count,
                      usage.thoughts_token_count, usage.total_token_count), (40, 10, 22, 8, 70))
go_on(contents, parts)
parts, last = streamed(contents)
expect("the answer", text_of(parts), ANSWER)
go_on(contents, parts)

contents.append(asks(SECOND))
response = client.models.generate_content(model="scripted", contents=contents, config=CONFIG)
parts = response.candidates[0].content.parts
expect("the call", [call(part) for part in parts if part.function_call], [("weather", {"city": "Basel", "days": 1})])
go_on(contents, parts)
response = client.models.generate_content(model="scripted", contents=contents, config=CONFIG)
expect("the whole answer", response.text, SHORT)

try:
    client.models.generate_content(model="scripted", contents=[asks(FIRST)], config=CONFIG)
    raise SystemExit("a request beyond the script was answered")
except errors.ClientError as error:
    expect("the error", (error.code, error.status, "script has ended" in error.message), (400, "INVALID_ARGUMENT", True))
done("google-genai", "Gemini")
