#!/usr/bin/env python3
"""A v2 seller: the SDK's own Flask middleware. usage: FACILITATOR_PORT CERT KEY. Prints its port."""
import logging
import ssl
import sys

from flask import Flask, jsonify
from werkzeug.serving import make_server
from x402 import x402ResourceServerSync
from x402.http import FacilitatorConfig, HTTPFacilitatorClientSync
from x402.http.middleware.flask import payment_middleware
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import register_exact_evm_server

facilitator = HTTPFacilitatorClientSync(FacilitatorConfig(url=f"http://127.0.0.1:{sys.argv[1]}"))
sales = register_exact_evm_server(x402ResourceServerSync(facilitator))
app = Flask(__name__)
price = PaymentOption(scheme="exact", pay_to="0x209693Bc6afc0C5328bA36FaF03C514EF312287C", price="$0.01", network="eip155:84532")
payment_middleware(app, {"GET /paid": RouteConfig(accepts=[price], description="one cent", mime_type="application/json")}, sales)


@app.get("/paid")
def paid():
    return jsonify(ok=True)


@app.get("/free")
def free():
    return jsonify(free=True)


logging.getLogger("werkzeug").setLevel(logging.ERROR)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2], sys.argv[3])
server = make_server("127.0.0.1", 0, app, threaded=True, ssl_context=context)
print(server.server_port, flush=True)
server.serve_forever()
