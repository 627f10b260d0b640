#!/usr/bin/env python3
"""A WebSocket server over TLS, `websockets`: says back what it hears, and what it has heard so far to `heard?`. usage: CERT KEY
deflate|alone|plain. Prints its port."""
import asyncio
import json
import ssl
import sys

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory

CERT, KEY, EXTENSION = sys.argv[1:4]
EXTENSIONS = {
    "deflate": [ServerPerMessageDeflateFactory()],
    "alone": [ServerPerMessageDeflateFactory(client_no_context_takeover=True, server_no_context_takeover=True)],
    "plain": [],
}[EXTENSION]
heard = []


async def echo(socket):
    try:
        async for message in socket:
            if message == "heard?":
                await socket.send(json.dumps(heard))
                continue
            heard.append(message if isinstance(message, str) else message.hex())
            await socket.send(message)
    except ConnectionClosed:
        pass


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERT, KEY)
    async with serve(echo, "127.0.0.1", 0, ssl=context, compression=None, extensions=EXTENSIONS, max_size=8 << 20) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


asyncio.run(main())
