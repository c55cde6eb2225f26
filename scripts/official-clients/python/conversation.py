"""What the clients have in common: the tool, the questions, and what the script answers."""

import importlib.metadata
import sys

WEATHER = {"Bern": "rain", "Zürich": "sun", "Basel": "fog"}
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
DESCRIPTION = "The weather in a city."
FIRST = "How is the weather in Bern and in Zürich?"
ANSWER = "It rains in Bern, and in Zürich the sun shines 🌞."
SECOND = "And in Basel?"
SHORT = "Basel: fog."
URL = sys.argv[1]


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} where {wanted!r} was expected")


def run(name, arguments):
    """The tool, which runs here."""
    expect("the tool", name, "weather")
    return f"{arguments['city']}: {WEATHER[arguments['city']]}"


def expect_calls(calls):
    """Each call is a name and its arguments."""
    expect("the calls", [(name, args["city"], args["days"]) for name, args in calls],
           [("weather", "Bern", 2), ("weather", "Zürich", 2)])


def done(package, protocol):
    version = importlib.metadata.version(package)
    print(f"{package} {version} for Python, {protocol}: a conversation with tools, streamed and whole")
