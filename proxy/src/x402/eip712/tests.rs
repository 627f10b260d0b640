#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use serde_json::Value;

use super::*;
use crate::gate::payment::vectors::{load, text};
use crate::x402::amount::AmountError;
use crate::x402::claim::AtomicAmount;
use crate::x402::network::Caip2;

fn word_of(value: &Value, pointer: &str) -> [u8; 32] {
    hex::decode(text(value, pointer).trim_start_matches("0x"))
        .unwrap()
        .try_into()
        .unwrap()
}

fn domain(row: &Value) -> DomainSeparator {
    DomainSeparator::of(&Asset {
        network: Caip2 {
            chain_id: row["domain"]["chainId"].as_u64().unwrap(),
        },
        address: EvmAddress::parse(text(row, "/domain/verifyingContract")).unwrap(),
        decimals: 6,
        domain_name: text(row, "/domain/name").to_owned(),
        domain_version: row["domain"]["version"].as_str().unwrap_or_default().to_owned(),
    })
}

#[test]
fn separators_and_digests_are_those_of_the_sdks() {
    let rows = load("eip712-digests");
    let mut compared = 0;
    for row in rows.as_array().unwrap() {
        // Every row's signature recovers to its payer, whatever was signed.
        let signature = Signature::parse(text(row, "/signature")).unwrap();
        let digest = word_of(row, "/digest");
        assert_eq!(
            signature.recover(&digest).map(Ok),
            Some(EvmAddress::parse(text(row, "/from"))),
            "{}",
            row["vector"]
        );
        if text(row, "/primaryType") == "TransferWithAuthorization" {
            assert_eq!(domain(row).0, word_of(row, "/domain_separator"), "{}", row["vector"]);
            compared += 1;
        }
    }
    assert!(compared >= 15);
}

#[test]
fn struct_hashes_and_digests_of_captured_authorisations_are_those_of_the_sdks() {
    let rows = load("eip712-digests");
    let mut compared = 0;
    for row in rows.as_array().unwrap() {
        let Ok(bytes) = std::fs::read(format!(
            "{}/testdata/x402/{}.json",
            env!("CARGO_MANIFEST_DIR"),
            text(row, "/vector")
        )) else {
            continue;
        };
        let vector: Value = serde_json::from_slice(&bytes).unwrap();
        let decoded = &vector["exchanges"].as_array().unwrap().last().unwrap()["decoded_request"];
        let Some(signed) = decoded
            .as_object()
            .and_then(|headers| headers.values().next()?.pointer("/payload/authorization"))
        else {
            continue;
        };
        let number =
            |name: &str| -> Result<U256, AmountError> { AtomicAmount::parse(signed[name].as_str().unwrap()).map(|amount| amount.0) };
        let transfer = TransferWithAuthorization {
            from: EvmAddress::parse(text(signed, "/from")).unwrap(),
            to: EvmAddress::parse(text(signed, "/to")).unwrap(),
            value: number("value").unwrap(),
            valid_after: number("validAfter").unwrap(),
            valid_before: number("validBefore").unwrap(),
            nonce: word_of(signed, "/nonce"),
        };
        assert_eq!(transfer.struct_hash(), word_of(row, "/struct_hash"), "{}", row["vector"]);
        assert_eq!(transfer.digest(&domain(row)), word_of(row, "/digest"), "{}", row["vector"]);
        compared += 1;
    }
    assert!(compared >= 7, "{compared}");
}

#[test]
fn a_second_spelling_of_a_signature_is_refused() {
    let rows = load("eip712-digests");
    let row = &rows[0];
    let good = text(row, "/signature");
    let parsed = Signature::parse(good).unwrap();
    assert_eq!(format!("{parsed:?}"), "Signature(hidden)");
    // (r, n - s, 28) signs the same digest with the same key.
    let order = U256::from_str_radix("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", 16).unwrap();
    let s = U256::from_str_radix(&good[66..130], 16).unwrap();
    let malleable = format!("{}{:064x}1c", &good[..66], order - s);
    for (text, error) in [
        (malleable.as_str(), SignatureError::NotCanonical),
        (&format!("{}00", &good[..130]), SignatureError::RecoveryId),
        (&format!("{}01", &good[..130]), SignatureError::RecoveryId),
        (&format!("{}1d", &good[..130]), SignatureError::RecoveryId),
        (&good[..130], SignatureError::Length),
        (&format!("{good}00"), SignatureError::ContractWallet),
        (&good[2..], SignatureError::Shape),
        ("0x", SignatureError::Length),
        ("", SignatureError::Shape),
        (&format!("0x{}1b", "00".repeat(64)), SignatureError::NotCanonical),
        (&format!("0x{}1b", "ff".repeat(64)), SignatureError::NotCanonical),
    ] {
        assert_eq!(Signature::parse(text).map(|_| ()), Err(error), "{text}");
    }
}
