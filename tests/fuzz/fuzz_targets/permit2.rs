//! Payments over Permit2, `exact` and `upto`: the payload is the fuzzer's, the offer around it is made to fit, so that the payload is what
//! passes or fails. What passes says the same to a plain JSON reader.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tollgate::x402::address::Address;
use tollgate::x402::claim::Scheme;
use tollgate::x402::enabled::{ContractWallets, Enabled};
use tollgate::x402::payment::Payment;
use tollgate::x402::scheme::Lifetime;

fuzz_target!(|input: &[u8]| {
    let Some((choice, payload)) = input.split_first() else { return };
    let (Ok(text), Ok(payload)) = (std::str::from_utf8(payload), serde_json::from_slice::<Value>(payload)) else {
        return;
    };
    let signed = &payload["permit2Authorization"];
    let (scheme, name) = [(Scheme::ExactPermit2, "exact"), (Scheme::Upto, "upto")][usize::from(*choice) % 2];
    let mut extra = json!({ "assetTransferMethod": "permit2", "name": "USDC", "version": "2" });
    if let (Scheme::Upto, facilitator @ Value::String(_)) = (scheme, &signed["witness"]["facilitator"]) {
        extra["facilitatorAddress"] = facilitator.clone();
    }
    let accepted = json!({
        "scheme": name, "network": "eip155:84532", "amount": signed["permitted"]["amount"], "asset": signed["permitted"]["token"],
        "payTo": signed["witness"]["to"], "maxTimeoutSeconds": 300, "extra": extra,
    });
    let resource = json!({ "url": "https://shop.example.test/paid" });
    // As text, so that members which stand twice are still there.
    let document = format!("{{\"x402Version\":2,\"accepted\":{accepted},\"resource\":{resource},\"payload\":{text}}}");
    let enabled = |contract_wallets| Enabled {
        schemes: [scheme].into(),
        contract_wallets,
        ..Enabled::default()
    };
    let Ok(payment) = Payment::decode_json(document.as_bytes(), &enabled(ContractWallets::Allowed)) else {
        return;
    };
    let text = |pointer: &str| signed.pointer(pointer).and_then(Value::as_str);
    let address = |pointer: &str| text(pointer).and_then(|text| Address::parse_on(payment.network, text).ok());
    assert_eq!(payment.signed.scheme(), scheme);
    assert_eq!(address("/from"), Some(payment.signed.payer()));
    assert_eq!(address("/witness/to"), payment.signed.payee());
    assert_eq!(address("/permitted/token"), payment.signed.asset());
    assert_eq!(text("/permitted/amount"), Some(payment.signed.amount().to_string().as_str()));
    let Lifetime::Window { after, before } = payment.signed.lifetime() else {
        panic!("a permit has its time");
    };
    assert_eq!(text("/witness/validAfter"), Some(after.to_string().as_str()));
    assert_eq!(text("/deadline"), Some(before.to_string().as_str()));
    assert!(
        Payment::decode_json(document.as_bytes(), &Enabled::default()).is_err(),
        "read without being switched on"
    );
    // A signature that no key can have made is read only where contracts may sign.
    let by_key = Payment::decode_json(document.as_bytes(), &enabled(ContractWallets::Refused)).is_ok();
    assert!(!by_key || payload["signature"].as_str().is_some_and(|signature| signature.len() == 132));
});
