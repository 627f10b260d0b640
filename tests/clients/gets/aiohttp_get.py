"""aiohttp, which reads proxy variables only if it is told to."""

import asyncio
import sys

import aiohttp


async def main(url: str) -> None:
    async with aiohttp.ClientSession(trust_env=True) as session, session.get(url) as answer:
        print(answer.status, await answer.text())


asyncio.run(main(sys.argv[1]))
