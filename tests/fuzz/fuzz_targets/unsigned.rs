//! A payment that is signed here: only the signature and the payer become new, every other byte stays, and what leaves is what was judged.

#![no_main]

use std::sync::LazyLock;

use k256::ecdsa::SigningKey;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tollgate::x402::claim::{Domain, EvmAddress};
use tollgate::x402::eip712::DomainSeparator;
use tollgate::x402::enabled::Enabled;
use tollgate::x402::payment::Payment;
use tollgate::x402::signature::{Placeholder, Signature, address_of};
use tollgate::x402::unsigned::Unsigned;

static KEY: LazyLock<SigningKey> = LazyLock::new(|| SigningKey::from_slice(&[7; 32]).expect("a key"));

fn sign(digest: &[u8; 32]) -> Signature {
    let (signature, recovery) = KEY.sign_prehash_recoverable(digest).expect("32 bytes");
    let (r, s) = signature.split_bytes();
    Signature::from_parts(r.into(), s.into(), recovery.is_y_odd()).expect("in its lower form")
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let enabled = Enabled {
        placeholder: Some(Placeholder::default()),
        ..Enabled::default()
    };
    let Ok(payment) = Payment::decode_json(bytes, &enabled) else {
        return;
    };
    let Some(authorization) = payment.signed.authorization() else {
        return;
    };
    let wallet = address_of(KEY.verifying_key()).expect("an address");
    let named = Domain {
        name: "USDC".into(),
        version: "2".into(),
    };
    let domain = DomainSeparator::of_token(84532, EvmAddress([3; 20]), &named);
    let unsigned = Unsigned::new(&authorization.transfer, wallet, &domain);
    let signed = unsigned
        .signed(text, &sign(&unsigned.digest))
        .expect("there is room for the signature");
    assert!(unsigned.signed(text, &sign(&[1; 32])).is_none(), "a signature of something else");

    let again = Payment::decode_json(signed.as_bytes(), &Enabled::default()).expect("it is a payment now");
    let proved = again.signed.authorization().expect("of the same kind");
    assert_eq!(proved.transfer, unsigned.transfer);
    assert_eq!(
        (again.payee(), again.signed.amount(), again.asset()),
        (payment.payee(), payment.signed.amount(), payment.asset())
    );
    let mut documents: [Value; 2] = [text, &signed].map(|text| serde_json::from_str(text).expect("a document"));
    for document in &mut documents {
        document["payload"]["signature"] = Value::Null;
        document["payload"]["authorization"]["from"] = Value::Null;
    }
    assert_eq!(documents[0], documents[1], "something else has become new");
});
