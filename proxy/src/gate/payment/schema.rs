//! What the `config:` of a `tollgate/x402` stanza and `payments:` of tollgate.yaml may hold, as JSON Schemas for editors.

use serde_json::{Value, json};

use super::rate::RateConfig;
use crate::settings::schema::{duration, nullable, with};
use crate::settings::units::format_duration;
use crate::signer::config::{MAX_IN_FLIGHT, MAX_QUEUE};
use crate::x402::extensions::Extension;
use crate::x402::scheme::Scheme;

/// Names every field that the operator's section has, and no other.
pub fn operator() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let optional = |description: &str| nullable(text(description));
    let definitions = json!({
        "type": "array",
        "default": [],
        "description": "Assets beyond the built-in table.",
        "items": {
            "type": "object",
            "description": "A token contract that the operator vouches for.",
            "additionalProperties": false,
            "required": ["network", "address", "decimals"],
            "properties": {
                "network": text("The network's CAIP-2 identifier."),
                "address": text("The token contract."),
                "decimals": { "type": "integer", "minimum": 0, "maximum": 77, "description": "Its decimals." },
                "name": optional("The name of its EIP-712 domain."),
                "version": optional("The version of its EIP-712 domain, in quotes."),
                "token_program": optional("On Solana: `spl-token`, or `token-2022`."),
            },
        },
    });
    let description = "The operator's bounds on payments, which stanzas of the policy narrow and never widen.";
    let mut schema = schema(description, &definitions);
    if let Some(properties) = schema.pointer_mut("/properties").and_then(Value::as_object_mut) {
        let store = "The file that used payments are remembered in; without one a restart forgets them.";
        properties.insert("store".to_owned(), json!({ "type": ["string", "null"], "description": store }));
        properties.insert("rate".to_owned(), rate());
        properties.insert("signer".to_owned(), signer());
    }
    schema
}

fn rate() -> Value {
    let default = RateConfig::default();
    let window = duration("How long each payment counts.");
    json!({
        "type": "object",
        "additionalProperties": false,
        "description": "How many fresh payments one payee gets for one resource in a short time.",
        "properties": {
            "per_payee": { "type": "integer", "minimum": 1, "default": default.per_payee, "description": "Payments within the window." },
            "window": with(window, "default", format_duration(default.window)),
        },
    })
}

fn signer() -> Value {
    let text = |description: &str| json!({ "type": ["string", "null"], "description": description });
    json!({
        "type": ["object", "null"],
        "additionalProperties": false,
        "description": "Who signs payments after their GO, so that the agent needs no key.",
        "required": ["wallet"],
        "properties": {
            "wallet": { "type": "string", "pattern": "^0x[0-9A-Fa-f]{40}$", "description": "The address that pays." },
            "agent": {
                "enum": ["placeholder", "throwaway-key"],
                "default": "placeholder",
                "description": "What the agent has instead of the wallet's key: nothing, or a key of its own that owns nothing.",
            },
            "placeholder": text("What it sends in place of a signature (agent `placeholder`)."),
            "key_file": text("A file with the key, as 64 hex digits; nobody but its owner may read it."),
            "key_env": text("An environment variable with the same."),
            "remote": {
                "type": ["object", "null"],
                "additionalProperties": false,
                "description": "A service that has the key.",
                "required": ["url"],
                "properties": {
                    "url": { "type": "string", "pattern": "^https?://[^?#]+$", "description": "Its base URL; over a network only `https`." },
                    "token_env": text("An environment variable with the bearer token that it wants."),
                    "timeout": with(duration("From a payment's arrival to the whole answer, queueing included; at most `1m`."), "default", "5s"),
                    "max_in_flight": {
                        "type": "integer", "minimum": 1, "maximum": MAX_IN_FLIGHT, "default": 4,
                        "description": "Questions at the same time.",
                    },
                    "queue": {
                        "type": "integer", "minimum": 0, "maximum": MAX_QUEUE, "default": 64,
                        "description": "Payments that may wait for one of those; 0 refuses whatever cannot be asked at once.",
                    },
                },
            },
        },
    })
}

/// Names every field that the stanza has, and no other.
pub fn stanza() -> Value {
    let none = json!({
        "type": "array",
        "maxItems": 0,
        "description": "Only the operator's tollgate.yaml can define assets.",
    });
    let description = "Bounds on payments to the hosts of this stanza. They narrow the operator's bounds and never widen them.";
    schema(description, &none)
}

