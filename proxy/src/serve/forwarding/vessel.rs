//! What a payment travels in, and a wallet that signs.

use k256::ecdsa::SigningKey;
use rand::Rng;
use ruint::aliases::U256;
use serde_json::{Value, json};

use super::seller::Money;
use crate::flow::now;
use crate::x402::claim::{Domain, EvmAddress};
use crate::x402::eip712::{DomainSeparator, TransferWithAuthorization};
use crate::x402::signature::address_of;

pub(super) const PAYEE: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
pub(super) const ASSET: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vessel {
    V1,
    V2,
    Mcp,
    A2a,
}

impl Vessel {
    pub(super) const ALL: [Vessel; 4] = [Vessel::V1, Vessel::V2, Vessel::Mcp, Vessel::A2a];

    /// A payment of one cent for the URL, signed, and what it moves.
    pub(super) fn payment(self, rng: &mut impl Rng, url: &str) -> (Value, Money) {
        let key = SigningKey::from_slice(&[7; 32]).unwrap();
        let transfer = TransferWithAuthorization {
            from: address_of(key.verifying_key()).unwrap(),
            to: EvmAddress::parse(PAYEE).unwrap(),
            value: U256::from(10_000),
            valid_after: U256::ZERO,
            valid_before: U256::from(now() + 300),
            nonce: rng.random(),
        };
        let (signature, recovery) = key.sign_prehash_recoverable(&transfer.digest(&domain())).unwrap();
        let payload = json!({
            "signature": format!("0x{}{:02x}", hex::encode(signature.to_bytes()), 27 + recovery.to_byte()),
            "authorization": {
                "from": transfer.from.to_string(), "to": PAYEE, "value": "10000", "validAfter": "0",
                "validBefore": transfer.valid_before.to_string(), "nonce": format!("0x{}", hex::encode(transfer.nonce)),
            },
        });
        let payment = if self == Vessel::V1 {
            json!({ "x402Version": 1, "scheme": "exact", "network": "base-sepolia", "payload": payload })
        } else {
            let resource = if self == Vessel::Mcp { "mcp://tool/weather" } else { url };
            json!({ "x402Version": 2, "payload": payload, "resource": { "url": resource, "description": "one cent" }, "accepted": {
                "scheme": "exact", "network": "eip155:84532", "amount": "10000", "asset": ASSET, "payTo": PAYEE,
                "maxTimeoutSeconds": 300, "extra": { "name": "USDC", "version": "2" } } })
        };
        (payment, transfer)
    }

    /// The body around a payment, given as JSON; `{}` where it travels in a header.
    pub(super) fn body(self, payment: &str) -> String {
        match self {
            Vessel::V1 | Vessel::V2 => "{}".to_owned(),
            Vessel::Mcp => format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"weather","arguments":{{"city":"Oslo"}},"_meta":{{"x402/payment":{payment}}}}}}}"#
            ),
            Vessel::A2a => format!(
                r#"{{"jsonrpc":"2.0","id":"a","method":"message/send","params":{{"message":{{"kind":"message","messageId":"m","role":"user","parts":[],"metadata":{{"x402.payment.payload":{payment}}}}}}}}}"#
            ),
        }
    }

    /// The way to the payment in a body.
    pub(super) const fn path(self) -> &'static [&'static str] {
        match self {
            Vessel::V1 | Vessel::V2 => &[],
            Vessel::Mcp => &["params", "_meta", "x402/payment"],
            Vessel::A2a => &["params", "message", "metadata", "x402.payment.payload"],
        }
    }

    /// The payment as it stands in a body.
    pub(super) fn slice_of(self, body: &[u8]) -> Option<Vec<u8>> {
        let whole: &serde_json::value::RawValue = serde_json::from_slice(body).ok()?;
        let step = |raw: &'_ serde_json::value::RawValue, name: &str| {
            let members: std::collections::HashMap<String, Box<serde_json::value::RawValue>> = serde_json::from_str(raw.get()).ok()?;
            members.get(name).cloned()
        };
        let found = self.path().iter().try_fold(whole.to_owned(), |raw, name| step(&raw, name))?;
        Some(found.get().as_bytes().to_vec())
    }
}

/// Base Sepolia USDC.
pub(super) fn domain() -> DomainSeparator {
    let named = Domain {
        name: "USDC".into(),
        version: "2".into(),
    };
    DomainSeparator::of_token(84_532, EvmAddress::parse(ASSET).unwrap(), &named)
}
