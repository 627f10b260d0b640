#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use serde_json::Value;

use super::*;
use crate::gate::payment::vectors::{load, text};
use crate::x402::amount::AmountError;
use crate::x402::claim::AtomicAmount;
use crate::x402::signature::Signature;

fn word_of(value: &Value, pointer: &str) -> [u8; 32] {
    hex::decode(text(value, pointer).trim_start_matches("0x"))
        .unwrap()
        .try_into()
        .unwrap()
}

fn domain(row: &Value) -> DomainSeparator {
    let chain_id = row["domain"]["chainId"].as_u64().unwrap();
    let domain = Domain {
        name: text(row, "/domain/name").to_owned(),
        version: row["domain"]["version"].as_str().unwrap_or_default().to_owned(),
    };
    DomainSeparator::of_token(
        chain_id,
        EvmAddress::parse(text(row, "/domain/verifyingContract")).unwrap(),
        &domain,
    )
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
        if text(row, "/domain/name") == "Permit2" {
            let chain_id = row["domain"]["chainId"].as_u64().unwrap();
            assert_eq!(permit2::domain(chain_id).0, word_of(row, "/domain_separator"), "{}", row["vector"]);
            compared += 1;
        }
    }
    assert!(compared >= 19, "{compared}");
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
