#!/usr/bin/env python3
"""An x402 facilitator on paper: never touches a chain. Prints its port.

GET  /supported        kinds for v1 and v2
POST /verify, /settle  `exact` EIP-3009: recovers the signer, checks payee, value, window and that the nonce is fresh
GET  /ledger           every settlement that succeeded
GET  /calls            every call of /verify and /settle, with the payer: a seller that saw a payment has called
"""
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from eth_account import Account
from eth_account.messages import encode_typed_data

V1_CHAINS = {"base": 8453, "base-sepolia": 84532}
LOCK, LEDGER, CALLS, NONCES = threading.Lock(), [], [], set()
KINDS = [
    {"x402Version": 1, "scheme": "exact", "network": "base-sepolia"},
    {"x402Version": 2, "scheme": "exact", "network": "eip155:84532"},
]


def fields(*pairs):
    return [{"name": name, "type": kind} for name, kind in pairs]


TYPES = {
    "EIP712Domain": fields(("name", "string"), ("version", "string"), ("chainId", "uint256"), ("verifyingContract", "address")),
    "TransferWithAuthorization": fields(
        ("from", "address"), ("to", "address"), ("value", "uint256"), ("validAfter", "uint256"), ("validBefore", "uint256"), ("nonce", "bytes32")
    ),
}


def check(body):
    """Why the payment is not good (or None), and who pays."""
    payload, wanted = body["paymentPayload"]["payload"], body["paymentRequirements"]
    terms = payload["authorization"]
    payer, network = terms["from"], wanted["network"]
    if terms["to"].lower() != wanted["payTo"].lower():
        return "invalid_exact_evm_payload_recipient_mismatch", payer
    if int(terms["value"]) != int(wanted.get("amount") or wanted["maxAmountRequired"]):
        return "invalid_exact_evm_payload_authorization_value", payer
    if not int(terms["validAfter"]) <= time.time() < int(terms["validBefore"]):
        return "invalid_exact_evm_payload_authorization_valid_before", payer
    message = {
        "types": TYPES,
        "primaryType": "TransferWithAuthorization",
        "domain": {
            "name": wanted["extra"]["name"],
            "version": wanted["extra"]["version"],
            "chainId": V1_CHAINS.get(network) or int(network.split(":")[1]),
            "verifyingContract": wanted["asset"],
        },
        "message": {key: int(terms[key]) for key in ("value", "validAfter", "validBefore")}
        | {"from": payer, "to": terms["to"], "nonce": bytes.fromhex(terms["nonce"][2:])},
    }
    signer = Account.recover_message(encode_typed_data(full_message=message), signature=payload["signature"])
    return (None if signer.lower() == payer.lower() else "invalid_exact_evm_payload_signature"), payer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        with LOCK:
            documents = {
                "/supported": {"kinds": KINDS, "extensions": [], "signers": {"eip155:*": []}},
                "/ledger": list(LEDGER),
                "/calls": list(CALLS),
            }
        found = documents.get(self.path)
        self.answer(404 if found is None else 200, {} if found is None else found)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        try:
            why, payer = check(body)
        except Exception as error:
            why, payer = "invalid_payload: " + type(error).__name__, None
        with LOCK:
            CALLS.append({"path": self.path, "payer": payer})
        if self.path == "/verify":
            return self.answer(200, {"isValid": why is None, "payer": payer} | ({"invalidReason": why} if why else {}))
        if self.path != "/settle":
            return self.answer(404, {})
        network = body["paymentRequirements"]["network"]
        with LOCK:
            nonce = why is None and (payer, body["paymentPayload"]["payload"]["authorization"]["nonce"])
            if why is None and nonce in NONCES:
                why = "invalid_transaction_state"
            if why is None:
                NONCES.add(nonce)
                transaction = "0x" + hashlib.sha256(json.dumps(body["paymentPayload"], sort_keys=True).encode()).hexdigest()
                LEDGER.append({"transaction": transaction, "payer": payer, "payee": body["paymentRequirements"]["payTo"]})
        if why:
            return self.answer(200, {"success": False, "errorReason": why, "payer": payer, "transaction": "", "network": network})
        self.answer(200, {"success": True, "payer": payer, "transaction": transaction, "network": network})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
