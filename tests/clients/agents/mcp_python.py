#!/usr/bin/env python3
"""The Python MCP SDK's client. usage: URL MODE TOOL…, MODE being `legacy` or `auto`. Lists the tools, then calls each; one JSON line per step."""
import asyncio
import json
import sys

from mcp.client.client import Client

ARGUMENTS = {"add": {"a": 40, "b": 2}, "drop": {"table": "users"}}


def say(**line):
    print(json.dumps(line), flush=True)


async def main(url, mode, tools):
    async with Client(url, mode=mode) as client:
        say(tools=sorted(tool.name for tool in (await client.list_tools()).tools))
        for tool in tools:
            try:
                async with asyncio.timeout(10):
                    answer = await client.call_tool(tool, ARGUMENTS[tool])
                say(tool=tool, text=answer.content[0].text)
            except Exception as error:
                say(tool=tool, exception=type(error).__name__, message=str(error)[:300])


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
