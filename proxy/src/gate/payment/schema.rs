//! What the `config:` of a `tollgate/x402` stanza may hold, as a JSON Schema for editors.

use serde_json::{Value, json};

use crate::x402::extensions::Extension;
use crate::x402::scheme::Scheme;

/// Names every field that the stanza has, and no other.
pub fn stanza() -> Value {
    let texts = |description: &str| json!({ "type": "array", "items": { "type": "string" }, "description": description });
    let duration = |description: &str, default: &str| json!({ "type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$", "default": default, "description": description });
    let some_of = |names: Vec<&str>, default: &[&str], description: &str| json!({ "type": "array", "items": { "enum": names }, "default": default, "description": description });
    json!({
        "type": "object",
        "additionalProperties": false,
        "description": "Bounds on payments to the hosts of this stanza. They narrow the operator's bounds and never widen them.",
        "properties": {
            "networks": texts("Networks that payments may use, as CAIP-2 identifiers such as eip155:8453 or \
                               solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp."),
            "assets": texts("Assets that payments may use: network, `/`, token contract or mint, such as \
                             eip155:8453/0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913."),
            "max_amount": {
                "type": "string",
                "pattern": "^[0-9]+(\\.[0-9]+)?$",
                "default": super::terms::DEFAULT_MAX_AMOUNT,
                "description": "The most that one payment may move: an exact decimal in the asset's own units, in quotes.",
            },
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
            "pinned_only": {
                "type": "boolean",
                "default": false,
                "description": "Whether only URLs that a pin names may be paid; elsewhere the lists and the ceiling decide.",
            },
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
            "allow_smart_wallets": {
                "type": "boolean",
                "default": false,
                "description": "Whether contract wallets (ERC-1271, ERC-6492) may pay. Nobody but their contract can check what they have signed.",
            },
            "require_challenge": {
                "type": "boolean",
                "default": true,
                "description": "Whether a payment has to answer a 402 that passed here, for the same request, once and in time.",
            },
            "screen_challenges": {
                "type": "boolean",
                "description": "Whether the options of a 402 are judged before the client sees them; by default where a verdict service is named.",
            },
            "allow_http_resource": {
                "type": "boolean",
                "default": false,
                "description": "Whether sellers behind TLS offload may announce `http://` for an `https` resource.",
            },
            "max_timeout": duration("The longest that a signature may stay valid from now on.", "10m"),
            "clock_skew": duration("How far the signer's clock may be off; at most 5m.", "10s"),
            "asset_definitions": {
                "type": "array",
                "maxItems": 0,
                "description": "Only the operator's tollgate.yaml can define assets.",
            },
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
