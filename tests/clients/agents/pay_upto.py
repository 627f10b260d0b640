#!/usr/bin/env python3
"""A paying client: x402 over requests, scheme `upto`. usage: URL ; env EVM_KEY, proxy, CA. One JSON line."""
import json
import os
import sys

import requests
from eth_account import Account
from counted import signatures
from x402 import x402ClientSync
from x402.http.clients import wrapRequestsWithPayment
from x402.mechanisms.evm.upto import UptoEvmScheme

client = x402ClientSync().register("eip155:*", UptoEvmScheme(Account.from_key(os.environ["EVM_KEY"])))
session = wrapRequestsWithPayment(requests.Session(), client)
try:
    answer = session.get(sys.argv[1], timeout=15)
    print(json.dumps({"status": answer.status_code, "body": answer.text[:2000], "reason": answer.headers.get("x-tollgate-reason"), "signed": signatures()}))
except Exception as error:
    print(json.dumps({"exception": type(error).__name__, "message": str(error)[:300], "signed": signatures()}))
