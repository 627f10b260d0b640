//! A wallet with a throwaway key, and the payments that the SDKs would make with it: x402 v1 and v2, scheme `exact`, EIP-3009 on
//! Base Sepolia USDC. Payments come out as JSON that a test may bend before it is encoded. The other schemes are in rooms of their own.

pub mod permit2;
pub mod solana;

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k256::ecdsa::{RecoveryId, Signature, SigningKey, VerifyingKey};
use serde_json::{Value, json};
use sha3::{Digest as _, Keccak256};

/// Base Sepolia USDC.
pub const ASSET: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
/// CAIP-2 of Base Sepolia.
pub const NETWORK: &str = "eip155:84532";
/// The payee that the tests' sellers name.
pub const PAYEE: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
/// One cent.
pub const CENT: &str = "10000";

/// The `payments` section that fits these payments.
pub fn settings() -> Value {
    json!({ "payments": {
        "networks": [NETWORK], "assets": [format!("{NETWORK}/{ASSET}")], "max_amount": "1.00", "require_challenge": false, "screen_challenges": false,
    }})
}

/// A key made for one test.
pub struct Wallet {
    key: SigningKey,
    /// Its address, lower case.
    pub address: String,
}

impl Default for Wallet {
    fn default() -> Self {
        let key = SigningKey::from_slice(&rand::random::<[u8; 32]>()).expect("nearly every 32 bytes are a key");
        let address = address_of(key.verifying_key());
        Self { key, address }
    }
}

/// The fields that get signed, and the signer's domain.
#[derive(Debug, Clone)]
pub struct Terms {
    /// Payee.
    pub to: String,
    /// Atomic amount.
    pub value: String,
    /// Unix seconds.
    pub valid_after: u64,
    /// Unix seconds.
    pub valid_before: u64,
    /// 32 bytes.
    pub nonce: [u8; 32],
    /// Token contract of the domain.
    pub asset: String,
    /// Chain of the domain.
    pub chain_id: u64,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            to: PAYEE.to_owned(),
            value: CENT.to_owned(),
            valid_after: 0,
            valid_before: now() + 60,
            nonce: rand::random(),
            asset: ASSET.to_owned(),
            chain_id: 84532,
        }
    }
}

impl Terms {
    /// The same for another payee.
    pub fn to(payee: &str) -> Self {
        Self {
            to: payee.to_owned(),
            ..Self::default()
        }
    }

