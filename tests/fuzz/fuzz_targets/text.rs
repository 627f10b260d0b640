//! The search of text of no particular form: a payment in it is found, whatever stands before and after it. The first byte says how it is
//! spelled, the second where in the text it stands.

#![no_main]

use std::fmt::Write;
use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tollgate::x402::{json, traces};

/// A captured payment, as its client has written it.
static PAYMENT: LazyLock<String> = LazyLock::new(|| {
    let captured = include_str!("../../../proxy/testdata/x402/mcp-v2-exact-evm-py.json");
    let captured: Value = serde_json::from_str(captured).expect("a vector");
    let body: Value = serde_json::from_str(captured["exchanges"][1]["request"]["body"].as_str().expect("a body")).expect("JSON");
    body["params"]["_meta"]["x402/payment"].to_string()
});

fn percent(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

fn spelled(how: u8) -> String {
    match how % 6 {
        0 => PAYMENT.clone(),
        1 => BASE64_STANDARD.encode(&*PAYMENT),
        2 => BASE64_URL_SAFE_NO_PAD.encode(&*PAYMENT),
        3 => percent(&PAYMENT),
        4 => percent(&BASE64_STANDARD.encode(&*PAYMENT)),
        _ => percent(&percent(&PAYMENT)),
    }
}

fuzz_target!(|input: &[u8]| {
    let [how, at, text @ ..] = input else { return };
    let _ = traces::in_text(text);
    if let Ok(value) = json::parse(text, 64) {
        let _ = traces::in_value(&value);
    }
    let (before, after) = text.split_at(usize::from(*at).min(text.len()));
    let hidden = [before, b"&", spelled(*how).as_bytes(), b"&", after].concat();
    assert!(traces::in_text(&hidden).is_some(), "a payment was passed over");
});
