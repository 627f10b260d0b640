//! A payment's own bytes: the same reading in a header and in a body, and the one that a plain JSON reader has.

#![no_main]

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tollgate::x402::address::Address;
use tollgate::x402::claim::{Scheme, Version};
use tollgate::x402::enabled::{ContractWallets, Enabled};
use tollgate::x402::extensions::Extension;
use tollgate::x402::payment::{MAX_HEADER_BYTES, Payment};
use tollgate::x402::signature::Placeholder;

/// All that can be switched on, so that every scheme's own reader is reached.
static ALL: LazyLock<Enabled> = LazyLock::new(|| Enabled {
    schemes: Scheme::ALL.into(),
    extensions: Extension::ALL.into(),
    contract_wallets: ContractWallets::Allowed,
    placeholder: Some(Placeholder::default()),
});

/// How many payments there are in a document, one within the other.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(count).sum(),
        Value::Object(object) => {
            let has = |name: &str| object.keys().any(|key| key.eq_ignore_ascii_case(name));
            usize::from(has("x402Version") && has("payload")) + object.values().map(count).sum::<usize>()
        }
        _ => 0,
    }
}

/// What a seller's reader finds.
fn agrees(payment: &Payment, bytes: &[u8]) {
    let document: Value = serde_json::from_slice(bytes).expect("what is taken strictly every reader takes");
    assert_eq!(count(&document), 1, "a second payment leaves with it");
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str);
    let address = |pointer: &str| text(pointer).map(|text| Address::parse_on(payment.network, text).expect("it was read"));
    let (payer, payee, amount) = match payment.signed.scheme() {
        Scheme::Exact => (
            "/payload/authorization/from",
            "/payload/authorization/to",
            "/payload/authorization/value",
        ),
        Scheme::ExactPermit2 | Scheme::Upto => (
            "/payload/permit2Authorization/from",
            "/payload/permit2Authorization/witness/to",
            "/payload/permit2Authorization/permitted/amount",
        ),
        Scheme::ExactSvm => return,
    };
    assert_eq!(address(payer), Some(payment.signed.payer()));
    assert_eq!(address(payee), payment.payee());
    assert_eq!(text(amount), Some(payment.signed.amount().to_string().as_str()));
    if payment.version == Version::V2 {
        assert_eq!(address("/accepted/payTo"), payment.payee());
        assert_eq!(address("/accepted/asset"), payment.asset());
        assert_eq!(text("/accepted/amount"), text(amount));
    }
    // However it is written down again, it is the same payment.
    let again = Payment::decode_json(document.to_string().as_bytes(), &ALL).expect("the same document");
    assert_eq!(again.summary(), payment.summary());
    assert_eq!(again.signed.single_use(), payment.signed.single_use());
}

fuzz_target!(|bytes: &[u8]| {
    let wrapped = BASE64_STANDARD.encode(bytes);
    let in_body = Payment::decode_json(bytes, &ALL);
    for version in [Version::V1, Version::V2] {
        if Payment::decode(version, bytes, &ALL).is_ok() {
            let decoded = BASE64_STANDARD.decode(bytes).expect("base64");
            assert_eq!(BASE64_STANDARD.encode(decoded).as_bytes(), bytes);
        }
        match (Payment::decode(version, wrapped.as_bytes(), &ALL), &in_body) {
            (Ok(in_header), Ok(in_body)) => {
                assert_eq!((in_header.version, in_header.summary()), (version, in_body.summary()));
                // What is off by default is never read by default.
                let by_default = Payment::decode(version, wrapped.as_bytes(), &Enabled::default());
                assert!(in_header.signed.scheme() == Scheme::Exact || by_default.is_err());
                agrees(&in_header, bytes);
            }
            (Ok(_), Err(why)) => panic!("taken in a header and not in a body: {}", why.detail),
            (Err(_), Ok(in_body)) => assert!(in_body.version != version || wrapped.len() > MAX_HEADER_BYTES),
            (Err(_), Err(_)) => {}
        }
    }
});
