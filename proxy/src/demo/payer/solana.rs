//! Payments on Solana: a transaction of version 0 with one `TransferChecked`, as `x402::solana` reads it, signed by a key made for it alone
//! and still without the fee payer's signature.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};

use crate::x402::claim::{Asset, Token};
use crate::x402::solana::SolanaAddress;
use crate::x402::solana::associated::token_account;
use crate::x402::solana::programs::{COMPUTE_BUDGET, MEMO};

/// Signatures that a transaction needs: the fee payer's and the payer's.
const SIGNERS: u8 = 2;
/// The accounts' places. The first four are signers or written to.
const FEE_PAYER: u8 = 0;
const PAYER: u8 = 1;
const SOURCE: u8 = 2;
const DESTINATION: u8 = 3;
const MINT: u8 = 4;
const BUDGET: u8 = 5;
const TOKENS: u8 = 6;
const MEMOS: u8 = 7;
const ACCOUNTS: u8 = 8;

/// The payload for an offer of `asset`.
pub(super) fn payload(accepted: &Value, asset: &Asset) -> Option<Value> {
    let Token::Mint(program) = &asset.token else {
        return None;
    };
    let address = |value: &Value| SolanaAddress::parse(value.as_str()?).ok();
    let key = SigningKey::from_bytes(&rand::random());
    let (payer, mint) = (SolanaAddress(key.verifying_key().to_bytes()), asset.address.solana()?);
    let mut accounts = [SolanaAddress([0; 32]); ACCOUNTS as usize];
    for (place, account) in [
        (FEE_PAYER, address(accepted.pointer("/extra/feePayer")?)?),
        (PAYER, payer),
        (SOURCE, token_account(payer, *program, mint)?),
        (DESTINATION, token_account(address(accepted.get("payTo")?)?, *program, mint)?),
        (MINT, mint),
        (BUDGET, COMPUTE_BUDGET),
        (TOKENS, program.address()),
        (MEMOS, MEMO),
    ] {
        *accounts.get_mut(usize::from(place))? = account;
    }
    let amount: u64 = accepted.get("amount")?.as_str()?.parse().ok()?;
    let transfer = [&[12][..], &amount.to_le_bytes(), &[asset.decimals]].concat();
    let memo = hex::encode(rand::random::<[u8; 16]>());
    let calls = [
        call(BUDGET, &[], &[2, 0x20, 0x4e, 0, 0])?,
        call(BUDGET, &[], &[3, 1, 0, 0, 0, 0, 0, 0, 0])?,
        call(TOKENS, &[SOURCE, MINT, DESTINATION, PAYER], &transfer)?,
        call(MEMOS, &[], memo.as_bytes())?,
    ];
    let recent_block: [u8; 32] = rand::random();
    let written = DESTINATION + 1;
    // The version; signers, those of them that are only read, others that are only read.
    let mut message = vec![0x80, SIGNERS, 1, ACCOUNTS - written, ACCOUNTS];
    message.extend(accounts.iter().flat_map(|account| account.0));
    message.extend(recent_block);
    message.push(u8::try_from(calls.len()).ok()?);
    message.extend(calls.concat());
    message.push(0);
    let signature = key.sign(&message).to_bytes();
    let transaction = [&[SIGNERS][..], &[0; 64], &signature, &message].concat();
    Some(json!({ "transaction": STANDARD.encode(transaction) }))
}

/// An instruction; its parts are shorter than 128 bytes, so that their lengths are one byte.
fn call(program: u8, accounts: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let length = |part: &[u8]| u8::try_from(part.len()).ok().filter(|length| *length < 0x80);
    Some([&[program, length(accounts)?][..], accounts, &[length(data)?], data].concat())
}
