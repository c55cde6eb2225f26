"""The Python SDK 2.x: client.py COMMAND|URL"""

import asyncio
import sys

from mcp import StdioServerParameters
from mcp.client.client import Client
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult


async def approve(_context, _params):
    return ElicitResult(action="accept", content={"approve": True})


def text_of(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


async def check(client):
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == ["add", "pay", "book", "count"], tools
    assert tools[0].annotations.read_only_hint and tools[1].annotations.destructive_hint

    total = await client.call_tool("add", {"a": 1, "b": 2})
    assert total.structured_content == {"sum": 3}, total
    refused = await client.call_tool("add", {"a": "x", "b": 2})
    assert refused.is_error and "Invalid arguments for `add`" in text_of(refused), refused

    paid = await client.call_tool("pay", {"euros": 7})
    assert text_of(paid) == "paid 7 euros", paid

    steps = []

    async def progress(_progress, _total, message):
        steps.append(message)

    await client.call_tool("count", {}, progress_callback=progress)
    assert steps == ["one", "two", "three"], steps

    book = await client.call_tool("book", {})
    link = next(block for block in book.content if block.type == "resource_link")
    text, pieces, uri = "", 0, str(link.uri)
    while uri:
        contents = (await client.read_resource(uri)).contents[0]
        text, pieces = text + contents.text, pieces + 1
        uri = (contents.meta or {}).get("turnwright/next")
    assert text == "".join(f"Line {line} of the bóok.\n" for line in range(1, 100_001)), len(text)
    assert len(text.encode()) == link.size
    return f"list, call, refusal, approval, progress, {link.size} bytes in {pieces} pieces"


async def main(target):
    if target.startswith("http"):
        transport = target
    else:
        transport = stdio_client(StdioServerParameters(command=target))
    async with Client(transport, elicitation_callback=approve) as client:
        done = await check(client)
        print(done, getattr(client, "protocol_version", "") or "")


asyncio.run(main(sys.argv[1]))
