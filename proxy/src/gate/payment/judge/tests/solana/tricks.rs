//! Tricks with the transaction itself. Each is signed as it stands, so that nothing but the trick is wrong.

use serde_json::json;

use super::super::wallets::Keypair;
use super::draft::*;
use super::*;
use crate::x402::solana::TokenProgram;
use crate::x402::solana::associated::token_account;
use crate::x402::solana::programs::{ASSOCIATED_TOKEN, LIGHTHOUSE, MEMO};

type Bend = fn(&mut Draft);

#[test]
#[allow(clippy::too_many_lines)]
fn a_transaction_is_the_payment_and_nothing_else() {
    use Reason as R;
    let table: [(&str, Bend, Reason); 33] = [
        ("more than the offer", |d| d.calls[2] = transfer(10_001), R::PaymentMismatch),
        ("less than the offer", |d| d.calls[2] = transfer(1), R::PaymentMismatch),
        (
            "another wallet's account",
            |d| d.calls[2].accounts[2] = token(stranger(), MINT),
            R::PaymentMismatch,
        ),
        (
            "the payee's wallet instead of its account",
            |d| d.calls[2].accounts[2] = payee(),
            R::PaymentMismatch,
        ),
        (
            "the payee's account of the other token program",
            |d| d.calls[2].accounts[2] = token_account(payee(), TokenProgram::Token2022, address(MINT)).unwrap(),
            R::PaymentMismatch,
        ),
        (
            "the payee's account of another mint",
            |d| d.calls[2].accounts[2] = token(payee(), MAINNET_USDC),
            R::PaymentMismatch,
        ),
        (
            "another mint",
            |d| {
                d.calls[2].accounts[0] = token(payer().address(), MAINNET_USDC);
                d.calls[2].accounts[1] = address(MAINNET_USDC);
                d.calls[2].accounts[2] = token(payee(), MAINNET_USDC);
            },
            R::PaymentMismatch,
        ),
        (
            "another token program",
            |d| {
                d.calls[2].program = TokenProgram::Token2022.address();
                let account = |wallet| token_account(wallet, TokenProgram::Token2022, address(MINT)).unwrap();
                d.calls[2].accounts[0] = account(payer().address());
                d.calls[2].accounts[2] = account(payee());
            },
            R::PaymentMismatch,
        ),
        (
            "a token program of somebody's own",
            |d| d.calls[2].program = stranger(),
            R::PaymentSchemeNotAllowed,
        ),
        ("other decimals", |d| d.calls[2].data[9] = 5, R::PaymentMismatch),
        (
            "somebody else's tokens, as their delegate",
            |d| d.calls[2].accounts[0] = token(stranger(), MINT),
            R::PaymentMismatch,
        ),
        (
            "an unchecked transfer",
            |d| d.calls[2].data = [&[3][..], &10_000_u64.to_le_bytes()].concat(),
            R::PaymentSchemeNotAllowed,
        ),
        ("an approval", |d| d.calls[2].data[0] = 13, R::PaymentSchemeNotAllowed),
        ("a longer transfer", |d| d.calls[2].data.push(0), R::PaymentSchemeNotAllowed),
        ("a shorter transfer", |d| d.calls[2].data.truncate(9), R::PaymentSchemeNotAllowed),
        (
            "a transfer hook's account",
            |d| d.calls[2].accounts.push(stranger()),
            R::PaymentSchemeNotAllowed,
        ),
        ("two transfers", |d| d.calls.push(transfer(10_000)), R::PaymentSchemeNotAllowed),
        (
            "a transfer of coins",
            |d| {
                d.calls.push(call(
                    SYSTEM,
                    &[payer().address(), stranger()],
                    &[2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
                ));
            },
            R::PaymentSchemeNotAllowed,
        ),
        (
            "a delegate for later",
            |d| {
                let source = token(payer().address(), MINT);
                d.calls.push(call(
                    TokenProgram::Token.address(),
                    &[source, stranger(), payer().address()],
                    &[4, 255, 255, 255, 255, 255, 255, 255, 255],
                ));
            },
            R::PaymentSchemeNotAllowed,
        ),
        (
            "a new owner of the account",
            |d| {
                let source = token(payer().address(), MINT);
                d.calls
                    .push(call(TokenProgram::Token.address(), &[source, payer().address()], &[6, 2, 0]));
            },
            R::PaymentSchemeNotAllowed,
        ),
        (
            "an account that is created",
            |d| {
                let accounts = [
                    payer().address(),
                    token(payee(), MINT),
                    payee(),
                    address(MINT),
                    SYSTEM,
                    TokenProgram::Token.address(),
                ];
                d.calls.insert(2, call(ASSOCIATED_TOKEN, &accounts, &[1]));
            },
            R::PaymentSchemeNotAllowed,
        ),
        (
            "a durable nonce, so that it never expires",
            |d| d.calls.insert(0, call(SYSTEM, &[stranger(), payer().address()], &[4, 0, 0, 0])),
            R::PaymentSchemeNotAllowed,
        ),
        ("no compute price", |d| drop(d.calls.remove(1)), R::PaymentSchemeNotAllowed),
        ("the compute budget behind", |d| d.calls.swap(1, 2), R::PaymentSchemeNotAllowed),
        (
            "a heap for the compute budget",
            |d| d.calls[0].data = vec![1, 0, 0, 1, 0],
            R::PaymentSchemeNotAllowed,
        ),
        (
            "a second compute price",
            |d| {
                let price = d.calls[1].clone();
                d.calls.push(price);
            },
            R::PaymentSchemeNotAllowed,
        ),
        (
            "an assertion that takes rent",
            |d| d.calls.push(call(LIGHTHOUSE, &[payer().address(), SYSTEM], &[0, 1])),
            R::PaymentSchemeNotAllowed,
        ),
        (
            "an empty assertion",
            |d| d.calls.push(call(LIGHTHOUSE, &[], &[])),
            R::PaymentSchemeNotAllowed,
        ),
        (
            "a memo with an account",
            |d| d.calls[3].accounts.push(payer().address()),
            R::PaymentSchemeNotAllowed,
        ),
        (
            "eight instructions",
            |d| (0..4).for_each(|_| d.calls.push(call(MEMO, &[], b"x"))),
            R::PaymentSchemeNotAllowed,
        ),
        ("a memo that is no text", |d| d.calls[3].data = vec![0xff], R::PaymentMalformed),
        ("a long memo", |d| d.calls[3].data = vec![b'm'; 257], R::PaymentMalformed),
        ("an account that nothing uses", |d| d.more.push(stranger()), R::PaymentMalformed),
    ];
    for (name, bend, reason) in table {
        let mut draft = draft();
        bend(&mut draft);
        let refusal = judged(&paying(&draft.signed()), &terms_with(&json!({})))
            .err()
            .unwrap_or_else(|| panic!("{name} passes"));
        assert_eq!(refusal.reason, reason, "{name}: {refusal}");
    }
}

#[test]
fn the_fee_payer_pays_the_fee_and_nothing_else() {
    use Reason as R;
    let table: [(&str, Bend, Reason); 5] = [
        ("another fee payer than offered", |d| d.signers[0] = stranger(), R::PaymentMismatch),
        (
            "the payer as fee payer",
            |d| d.signers = vec![payer().address()],
            R::PaymentSchemeNotAllowed,
        ),
        ("a third signer", |d| d.signers.push(stranger()), R::PaymentSchemeNotAllowed),
        (
            "the fee payer's tokens",
            |d| d.calls[2].accounts[3] = sponsor(),
            R::PaymentSchemeNotAllowed,
        ),
        (
            "the fee payer in an assertion",
            |d| d.calls.push(call(LIGHTHOUSE, &[sponsor()], &[5, 1])),
            R::PaymentSchemeNotAllowed,
        ),
    ];
    for (name, bend, reason) in table {
        let mut draft = draft();
        bend(&mut draft);
        let refusal = judged(&paying(&draft.signed()), &terms_with(&json!({})))
            .err()
            .unwrap_or_else(|| panic!("{name} passes"));
        assert_eq!(refusal.reason, reason, "{name}: {refusal}");
    }
    let mut complete = draft().signed();
    complete[1..65].copy_from_slice(&Keypair::new(3).sign(&draft().message()));
    let refusal = judged(&paying(&complete), &terms_with(&json!({}))).unwrap_err();
    assert_eq!(refusal.reason, R::PaymentMalformed, "complete, so that anybody could send it off");
}

#[test]
fn only_the_payer_can_have_signed_and_only_this() {
    let honest = draft().signed();
    let wrong_signer = draft().signed_by(&Keypair::new(4));
    let mut unsigned = honest.clone();
    unsigned[65..129].fill(0);
    let mut changed = honest.clone();
    let last = changed.len() - 3;
    changed[last] ^= 1;
    // Another point of small order, which lenient verifiers take for a signature of everything.
    let mut small = honest.clone();
    small[65..129].fill(0);
    small[65] = 1;
    for (name, transaction) in [
        ("another signer", wrong_signer),
        ("nobody", unsigned),
        ("changed after signing", changed),
        ("a point of small order", small),
    ] {
        let refusal = judged(&paying(&transaction), &terms_with(&json!({})))
            .err()
            .unwrap_or_else(|| panic!("{name} passes"));
        assert_eq!(refusal.reason, Reason::PaymentMismatch, "{name}: {refusal}");
    }
}

#[test]
fn bytes_that_two_readers_could_read_differently_are_malformed() {
    let honest = draft().signed();
    let trailing = [&honest[..], &[0]].concat();
    let cut = honest[..honest.len() - 1].to_vec();
    // The number of signatures in two bytes: the same number, other bytes.
    let long = [&[0x82, 0x00], &honest[1..]].concat();
    let mut twice = draft();
    twice.signers[1] = payer().address();
    let mut twice = twice.message();
    let (first, second) = (5, 5 + 32);
    twice.copy_within(first..first + 32, second);
    let twice = [&[2][..], &[0; 128], &twice].concat();
    let mut foreign = draft();
    foreign.version = Some(0x81);
    let mut table = draft();
    table.lookups = [&[1][..], &[7; 32], &[1, 0], &[0]].concat();
    for (name, transaction, reason) in [
        ("trailing bytes", trailing, Reason::PaymentMalformed),
        ("cut off", cut, Reason::PaymentMalformed),
        ("a length that is too long", long, Reason::PaymentMalformed),
        ("an account twice", twice, Reason::PaymentMalformed),
        ("nothing", Vec::new(), Reason::PaymentMalformed),
        ("1233 bytes", vec![1; 1233], Reason::PaymentMalformed),
        ("an unknown version", foreign.signed(), Reason::PaymentSchemeNotAllowed),
        ("an address lookup table", table.signed(), Reason::PaymentSchemeNotAllowed),
    ] {
        let refusal = judged(&paying(&transaction), &terms_with(&json!({})))
            .err()
            .unwrap_or_else(|| panic!("{name} passes"));
        assert_eq!(refusal.reason, reason, "{name}: {refusal}");
    }
    let base64 = STANDARD.encode(&honest);
    let bends = [
        ("no padding", json!(base64.trim_end_matches('=').to_owned() + "A")),
        ("a blank", json!(format!(" {base64}"))),
        ("base58", json!(bs58::encode(&honest).into_string())),
        ("an array of bytes", json!(honest)),
        ("null", json!(null)),
    ];
    for (name, transaction) in bends {
        let mut payment = paying(&honest);
        payment["payload"]["transaction"] = transaction;
        assert_eq!(
            judged(&payment, &terms_with(&json!({}))).unwrap_err().reason,
            Reason::PaymentMalformed,
            "{name}"
        );
    }
}
