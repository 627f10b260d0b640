//! The x402 decoders. A header's value is base64 of JSON, which a fuzzer rarely writes: the bytes are tried both as they are
//! and wrapped.

#![no_main]

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use libfuzzer_sys::fuzz_target;
use tollgate::x402::carriers::{Carrier, Sought, answer};
use tollgate::x402::claim::{Scheme, Version};
use tollgate::x402::enabled::{ContractWallets, Enabled};
use tollgate::x402::extensions::Extension;
use tollgate::x402::payment::Payment;
use tollgate::x402::resource::{PaymentRequest, UrlScheme};
use tollgate::x402::{json, sign_in, traces};
use tollgate_policy::Authority;

/// All that can be switched on, so that every scheme's own reader is reached.
static ALL: LazyLock<Enabled> = LazyLock::new(|| Enabled {
    schemes: Scheme::ALL.into(),
    extensions: Extension::ALL.into(),
    contract_wallets: ContractWallets::Allowed,
    placeholder: None,
});
static SHOP: LazyLock<Authority> = LazyLock::new(|| Authority::parse("shop.example.test", Some(443)).expect("an authority"));

fuzz_target!(|bytes: &[u8]| {
    let wrapped = BASE64_STANDARD.encode(bytes);
    let request = PaymentRequest {
        method: "GET",
        scheme: UrlScheme::Https,
        authority: &SHOP,
        path: "/paid",
        query: None,
        carrier: Carrier::Head,
    };
    let _ = sign_in::check(bytes, &request);
    let _ = sign_in::check(wrapped.as_bytes(), &request);
    for version in [Version::V1, Version::V2] {
        let _ = Payment::decode(version, bytes, &ALL);
        if let Ok(payment) = Payment::decode(version, wrapped.as_bytes(), &ALL) {
            // What is off by default is never read by default.
            let by_default = Payment::decode(version, wrapped.as_bytes(), &Enabled::default());
            assert!(payment.signed.scheme() == Scheme::Exact || by_default.is_err());
            assert_eq!(payment.version, version);
            // What is audited is what was decoded.
            assert_eq!(payment.summary().network, Some(payment.network));
        }
    }
    let _ = traces::in_text(bytes);
    if let Ok(value) = json::parse(bytes, 16) {
        // What our own strict parser takes, every parser takes.
        assert!(serde_json::from_slice::<serde_json::Value>(bytes).is_ok());
        let _ = traces::in_value(&value);
        let text = std::str::from_utf8(bytes).unwrap();
        if let Ok(Some(carried)) = Sought::of(&value).one(text) {
            let _ = Payment::decode_json(carried.payment.as_bytes(), &ALL);
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(posed) = answer::challenges(text)
    {
        // An answer from which nothing is taken out stays as it is.
        let untouched = posed.iter().all(|one| one.challenge.options.iter().all(Option::is_some));
        assert!(!untouched || answer::only(text, &posed, |_, _| true).is_some());
    }
});
