#!/usr/bin/env python3
"""A paying client: x402 over requests, every URL at once. usage: URL… ; env EVM_KEY, proxy, CA. One JSON line each."""
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import requests
from eth_account import Account
from counted import signatures
from x402 import x402ClientSync
from x402.http.clients import wrapRequestsWithPayment
from x402.mechanisms.evm.exact import register_exact_evm_client

client = register_exact_evm_client(x402ClientSync(), Account.from_key(os.environ["EVM_KEY"]))


def buy(url):
    try:
        answer = wrapRequestsWithPayment(requests.Session(), client).get(url, timeout=45)
        receipt = answer.headers.get("payment-response") or answer.headers.get("x-payment-response")
        return {"status": answer.status_code, "body": answer.text[:2000], "receipt": receipt, "reason": answer.headers.get("x-tollgate-reason")}
    except Exception as error:
        return {"exception": type(error).__name__, "message": str(error)[:300]}


with ThreadPoolExecutor() as threads:
    sales = list(threads.map(buy, sys.argv[1:]))
for sale in sales:
    print(json.dumps(sale | {"signed": signatures()}))
