#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::gate::payment::vectors::{load, text};

/// What the Python SDK has signed.
fn captured() -> (Vec<u8>, Value) {
    let vector = load("v2-exact-svm-py");
    let transaction = text(&vector, "/exchanges/1/decoded_request/PAYMENT-SIGNATURE/payload/transaction");
    (STANDARD.decode(transaction).unwrap(), vector["svm_decoded"].clone())
}

#[test]
fn a_transaction_of_a_real_sdk_is_taken_apart() {
    let (bytes, expected) = captured();
    let transaction = Transaction::read(&bytes).unwrap();
    assert_eq!(transaction.accounts[0].to_string(), text(&expected, "/fee_payer"));
    assert_eq!(transaction.signatures.len(), 2);
    let shown = |signature: &[u8; 64]| bs58::encode(signature).into_string();
    for (place, signature) in transaction.signatures.iter().enumerate() {
        assert_eq!(shown(signature), text(&expected, &format!("/signatures/{place}")));
    }
    let instructions = expected["instructions"].as_array().unwrap();
    assert_eq!(transaction.instructions.len(), instructions.len());
    for (found, expected) in transaction.instructions.iter().zip(instructions) {
        assert_eq!(transaction.accounts[found.program].to_string(), text(expected, "/program"));
        let accounts: Vec<String> = found
            .accounts
            .iter()
            .map(|place| transaction.accounts[usize::from(*place)].to_string())
            .collect();
        assert_eq!(serde_json::json!(accounts), expected["accounts"]);
        assert_eq!(hex::encode(found.data), text(expected, "/data_hex"));
    }
}

#[test]
fn a_transaction_ends_where_it_ends() {
    let (bytes, _) = captured();
    for length in 0..bytes.len() {
        let error = Transaction::read(&bytes[..length]).unwrap_err();
        assert!(matches!(error, TransactionError::CutOff), "{length}: {error}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(Transaction::read(&longer).unwrap_err(), TransactionError::TrailingBytes);
    assert_eq!(Transaction::read(&[0; 1233]).unwrap_err(), TransactionError::TooLarge);
}

#[test]
fn a_length_has_one_form() {
    for (bytes, expected) in [
        (&[0x00][..], Ok(0)),
        (&[0x7f], Ok(127)),
        (&[0x80, 0x01], Ok(128)),
        (&[0xff, 0x7f], Ok(16_383)),
        (&[0x80, 0x80, 0x01], Ok(16_384)),
        (&[0xff, 0xff, 0x03], Ok(65_535)),
        (&[0x80, 0x80, 0x04], Err(TransactionError::Length)),
        (&[0x80, 0x00], Err(TransactionError::Length)),
        (&[0xff, 0x00], Err(TransactionError::Length)),
        (&[0x80, 0x80, 0x00], Err(TransactionError::Length)),
        (&[0x80, 0x80, 0x80, 0x01], Err(TransactionError::Length)),
        (&[0x80], Err(TransactionError::CutOff)),
        (&[], Err(TransactionError::CutOff)),
    ] {
        assert_eq!(Reader(bytes).length(), expected, "{bytes:02x?}");
    }
}

#[test]
fn a_header_that_contradicts_itself_is_refused() {
    let (bytes, _) = captured();
    let start = 1 + 2 * 64;
    assert_eq!(&bytes[start..start + 5], [0x80, 2, 1, 4, 8], "version, header, number of accounts");
    let mut places = Vec::new();
    let mut bent = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[start + at] = byte;
        places.push(Transaction::read(&bytes).unwrap_err());
    };
    bent(1, 1); // fewer signers than signatures
    bent(1, 3); // more
    bent(2, 2); // a fee payer that nothing can be taken from
    bent(3, 7); // more read-only accounts than there are
    bent(0, 0x81); // a version of the future
    bent(0, 0xff);
    assert_eq!(
        places,
        [
            TransactionError::Header,
            TransactionError::Header,
            TransactionError::Header,
            TransactionError::Header,
            TransactionError::Version,
            TransactionError::Version
        ]
    );
}

#[test]
fn an_index_that_points_nowhere_is_refused() {
    let (bytes, _) = captured();
    // The first instruction: version, header, eight accounts, the block, the number of instructions.
    let first = 1 + 2 * 64 + 1 + 3 + 1 + 8 * 32 + 32 + 1;
    assert_eq!(bytes[first], 4, "the compute budget program");
    for program in [0, 8, 255] {
        let mut bent = bytes.clone();
        bent[first] = program;
        assert_eq!(Transaction::read(&bent).unwrap_err(), TransactionError::Index, "{program}");
    }
    let mut twice = bytes.clone();
    let accounts = 1 + 2 * 64 + 5;
    twice.copy_within(accounts + 32..accounts + 64, accounts);
    assert_eq!(Transaction::read(&twice).unwrap_err(), TransactionError::AccountTwice);
    let mut table = bytes.clone();
    *table.last_mut().unwrap() = 1;
    table.extend([7; 32]);
    table.extend([1, 0, 0]);
    assert_eq!(Transaction::read(&table).unwrap_err(), TransactionError::LookupTable);
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Transaction::read(&bytes);
    }

    // The parts of what is read are the whole of what was given: nothing is skipped.
    #[test]
    fn what_is_read_is_all_there_is(at in 0usize..600, byte: u8) {
        let (mut bytes, _) = captured();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(transaction) = Transaction::read(&bytes) {
            let signatures = 1 + 64 * transaction.signatures.len();
            prop_assert_eq!(&bytes[signatures..], transaction.message);
            let instructions: usize = transaction.instructions.iter().map(|one| 3 + one.accounts.len() + one.data.len()).sum();
            // Header, number of accounts, accounts, block, number of instructions; version 0 has two bytes more.
            let fixed = 3 + 1 + 32 * transaction.accounts.len() + 32 + 1;
            prop_assert!([fixed, fixed + 2].contains(&(transaction.message.len() - instructions)));
        }
    }
}
