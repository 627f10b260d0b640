//! Payments on Solana's devnet: scheme `exact`, one `TransferChecked` of USDC, signed by the payer and still without the fee payer's signature.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// CAIP-2 of the devnet.
pub const DEVNET: &str = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
/// Devnet USDC.
pub const MINT: &str = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU";
/// The payee that the tests' sellers name.
pub const PAYEE: &str = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4";
/// Who pays the fee.
pub const SPONSOR: &str = "EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd";

const TOKEN: &str = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
const ASSOCIATED: &str = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";
const BUDGET: &str = "ComputeBudget111111111111111111111111111111";
const MEMO: &str = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";

/// A key made for one test.
pub struct Keypair {
    key: SigningKey,
    /// Its address.
    pub address: String,
}

impl Default for Keypair {
    fn default() -> Self {
        let key = SigningKey::from_bytes(&rand::random());
        let address = bs58::encode(key.verifying_key().to_bytes()).into_string();
        Self { key, address }
    }
}

/// What gets signed.
#[derive(Debug, Clone)]
pub struct Transfer {
    /// Whose token account is paid.
    pub to: String,
    /// Atomic amount.
    pub amount: u64,
    /// The token.
    pub mint: String,
    /// Instructions behind the transfer: program, accounts by place, data.
    pub more: Vec<(String, Vec<u8>, Vec<u8>)>,
}

impl Default for Transfer {
    fn default() -> Self {
        let memo = hex::encode(rand::random::<[u8; 16]>());
        Self {
            to: PAYEE.to_owned(),
            amount: 10_000,
            mint: MINT.to_owned(),
            more: vec![(MEMO.to_owned(), Vec::new(), memo.into_bytes())],
        }
    }
}

impl Transfer {
    /// One more transfer of the same tokens to the same account.
    pub fn twice() -> Self {
        let mut transfer = Self::default();
        let again = transfer_data(transfer.amount);
        transfer.more.push((TOKEN.to_owned(), vec![2, 4, 3, 1], again));
        transfer
    }

    /// The offer that the payment answers.
    pub fn offer(&self) -> Value {
        json!({
            "scheme": "exact", "network": DEVNET, "amount": self.amount.to_string(), "asset": self.mint, "payTo": self.to,
            "maxTimeoutSeconds": 60, "extra": { "feePayer": SPONSOR },
        })
    }

    fn message(&self, payer: &str) -> Vec<u8> {
        let mut accounts = vec![
            decode(SPONSOR),
            decode(payer),
            token_account(payer, &self.mint),
            token_account(&self.to, &self.mint),
            decode(&self.mint),
            decode(BUDGET),
            decode(TOKEN),
        ];
        for (program, ..) in &self.more {
            if !accounts.contains(&decode(program)) {
                accounts.push(decode(program));
            }
        }
        let place = |account: &str| {
            let account = decode(account);
            small(accounts.iter().position(|one| *one == account).expect("it is listed"))
        };
        let call = |program: &str, places: &[u8], data: &[u8]| {
            let head = [place(program), small(places.len())];
            [&head, places, &[small(data.len())], data].concat()
        };
        let mut calls = vec![
            call(BUDGET, &[], &[2, 0x20, 0x4e, 0, 0]),
            call(BUDGET, &[], &[3, 1, 0, 0, 0, 0, 0, 0, 0]),
            call(TOKEN, &[2, 4, 3, 1], &transfer_data(self.amount)),
        ];
        calls.extend(self.more.iter().map(|(program, places, data)| call(program, places, data)));
        // Version 0; two signers, of whom the second is not written to, and all but the two token accounts are only read.
        let mut message = vec![0x80, 2, 1, small(accounts.len() - 4), small(accounts.len())];
        message.extend(accounts.iter().flatten());
        message.extend(rand::random::<[u8; 32]>());
        message.push(small(calls.len()));
        message.extend(calls.iter().flatten());
        message.push(0);
        message
    }
}

impl Keypair {
    /// The key, for an SDK: secret and public half in base58.
    pub fn key_base58(&self) -> String {
        bs58::encode(self.key.to_keypair_bytes()).into_string()
    }

    /// A v2 payment for `url`.
    pub fn v2(&self, url: &str, transfer: &Transfer) -> Value {
        json!({
            "x402Version": 2,
            "payload": { "transaction": self.transaction(transfer) },
            "resource": { "url": url, "description": "one cent", "mimeType": "application/json" },
            "accepted": transfer.offer(),
        })
    }

    /// A v1 payment.
    pub fn v1(&self, transfer: &Transfer) -> Value {
        json!({
            "x402Version": 1, "scheme": "exact", "network": "solana-devnet", "payload": { "transaction": self.transaction(transfer) },
        })
    }

    fn transaction(&self, transfer: &Transfer) -> String {
        let message = transfer.message(&self.address);
        let signature = self.key.sign(&message).to_bytes();
        STANDARD.encode([&[2][..], &[0; 64], &signature, &message].concat())
    }
}

/// A v1 challenge at one cent.
pub fn v1_body(url: &str) -> Value {
    json!({ "x402Version": 1, "error": "X-PAYMENT header is required", "accepts": [{
        "scheme": "exact", "network": "solana-devnet", "maxAmountRequired": "10000", "resource": url, "description": "one cent",
        "mimeType": "application/json", "payTo": PAYEE, "maxTimeoutSeconds": 60, "asset": MINT, "extra": { "feePayer": SPONSOR },
    }]})
}

fn transfer_data(amount: u64) -> Vec<u8> {
    [&[12][..], &amount.to_le_bytes(), &[6]].concat()
}

/// The associated token account of a wallet.
fn token_account(wallet: &str, mint: &str) -> [u8; 32] {
    (0..=u8::MAX)
        .rev()
        .map(|bump| {
            let mut hash = Sha256::new();
            for seed in [wallet, TOKEN, mint] {
                hash.update(decode(seed));
            }
            hash.update([bump]);
            hash.update(decode(ASSOCIATED));
            hash.update(b"ProgramDerivedAddress");
            hash.finalize().into()
        })
        .find(|account| VerifyingKey::from_bytes(account).is_err())
        .expect("one of them is off the curve")
}

fn decode(address: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    bs58::decode(address).onto(&mut bytes).expect("base58 of 32 bytes");
    bytes
}

fn small(number: usize) -> u8 {
    u8::try_from(number).ok().filter(|byte| *byte < 0x80).expect("a small number")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From a payment of the Python SDK: if our accounts were not its accounts, the tests with our own wallet would prove nothing.
    #[test]
    fn token_accounts_are_those_that_a_real_sdk_derives() {
        let account = |wallet| bs58::encode(token_account(wallet, MINT)).into_string();
        assert_eq!(account(PAYEE), "A6cvo72FWB5PKDznP79KJv64DbT1aw7YbEfCm4AALHg8");
        assert_eq!(
            account("5SmPXSnum3rVr3sQGcpTdgb1PVyvvnheM4ER5Nsvnuew"),
            "TxQLqMDEUpWvFxhXYBTnxkJBu4s2YbMFweJKqGDr1c6"
        );
    }
}
