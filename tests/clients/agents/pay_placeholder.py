#!/usr/bin/env python3
"""A paying client without a key: x402 over requests, whose signer knows an address and sends a placeholder. usage: URL ; env PAYER, proxy, CA. One JSON line."""
import json
import os
import sys

import requests
from x402 import x402ClientSync
from x402.http.clients import wrapRequestsWithPayment
from x402.mechanisms.evm.exact import register_exact_evm_client

PLACEHOLDER = bytes.fromhex("c0de" * 32 + "1b")


class Keyless:
    address = os.environ["PAYER"]
    asked = 0

    def sign_typed_data(self, *arguments, **options):
        self.asked += 1
        return PLACEHOLDER


signer = Keyless()
session = wrapRequestsWithPayment(requests.Session(), register_exact_evm_client(x402ClientSync(), signer))
try:
    answer = session.get(sys.argv[1], timeout=15)
    receipt = answer.headers.get("payment-response") or answer.headers.get("x-payment-response")
    print(json.dumps({"status": answer.status_code, "body": answer.text[:2000], "receipt": receipt, "reason": answer.headers.get("x-tollgate-reason"), "signed": signer.asked}))
except Exception as error:
    print(json.dumps({"exception": type(error).__name__, "message": str(error)[:300], "signed": signer.asked}))
