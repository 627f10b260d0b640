#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
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