fn schema(description: &str, asset_definitions: &Value) -> Value {
    let texts = |description: &str| json!({ "type": "array", "items": { "type": "string" }, "description": description });
    let within = |description: &str, default: &str| with(duration(description), "default", default);
    let switch = |description: &str| nullable(json!({ "type": "boolean", "description": description }));
    let some_of = |names: Vec<&str>, default: &[&str], description: &str| {
        nullable(json!({ "type": "array", "items": { "enum": names }, "default": default, "description": description }))
    };
    json!({
        "type": "object",
        "additionalProperties": false,
        "description": description,
        "properties": {
            "networks": nullable(texts("Networks that payments may use, as CAIP-2 identifiers such as eip155:8453 or \
                               solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp.")),
            "assets": nullable(texts("Assets that payments may use: network, `/`, token contract or mint, such as \
                             eip155:8453/0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913.")),
            "max_amount": nullable(json!({
                "type": "string",
                "pattern": "^[0-9]+(\\.[0-9]+)?$",
                "default": super::terms::DEFAULT_MAX_AMOUNT,
                "description": "The most that one payment may move: an exact decimal in the asset's own units, in quotes.",
            })),
            "payees": texts("Addresses that may be paid; empty is any that the verdict service says GO to."),
            "payers": texts("Addresses that may pay; empty is any."),
            "pins": {
                "type": "array",
                "description": "Exact prices. When one names the request's URL, the payment must match one of that URL whole.",
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["method", "url", "payTo", "amount"],
                    "properties": {
                        "method": { "type": "string", "description": "The HTTP method." },
                        "url": { "type": "string", "description": "The resource; without a query it stands for any query." },
                        "payTo": { "type": "string", "description": "The address that is paid." },
                        "amount": { "type": "string", "description": "Exactly this, a decimal in the asset's own units, in quotes." },
                    },
                },
            },
            "pinned_only": with(
                switch("Whether only URLs that a pin names may be paid; elsewhere the lists and the ceiling decide."),
                "default",
                false,
            ),
            "schemes": some_of(
                Scheme::ALL.map(Scheme::as_str).into(),
                &[Scheme::Exact.as_str()],
                "x402 schemes that payments may use: `exact` is EIP-3009 on EVM chains, `exact-permit2` and `upto` are over Permit2, \
                 `exact-svm` is Solana. `upto` is judged by its ceiling.",
            ),
            "allow_extensions": some_of(
                Extension::ALL.map(Extension::as_str).into(),
                &[],
                "Extensions that give somebody more than the payment and may come along: allowances for the Permit2 contract, wallet sign-ins.",
            ),
            "allow_smart_wallets": with(
                switch("Whether contract wallets (ERC-1271, ERC-6492) may pay. Nobody but their contract can check what they have signed."),
                "default",
                false,
            ),
            "require_challenge": with(
                switch("Whether a payment has to answer a 402 that passed here, for the same request, once and in time."),
                "default",
                true,
            ),
            "screen_challenges": switch(
                "Whether the options of a 402 are judged before the client sees them; by default where a verdict service is named.",
            ),
            "allow_http_resource": with(
                switch("Whether sellers behind TLS offload may announce `http://` for an `https` resource."),
                "default",
                false,
            ),
            "max_timeout": within("The longest that a signature may stay valid from now on.", "10m"),
            "clock_skew": within("How far the signer's clock may be off; at most 5m.", "10s"),
            "asset_definitions": asset_definitions,
        },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::collections::BTreeSet;

    use super::super::stanza::FIELDS;
    use super::super::terms::{DEFAULT_CLOCK_SKEW, DEFAULT_MAX_TIMEOUT, Terms};
    use super::super::{ChallengeRule, PaymentsConfig};
    use crate::settings::units::format_duration;
    use crate::x402::enabled::ContractWallets;

    #[test]
    fn the_schema_names_the_fields_of_the_stanza() {
        let schema = super::stanza();
        let named: BTreeSet<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(named, BTreeSet::from(FIELDS));
    }

    #[test]
    fn its_defaults_are_those_of_the_rule() {
        let schema = super::stanza();
        let default = |key: &str| schema["properties"][key]["default"].clone();
        let terms = Terms::operator(&PaymentsConfig::default()).unwrap();
        assert_eq!(default("require_challenge"), terms.challenge() == ChallengeRule::Required);
        assert_eq!(default("allow_http_resource"), terms.allows_http_resource());
        let enabled = terms.enabled();
        let schemes: Vec<&str> = enabled.schemes.iter().map(|scheme| scheme.as_str()).collect();
        assert_eq!(default("schemes"), serde_json::json!(schemes));
        assert_eq!(default("allow_extensions"), serde_json::json!([]));
        assert!(enabled.extensions.is_empty());
        assert_eq!(default("allow_smart_wallets"), enabled.contract_wallets == ContractWallets::Allowed);
        assert_eq!(default("max_timeout"), format_duration(DEFAULT_MAX_TIMEOUT));
        assert_eq!(default("clock_skew"), format_duration(DEFAULT_CLOCK_SKEW));
    }
}
