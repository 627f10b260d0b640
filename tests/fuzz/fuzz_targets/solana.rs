//! Solana transactions: what is read is all there is, and what passes for a payment is one transfer and nothing else.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::x402::solana::SolanaAddress;
use tollgate::x402::solana::transaction::{MAX_BYTES, Transaction};
use tollgate::x402::solana::transfer::Transfer;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(address) = SolanaAddress::parse(text)
    {
        assert_eq!(address.to_string(), text);
    }
    let Ok(transaction) = Transaction::read(bytes) else { return };
    assert!(bytes.len() <= MAX_BYTES && bytes.ends_with(transaction.message));
    let accounts = transaction.accounts.len();
    for instruction in &transaction.instructions {
        assert!((1..accounts).contains(&instruction.program));
        assert!(instruction.accounts.iter().all(|account| usize::from(*account) < accounts));
    }
    if let Ok(transfer) = Transfer::of(&transaction) {
        assert_eq!((transaction.signatures.len(), transaction.accounts[0]), (2, transfer.fee_payer));
        assert_ne!(transfer.fee_payer, transfer.authority);
        let _ = (transfer.pays(transfer.authority), transfer.is_signed());
    }
});
