#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use serde_json::Value;

use super::*;
use crate::gate::payment::vectors::{load, text};
use crate::x402::base64;
use crate::x402::claim::Version;
use crate::x402::enabled::Enabled;
use crate::x402::payment::Payment;
use crate::x402::signature::Placeholder;

const WALLET: &str = "0xE36faFA443A2c47660fd4Ea5BC635Be9f27C8D81";

fn domain() -> DomainSeparator {
    let rows = load("eip712-digests");
    let mut bytes = [0; 32];
    hex::decode_to_slice(&text(&rows[0], "/domain_separator")[2..], &mut bytes).unwrap();
    DomainSeparator(bytes)
}

fn cases() -> Vec<Value> {
    load("v2-exact-evm-placeholder-host-signed")["cases"].as_array().unwrap().clone()
}

/// What the agent wrote, as JSON, and what there is to sign.
fn written(case: &Value) -> (String, Unsigned) {
    let header = text(case, "/in").as_bytes();
    let enabled = Enabled {
        placeholder: Some(Placeholder::default()),
        ..Enabled::default()
    };
    let payment = Payment::decode(Version::V2, header, &enabled).unwrap();
    let transfer = payment.signed.authorization().unwrap().transfer;
    let wallet = EvmAddress::parse(WALLET).unwrap();
    let json = String::from_utf8(base64::decode_canonical(header).unwrap()).unwrap();
    (json, Unsigned::new(&transfer, wallet, &domain()))
}

#[test]
fn the_captured_placeholders_become_the_bytes_that_the_seller_took() {
    for case in cases() {
        let (json, unsigned) = written(&case);
        let signature = Signature::parse(text(&case, "/out_signature")).unwrap();
        let signed = unsigned.signed(&json, &signature).unwrap();
        assert_eq!(base64::encode(signed.as_bytes()), text(&case, "/out"), "{}", case["client"]);
    }
}

#[test]
fn a_signature_by_somebody_else_or_over_other_values_is_not_put_in() {
    let cases = cases();
    let (json, unsigned) = written(&cases[0]);
    let others = Signature::parse(text(&cases[1], "/out_signature")).unwrap();
    assert_eq!(unsigned.signed(&json, &others), None);
}

#[test]
fn a_throwaway_payer_becomes_the_wallet_and_only_where_it_stands_as_the_payer() {
    let case = &cases()[0];
    let (json, unsigned) = written(case);
    let signature = Signature::parse(text(case, "/out_signature")).unwrap();
    let throwaway = "0x1111111111111111111111111111111111111111";
    // The same words elsewhere, before and after, and an escaped name on the way.
    let bent = json
        .replacen("{\"x402", &format!("{{\"note\":\"{throwaway} {WALLET} signature\",\"x402"), 1)
        .replacen(&format!("\"from\":\"{WALLET}\""), &format!("\"fr\\u006fm\" : \"{throwaway}\""), 1);
    let signed = unsigned.signed(&bent, &signature).unwrap();
    let expected = bent
        .replacen(
            &format!(" : \"{throwaway}\""),
            &format!(" : \"{}\"", WALLET.to_ascii_lowercase()),
            1,
        )
        .replacen(&format!("0x{}1b", "c0de".repeat(32)), text(case, "/out_signature"), 1);
    assert_eq!(signed, expected);
}

#[test]
fn what_is_no_such_payment_stays_as_it_is() {
    let case = &cases()[0];
    let (_, unsigned) = written(case);
    let signature = Signature::parse(text(case, "/out_signature")).unwrap();
    for json in [
        "",
        "[]",
        "{}",
        r#"{"payload":{"signature":"0x"}}"#,
        r#"{"payload":{"authorization":{"from":"0x"}}}"#,
    ] {
        assert_eq!(unsigned.signed(json, &signature), None, "{json}");
    }
}

#[test]
fn neither_the_nonce_nor_the_signature_is_shown() {
    let case = &cases()[0];
    let (_, unsigned) = written(case);
    let shown = format!("{unsigned:?} {:?}", Signature::parse(text(case, "/out_signature")).unwrap());
    assert_eq!(shown, "Unsigned(hidden) Signature(hidden)");
}
