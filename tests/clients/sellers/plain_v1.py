#!/usr/bin/env python3
"""A v1 seller by hand: 402 with a JSON body, X-PAYMENT in, X-PAYMENT-RESPONSE out. usage: FACILITATOR_PORT [CERT KEY]. Prints its port."""
import base64
import json
import ssl
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FACILITATOR, TLS = int(sys.argv[1]), sys.argv[2:4]


def offer(resource):
    return {
        "scheme": "exact",
        "network": "base-sepolia",
        "maxAmountRequired": "10000",
        "resource": resource,
        "description": "one cent",
        "mimeType": "application/json",
        "payTo": "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
        "maxTimeoutSeconds": 60,
        "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
        "extra": {"name": "USDC", "version": "2"},
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, document, *headers):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path != "/paid":
            return self.answer(200, {"free": True})
        wanted = offer(f"{'https' if TLS else 'http'}://{self.headers['host']}{self.path}")
        unpaid = {"x402Version": 1, "accepts": [wanted]}
        payment = self.headers.get("X-PAYMENT")
        if not payment:
            return self.answer(402, unpaid | {"error": "X-PAYMENT header is required"})
        question = {"x402Version": 1, "paymentPayload": json.loads(base64.b64decode(payment)), "paymentRequirements": wanted}
        url = f"http://127.0.0.1:{FACILITATOR}/settle"
        request = urllib.request.Request(url, json.dumps(question).encode(), {"Content-Type": "application/json"})
        settled = json.load(urllib.request.urlopen(request))
        receipt = ("X-PAYMENT-RESPONSE", base64.b64encode(json.dumps(settled).encode()).decode())
        if settled["success"]:
            return self.answer(200, {"ok": True}, receipt)
        self.answer(402, unpaid | {"error": settled["errorReason"]}, receipt)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if TLS:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*TLS)
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
