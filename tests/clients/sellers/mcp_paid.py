#!/usr/bin/env python3
"""An MCP server whose tool `weather` costs one cent: the x402 SDK's payment wrapper on the MCP SDK's server, over TLS.

usage: FACILITATOR_PORT CERT KEY json|events|sse. Prints its port. Calls are answered with JSON, with event streams, or (the older
transport, at /sse) over one stream of their own.
"""
import socket
import sys

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import CallToolResult
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.mcp.server_async import PaymentWrapperConfig, create_payment_wrapper
from x402.mcp.types import MCPToolResult
from x402.mechanisms.evm.exact import register_exact_evm_server
from x402.schemas import ResourceConfig, ResourceInfo

facilitator = HTTPFacilitatorClient(FacilitatorConfig(url=f"http://127.0.0.1:{sys.argv[1]}"))
sales = register_exact_evm_server(x402ResourceServer(facilitator))
sales.initialize()
price = ResourceConfig(scheme="exact", network="eip155:84532", pay_to="0x209693Bc6afc0C5328bA36FaF03C514EF312287C", price="$0.01")
offers = sales.build_payment_requirements(price)
server = MCPServer("weather")


@create_payment_wrapper(sales, PaymentWrapperConfig(accepts=offers, resource=ResourceInfo(url="mcp://tool/weather", description="one cent")))
async def forecast(args, context):
    return MCPToolResult(content=[{"type": "text", "text": f"sunny in {args['city']}"}])


@server.tool(structured_output=False)
async def weather(city: str, ctx: Context) -> CallToolResult:
    """Sunny, for a cent."""
    result = await forecast({"city": city}, {"_meta": dict(ctx.request_context.meta or {}), "toolName": "weather"})
    return CallToolResult(content=result.content, structured_content=result.structured_content, is_error=result.is_error, _meta=result.meta or None)


# The host's name is the tests', not localhost.
security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
if sys.argv[4] == "sse":
    app = server.sse_app(transport_security=security)
else:
    app = server.streamable_http_app(json_response=sys.argv[4] == "json", transport_security=security)
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
config = uvicorn.Config(app, ssl_certfile=sys.argv[2], ssl_keyfile=sys.argv[3], log_level="error", timeout_graceful_shutdown=1)
uvicorn.Server(config).run(sockets=[listener])
