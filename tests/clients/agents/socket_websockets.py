#!/usr/bin/env python3
"""A WebSocket client, `websockets`. usage: URL MESSAGE… ; a message is `text:…`, `fragments:a|b|c`, `large:LENGTH` or `binary:HEX`;
proxy and CA come from the environment. One JSON line for the handshake, then one for each answer, up to the first close."""
import asyncio
import json
import os
import ssl
import sys

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

URL, *MESSAGES = sys.argv[1:]


def say(**line):
    print(json.dumps(line), flush=True)


def message(text):
    kind, _, rest = text.partition(":")
    return {
        "text": lambda: rest,
        "fragments": lambda: rest.split("|"),
        "large": lambda: "".join(chr(0x61 + i * i % 26) for i in range(int(rest))),
        "binary": lambda: bytes.fromhex(rest),
    }[kind]()


async def main():
    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    try:
        async with connect(URL, ssl=context, open_timeout=10, max_size=8 << 20) as socket:
            say(open=True, extensions=socket.response.headers.get("Sec-WebSocket-Extensions"))
            for text in MESSAGES:
                await socket.send(message(text))
                answer = await socket.recv()
                say(answer=answer if isinstance(answer, str) else answer.hex())
    except InvalidStatus as error:
        say(status=error.response.status_code, reason=error.response.headers.get("X-Tollgate-Reason"))
    except ConnectionClosed as error:
        say(code=error.rcvd and error.rcvd.code, reason=error.rcvd and error.rcvd.reason)


asyncio.run(main())