    /// The EIP-712 digest of these terms for the payer `from`.
    pub fn digest(&self, from: &str) -> [u8; 32] {
        let domain = keccak(&[
            &keccak(&[b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"]),
            &keccak(&[b"USDC"]),
            &keccak(&[b"2"]),
            &word(u128::from(self.chain_id)),
            &address(&self.asset),
        ]);
        let message = keccak(&[
            &keccak(&[
                b"TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)",
            ]),
            &address(from),
            &address(&self.to),
            &word(self.value.parse().unwrap_or(0)),
            &word(u128::from(self.valid_after)),
            &word(u128::from(self.valid_before)),
            &self.nonce,
        ]);
        keccak(&[b"\x19\x01", &domain, &message])
    }

    /// The nonce as the wire has it, without `0x`.
    pub fn nonce_hex(&self) -> String {
        hex::encode(self.nonce)
    }

    fn authorization(&self, from: &str) -> Value {
        json!({
            "from": from, "to": self.to, "value": self.value, "validAfter": self.valid_after.to_string(),
            "validBefore": self.valid_before.to_string(), "nonce": format!("0x{}", hex::encode(self.nonce)),
        })
    }
}

impl Wallet {
    /// The key, for an SDK.
    pub fn key_hex(&self) -> String {
        format!("0x{}", hex::encode(self.key.to_bytes()))
    }

    /// The EIP-712 signature of `terms` under the USDC domain, 65 bytes in hex.
    pub fn sign(&self, terms: &Terms) -> String {
        self.sign_digest(&terms.digest(&self.address))
    }

    /// The signature of a digest, 65 bytes in hex.
    pub fn sign_digest(&self, digest: &[u8; 32]) -> String {
        let (signature, recovery) = self.key.sign_prehash_recoverable(digest).expect("32 bytes");
        format!("0x{}{:02x}", hex::encode(signature.to_bytes()), 27 + recovery.to_byte())
    }

    /// A v2 payment for `url`.
    pub fn v2(&self, url: &str, terms: &Terms) -> Value {
        json!({
            "x402Version": 2,
            "payload": { "signature": self.sign(terms), "authorization": terms.authorization(&self.address) },
            "resource": { "url": url, "description": "one cent", "mimeType": "application/json" },
            "accepted": {
                "scheme": "exact", "network": format!("eip155:{}", terms.chain_id), "amount": terms.value, "asset": terms.asset,
                "payTo": terms.to, "maxTimeoutSeconds": 300, "extra": { "name": "USDC", "version": "2" },
            },
        })
    }

    /// A v1 payment.
    pub fn v1(&self, terms: &Terms) -> Value {
        json!({
            "x402Version": 1, "scheme": "exact", "network": "base-sepolia",
            "payload": { "signature": self.sign(terms), "authorization": terms.authorization(&self.address) },
        })
    }
}

/// What an agent without a key sends in place of a signature.
pub fn placeholder() -> String {
    format!("0x{}1b", "c0de".repeat(32))
}

/// The payment as an agent without a key writes it.
#[must_use]
pub fn unsigned(mut payment: Value) -> Value {
    payment["payload"]["signature"] = json!(placeholder());
    payment
}

/// The JSON of a header value.
pub fn decode(value: &str) -> String {
    String::from_utf8(STANDARD.decode(value).expect("canonical base64")).expect("UTF-8")
}

/// Whose signature a payment has in it, over the terms that it states.
pub fn signer_of(payment: &Value) -> String {
    let authorization = &payment["payload"]["authorization"];
    let text = |name: &str| authorization[name].as_str().expect("a string").to_owned();
    let mut terms = Terms {
        to: text("to"),
        value: text("value"),
        valid_after: text("validAfter").parse().expect("seconds"),
        valid_before: text("validBefore").parse().expect("seconds"),
        ..Terms::default()
    };
    hex::decode_to_slice(&text("nonce")[2..], &mut terms.nonce).expect("a nonce");
    let signature = payment["payload"]["signature"].as_str().expect("a signature");
    recovered(&terms.digest(&text("from")), signature)
}

fn recovered(digest: &[u8; 32], signature: &str) -> String {
    let bytes = hex::decode(&signature[2..]).expect("hex");
    let rs = Signature::from_slice(&bytes[..64]).expect("r and s");
    let v = RecoveryId::from_byte(bytes[64] - 27).expect("v");
    let key = VerifyingKey::recover_from_prehash(digest, &rs, v).expect("a point");
    address_of(&key)
}

fn address_of(key: &VerifyingKey) -> String {
    let point = key.to_encoded_point(false);
    format!("0x{}", hex::encode(&keccak(&[&point.as_bytes()[1..]])[12..]))
}

/// The header value of a payment.
pub fn encode(payment: &Value) -> String {
    encode_text(&payment.to_string())
}

/// The header value of a payment whose JSON is bent as text.
pub fn encode_text(json: &str) -> String {
    STANDARD.encode(json)
}

/// A challenge (v2 `PAYMENT-REQUIRED` value) for `url` at one cent.
pub fn challenge(url: &str) -> String {
    encode(&json!({
        "x402Version": 2, "error": "Payment required",
        "resource": { "url": url, "description": "one cent", "mimeType": "application/json" },
        "accepts": [{
            "scheme": "exact", "network": NETWORK, "amount": CENT, "asset": ASSET, "payTo": PAYEE, "maxTimeoutSeconds": 300,
            "extra": { "name": "USDC", "version": "2" },
        }],
    }))
}

/// Unix seconds.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

/// Spells an address with its EIP-55 checksum.
pub fn checksummed(address: &str) -> String {
    let digits = address.trim_start_matches("0x").to_ascii_lowercase();
    let hash = hex::encode(keccak(&[digits.as_bytes()]));
    let spell = |(digit, marker): (char, u8)| if marker >= b'8' { digit.to_ascii_uppercase() } else { digit };
    format!("0x{}", digits.chars().zip(hash.bytes()).map(spell).collect::<String>())
}

fn keccak(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Keccak256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

fn word(number: u128) -> [u8; 32] {
    let mut word = [0; 32];
    word[16..].copy_from_slice(&number.to_be_bytes());
    word
}

fn address(text: &str) -> [u8; 32] {
    let mut word = [0; 32];
    if let Ok(bytes) = hex::decode(text.trim_start_matches("0x")) {
        let start = 32_usize.saturating_sub(bytes.len());
        word[start..].copy_from_slice(&bytes[..bytes.len().min(32)]);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A payment that `@x402/fetch` made: our digest has to be the one it signed, or the tests with our own wallet prove nothing.
    #[test]
    fn the_digest_is_the_one_that_a_real_sdk_signed() {
        let mut terms = Terms {
            valid_before: 1_796_073_533,
            ..Terms::default()
        };
        let nonce = hex::decode("339cfdc5e03732fd972258715b56e1ec62547189c00d63fad4cdc1237b42e513").unwrap();
        terms.nonce.copy_from_slice(&nonce);
        let digest = terms.digest("0xf128869ce7396F0cbB6d2E2743a7BCDd39a6A671");
        assert_eq!(
            hex::encode(digest),
            "e214a4f837677c5c54aafcdcbad8846955583930d6cc713a6532d1816b05fbf8"
        );
    }

    #[test]
    fn addresses_are_spelled_with_their_checksum() {
        assert_eq!(checksummed(&PAYEE.to_ascii_lowercase()), PAYEE);
        assert_eq!(checksummed(ASSET), ASSET);
    }
}
