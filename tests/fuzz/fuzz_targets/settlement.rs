//! What a seller says of a settlement: never more than it said, whatever it wrote.

#![no_main]

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tollgate::x402::claim::Version;
use tollgate::x402::settlement::{Settlement, SettlementOutcome};

fn found(version: Version, name: &'static str, value: &[u8]) -> Option<Settlement> {
    let value = HeaderValue::from_bytes(value).ok()?;
    Settlement::find(version, &HeaderMap::from_iter([(HeaderName::from_static(name), value)]))
}

fuzz_target!(|bytes: &[u8]| {
    for (version, name) in [(Version::V1, "x-payment-response"), (Version::V2, "payment-response")] {
        let _ = found(version, name, bytes);
        let Some(settlement) = found(version, name, BASE64_STANDARD.encode(bytes).as_bytes()) else {
            continue;
        };
        // What it has no use for it does not look at, and so it takes some texts that are no document.
        let Ok(document) = serde_json::from_slice::<Value>(bytes) else {
            continue;
        };
        let text = |name: &str| document[name].as_str().map(str::to_ascii_lowercase);
        assert_eq!(
            document["success"].as_bool(),
            Some(settlement.outcome == SettlementOutcome::Settled)
        );
        if let Some(transaction) = settlement.transaction {
            assert_eq!(text("transaction"), Some(transaction.to_string()));
        }
        if let Some(amount) = settlement.amount {
            assert_eq!(text("amount"), Some(amount.to_string()));
        }
    }
});
