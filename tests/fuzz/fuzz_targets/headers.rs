//! The search of a header section, one field per line: what it passes over is no payment to a lenient reader, and what it takes is the only
//! one.

#![no_main]

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tollgate::x402::detect::{self, Found};

/// Whether a field that is no payment's holds one, bare or in base64 of either alphabet.
fn pays(value: &[u8]) -> bool {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let decoded = [STANDARD, URL_SAFE]
        .iter()
        .find_map(|alphabet| GeneralPurpose::new(alphabet, config).decode(value).ok());
    [Some(value.to_vec()), decoded].into_iter().flatten().any(|text| {
        // Only a partner outside would take escapes of plain letters, and that one could take anything.
        let document: Value = serde_json::from_slice(&text).unwrap_or_default();
        let signature = document["payload"]["signature"].as_str().is_some_and(|text| text.len() >= 132);
        document["x402Version"].is_number() && signature && !text.contains(&b'\\')
    })
}

fuzz_target!(|bytes: &[u8]| {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let (name, value) = line.split_at(colon);
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value[1..].trim_ascii())) {
            headers.append(name, value);
        }
    }
    let transports = ["x-payment", "payment-signature"];
    let payments = || transports.iter().flat_map(|name| headers.get_all(*name));
    let elsewhere = || headers.iter().filter(|(name, _)| !transports.contains(&name.as_str()));
    match detect::find(&headers) {
        Found::Refused(_) => {}
        Found::Nothing => {
            assert_eq!(payments().count(), 0);
            assert!(!headers.contains_key("sign-in-with-x"));
            assert!(!elsewhere().any(|(_, value)| pays(value.as_bytes())), "a payment was passed over");
        }
        Found::SignIn { value } => {
            assert_eq!(payments().count(), 0);
            assert_eq!(headers.get_all("sign-in-with-x").iter().collect::<Vec<_>>(), [value]);
        }
        Found::Payment { value, .. } => {
            assert_eq!(payments().collect::<Vec<_>>(), [value], "another one leaves with it");
            assert!(!headers.contains_key("sign-in-with-x"));
            assert!(!elsewhere().any(|(_, value)| pays(value.as_bytes())), "another one leaves with it");
        }
    }
    if let Ok(target) = std::str::from_utf8(bytes) {
        let _ = detect::find_in_target(target);
    }
});
