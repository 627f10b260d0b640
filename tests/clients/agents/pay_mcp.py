#!/usr/bin/env python3
"""An MCP client that pays for tools: the x402 SDK's MCP client over the MCP SDK's. usage: URL [TIMES] ; env EVM_KEY.
One JSON line for each of so many calls, which are made at once.

A URL that ends in /sse is spoken to by the older transport. The x402 SDK was written for version 1 of the MCP SDK; the class between
the two gives version 2's session the names that it looks for.
"""
import asyncio
import json
import os
import sys
from types import SimpleNamespace

from counted import signatures
from eth_account import Account
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from x402 import x402Client
from x402.mcp.client_async import wrap_mcp_client_with_payment
from x402.mechanisms.evm.exact import register_exact_evm_client


class Session:
    """Version 2's session as version 1's."""

    def __init__(self, session):
        self.session = session

    async def call_tool(self, params, read_timeout_seconds=None):
        result = await self.session.call_tool(params["name"], params["arguments"], meta=params.get("_meta"), read_timeout_seconds=12)
        content = [item.model_dump(by_alias=True, exclude_none=True) for item in result.content]
        return SimpleNamespace(content=content, isError=result.is_error, structuredContent=result.structured_content, _meta=result.meta or {})


async def buy(client):
    try:
        async with asyncio.timeout(15):
            answer = await client.call_tool("weather", {"city": "Oslo"})
        receipt = answer.payment_response
        return {"text": answer.content[0]["text"], "error": answer.is_error, "paid": answer.payment_made, "settled": bool(receipt and receipt.success)}
    except Exception as error:
        return {"exception": type(error).__name__, "message": str(error)[:600]}


async def main(url, times=1):
    payer = register_exact_evm_client(x402Client(), Account.from_key(os.environ["EVM_KEY"]))
    transport = sse_client(url) if url.endswith("/sse") else streamable_http_client(url)
    async with transport as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        client = wrap_mcp_client_with_payment(Session(session), payer)
        sales = await asyncio.gather(*(buy(client) for _ in range(int(times))))
        for sale in sales:
            print(json.dumps(sale | {"signed": signatures()}), flush=True)


asyncio.run(main(*sys.argv[1:]))
