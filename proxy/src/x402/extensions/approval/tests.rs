#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use proptest::prelude::*;

use super::*;

/// By eth-account, as the Python SDK signs it: `approve(Permit2, 2^256 - 1)` of Base Sepolia USDC.
const REAL: &str = "0x02f8b383014a34808405f5e100843b9aca008301117094036cbd53842c5426634e7929541ec2318f3dcf7e80b844095ea7b3000000000000000000000000000000000022d473030f116ddee9f6b43ac78ba3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffc080a0d1f7205f997fc496a81ccfa3526ee70b9977e5c09167baada714611c9cce6e61a04561e364647a8440f8d47e04f1d064f7e40b89fb5b19b6ed02ab6abd9fe0f1d7";

fn address(text: &str) -> EvmAddress {
    EvmAddress::parse(text).unwrap()
}

#[test]
fn a_transaction_of_a_real_wallet_is_read_and_its_sender_found() {
    let approval = read(REAL).unwrap();
    assert_eq!(approval.sender, address("0x4a62316623ad457F02cDC5D997deD67a383EC569"));
    let usdc = address("0x036CbD53842c5426634e7929541eC2318f3dCF7e");
    assert!(approval.gives(U256::MAX, usdc, 84_532));
    assert!(!approval.gives(U256::MAX, usdc, 8453));
    assert!(!approval.gives(U256::ONE, usdc, 84_532));
    assert!(!approval.gives(U256::MAX, PERMIT2, 84_532));
}

#[test]
fn a_transaction_has_one_encoding() {
    for (name, text, error) in [
        ("without 0x", &REAL[2..], ApprovalError::Kind),
        ("capital 0X", &REAL.replacen("0x", "0X", 1), ApprovalError::Kind),
        ("another type", &REAL.replacen("0x02", "0x01", 1), ApprovalError::Kind),
        ("a legacy transaction", &REAL.replacen("0x02", "0x", 1), ApprovalError::Kind),
        ("half a digit", &REAL[..REAL.len() - 1], ApprovalError::Kind),
        ("cut off", &REAL[..REAL.len() - 2], ApprovalError::Encoding),
        ("trailing bytes", &format!("{REAL}00"), ApprovalError::Encoding),
        // The nonce 0 as a byte, and with a length of its own.
        (
            "a nonce of 0 as a byte",
            &REAL.replacen("014a3480", "014a3400", 1),
            ApprovalError::Encoding,
        ),
        ("a leading zero", &REAL.replacen("83014a34", "8300ff34", 1), ApprovalError::Encoding),
        (
            "a list as the address",
            &REAL.replacen("94036cbd", "d4036cbd", 1),
            ApprovalError::Encoding,
        ),
        ("a parity of 2", &REAL.replacen("c080a0d1", "c002a0d1", 1), ApprovalError::Signature),
        ("no fields", "0x02c0", ApprovalError::Encoding),
        ("no list", "0x0280", ApprovalError::Encoding),
    ] {
        assert_eq!(read(text).map(|approval| approval.sender), Err(error), "{name}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&format!("0x02{}", hex::encode(bytes)));
    }

    // Whatever is changed, it is no longer this wallet's.
    #[test]
    fn nothing_of_a_transaction_can_be_changed(at in 0usize..182, flip in 1u8..) {
        let mut bytes = hex::decode(&REAL[4..]).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= flip;
        let changed = read(&format!("0x02{}", hex::encode(bytes)));
        prop_assert!(changed.is_err() || changed.unwrap().sender != read(REAL).unwrap().sender);
    }
}
