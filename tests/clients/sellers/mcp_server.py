#!/usr/bin/env python3
"""An MCP server with two tools, the Python SDK's own, over TLS. usage: CERT KEY. Prints its port."""
import socket
import sys

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

server = MCPServer("tools")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@server.tool()
def drop(table: str) -> str:
    """Drops a table."""
    print(f"dropped {table}", file=sys.stderr, flush=True)
    return f"dropped {table}"


# The host's name is the tests', not localhost.
app = server.streamable_http_app(transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False))
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
config = uvicorn.Config(app, ssl_certfile=sys.argv[1], ssl_keyfile=sys.argv[2], log_level="error", timeout_graceful_shutdown=1)
uvicorn.Server(config).run(sockets=[listener])
