#!/usr/bin/env python3
"""A paying client: x402 over httpx, every URL at once. usage: URL… ; env EVM_KEY, HTTPS_PROXY, SSL_CERT_FILE. One JSON line each.

The SDK brings its own transport, which ignores proxy variables: it gets an inner transport that does not.
"""
import asyncio
import json
import os
import ssl
import sys

import httpx
from eth_account import Account
from counted import signatures
from x402 import x402Client
from x402.http.clients.httpx import x402AsyncTransport
from x402.mechanisms.evm.exact import register_exact_evm_client


async def buy(http, url):
    try:
        answer = await http.get(url, follow_redirects=True)
        receipt = answer.headers.get("payment-response") or answer.headers.get("x-payment-response")
        return {"status": answer.status_code, "body": answer.text[:2000], "receipt": receipt, "reason": answer.headers.get("x-tollgate-reason")}
    except Exception as error:
        return {"exception": type(error).__name__, "message": str(error)[:300]}


async def main() -> None:
    client = register_exact_evm_client(x402Client(), Account.from_key(os.environ["EVM_KEY"]))
    context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
    inner = httpx.AsyncHTTPTransport(proxy=os.environ.get("HTTPS_PROXY") or None, verify=context)
    async with httpx.AsyncClient(transport=x402AsyncTransport(client, inner), timeout=45) as http:
        sales = await asyncio.gather(*(buy(http, url) for url in sys.argv[1:]))
    for sale in sales:
        print(json.dumps(sale | {"signed": signatures()}))


asyncio.run(main())
