//! JSON-RPC calls of MCP and A2A clients, paid and unpaid, and what servers answer.

use serde_json::{Value, json};
use tollgate_tests::payment::{ASSET, CENT, NETWORK, PAYEE, Terms, Wallet};

/// Which of the two protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Mcp,
    A2a,
}

/// The tool, and with it the resource, that the tests' MCP server sells.
pub(crate) const TOOL: &str = "mcp://tool/weather";

impl Protocol {
    pub(crate) const BOTH: [Protocol; 2] = [Protocol::Mcp, Protocol::A2a];

    /// A call, paid by this payment.
    pub(crate) fn paid(self, payment: &Value) -> Value {
        let mut call = self.unpaid();
        match self {
            Protocol::Mcp => call["params"]["_meta"] = json!({ "x402/payment": payment }),
            Protocol::A2a => {
                let metadata = json!({ "x402.payment.status": "payment-submitted", "x402.payment.payload": payment });
                call["params"]["message"]["metadata"] = metadata;
            }
        }
        call
    }

    /// The same call before it is paid.
    pub(crate) fn unpaid(self) -> Value {
        match self {
            Protocol::Mcp => {
                json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "weather", "arguments": { "city": "Oslo" } } })
            }
            Protocol::A2a => json!({ "jsonrpc": "2.0", "id": "a-1", "method": "message/send", "params": { "message": {
                "kind": "message", "messageId": "m-1", "taskId": "task-1", "role": "user", "parts": [{ "kind": "text", "text": "weather" }] } } }),
        }
    }

    /// What a payment for the call names as its resource, where the agent's endpoint is `url`.
    pub(crate) fn resource(self, url: &str) -> String {
        match self {
            Protocol::Mcp => TOOL.to_owned(),
            Protocol::A2a => url.to_owned(),
        }
    }

    /// An honest payment.
    pub(crate) fn payment(self, url: &str, terms: &Terms) -> Value {
        Wallet::default().v2(&self.resource(url), terms)
    }
}

/// An option of a challenge.
pub(crate) fn option(pay_to: &str, amount: &str) -> Value {
    json!({ "scheme": "exact", "network": NETWORK, "amount": amount, "asset": ASSET, "payTo": pay_to, "maxTimeoutSeconds": 300,
        "extra": { "name": "USDC", "version": "2" } })
}

/// A challenge with these options.
pub(crate) fn challenge(resource: &str, options: &[Value]) -> Value {
    json!({ "x402Version": 2, "error": "Payment required", "resource": { "url": resource, "description": "one cent", "mimeType": "application/json" },
        "accepts": options })
}

/// One cent to the known payee.
pub(crate) fn honest(resource: &str) -> Value {
    challenge(resource, &[option(PAYEE, CENT)])
}

/// A tool's result that asks for a payment, as the SDKs write it: once as an object, once as text.
pub(crate) fn tool_result(id: &Value, structured: &Value, text: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": {
        "content": [{ "type": "text", "text": text.to_string() }], "structuredContent": structured, "isError": true } })
}

/// A task that asks for a payment.
pub(crate) fn task(id: &Value, challenge: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": { "kind": "task", "id": "task-1", "contextId": "c-1", "status": {
        "state": "input-required", "message": { "kind": "message", "role": "agent", "messageId": "m-2", "parts": [],
            "metadata": { "x402.payment.status": "payment-required", "x402.payment.required": challenge } } } } })
}
