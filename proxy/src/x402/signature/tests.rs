#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use k256::ecdsa::SigningKey;
use proptest::prelude::*;
use ruint::aliases::U256;

use super::*;
use crate::gate::payment::vectors::{load, text};

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    // Signed by the key or made up: the library, which verifies besides, finds the same key or none as well.
    #[test]
    fn the_key_that_is_found_is_the_one_that_verifies(key in any::<[u8; 32]>(), digest: [u8; 32], other: [u8; 32], r: [u8; 32], odd: bool) {
        let Ok(key) = SigningKey::from_slice(&key) else { return Ok(()) };
        let (rs, v) = key.sign_prehash_recoverable(&digest).unwrap();
        let (_, s) = rs.split_bytes();
        let signed = Signature { rs, v };
        prop_assert_eq!(signed.recover(&digest), address_of(key.verifying_key()));
        let made_up = Signature::from_parts(r, s.into(), odd).ok();
        for (signature, digest) in [(Some(signed), other), (made_up, digest)] {
            let Some(signature) = signature else { continue };
            let library = VerifyingKey::recover_from_prehash(&digest, &signature.rs, signature.v).ok();
            prop_assert_eq!(signature.recover(&digest), library.and_then(|key| address_of(&key)));
        }
    }
}
