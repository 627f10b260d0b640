//! Wallets with throwaway keys, and the payments that they sign: Permit2, `upto`, Solana. Documents come out as JSON that a test may bend.

use ::base64::Engine;
use ::base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer as _, SigningKey as SolanaKey};
use k256::ecdsa::SigningKey;
use ruint::aliases::U256;
use serde_json::{Value, json};
use sha3::{Digest, Keccak256};

use crate::x402::claim::EvmAddress;
use crate::x402::eip712::permit2::{PermitWitnessTransferFrom, Witness, domain};
use crate::x402::solana::SolanaAddress;

pub(super) const NOW: u64 = 1_800_000_000;
pub(super) const URL: &str = "https://shop.test/paid";
pub(super) const PAYEE: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
pub(super) const STRANGER: &str = "0x857b06519E91e3A54538791bDbb0E22373e36b66";
pub(super) const USDC: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
pub(super) const EXACT_PROXY: &str = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";
pub(super) const UPTO_PROXY: &str = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";
pub(super) const FACILITATOR: &str = "0x1111111111111111111111111111111111111111";

/// An externally owned account.
pub(super) struct Account(SigningKey);

impl Account {
    pub(super) fn new(seed: u8) -> Self {
        Account(SigningKey::from_slice(&[seed; 32]).unwrap())
    }

    pub(super) fn address(&self) -> EvmAddress {
        let point = self.0.verifying_key().to_encoded_point(false);
        EvmAddress(Keccak256::digest(&point.as_bytes()[1..])[12..].try_into().unwrap())
    }

    pub(super) fn sign(&self, digest: &[u8; 32]) -> String {
        let (signature, recovery) = self.0.sign_prehash_recoverable(digest).unwrap();
        format!("0x{}{:02x}", hex::encode(signature.to_bytes()), 27 + recovery.to_byte())
    }

    /// `[r, s]` and whether y is odd, as transactions have them.
    pub(super) fn sign_parts(&self, digest: &[u8; 32]) -> (Vec<u8>, bool) {
        let (signature, recovery) = self.0.sign_prehash_recoverable(digest).unwrap();
        (signature.to_bytes().to_vec(), recovery.is_y_odd())
    }
}

/// The `permit2Authorization` of a payment, before it is signed.
pub(super) fn authorization(account: &Account, spender: &str, amount: &str) -> Value {
    json!({
        "from": account.address().to_string(), "permitted": { "token": USDC, "amount": amount }, "spender": spender,
        "nonce": "6465693634166596866061907561517177848501027498732110384254838973572754656786",
        "deadline": (NOW + 60).to_string(), "witness": { "to": PAYEE, "validAfter": "0" },
    })
}

/// What the account signs for these members on Base Sepolia.
pub(super) fn permit_signature(account: &Account, authorization: &Value, chain_id: u64) -> String {
    let at = |pointer: &str| authorization.pointer(pointer).and_then(Value::as_str);
    let address = |pointer: &str| EvmAddress::parse(at(pointer).unwrap()).unwrap();
    let integer = |pointer: &str| at(pointer).unwrap().parse::<U256>().unwrap();
    let permit = PermitWitnessTransferFrom {
        token: address("/permitted/token"),
        amount: integer("/permitted/amount"),
        spender: address("/spender"),
        nonce: integer("/nonce"),
        deadline: integer("/deadline"),
        witness: Witness {
            to: address("/witness/to"),
            facilitator: at("/witness/facilitator").map(|text| EvmAddress::parse(text).unwrap()),
            valid_after: integer("/witness/validAfter"),
        },
    };
    account.sign(&permit.digest(&domain(chain_id)))
}

/// A v2 payment over Permit2, signed.
pub(super) fn permit2(account: &Account, scheme: &str, authorization: &Value) -> Value {
    let mut extra = json!({ "name": "USDC", "version": "2" });
    match scheme {
        "exact" => extra["assetTransferMethod"] = json!("permit2"),
        _ => extra["facilitatorAddress"] = json!(FACILITATOR),
    }
    json!({
        "x402Version": 2,
        "payload": { "signature": permit_signature(account, authorization, 84_532), "permit2Authorization": authorization },
        "resource": { "url": URL },
        "accepted": {
            "scheme": scheme, "network": "eip155:84532", "asset": USDC, "payTo": PAYEE, "maxTimeoutSeconds": 60,
            "amount": authorization["permitted"]["amount"], "extra": extra,
        },
    })
}

/// The header value of a payment.
pub(super) fn encode(payment: &Value) -> String {
    STANDARD.encode(payment.to_string())
}

/// A key on Solana.
pub(super) struct Keypair(SolanaKey);

impl Keypair {
    pub(super) fn new(seed: u8) -> Self {
        Keypair(SolanaKey::from_bytes(&[seed; 32]))
    }

    pub(super) fn address(&self) -> SolanaAddress {
        SolanaAddress(self.0.verifying_key().to_bytes())
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}
