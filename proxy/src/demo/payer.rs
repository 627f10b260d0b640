//! The agent's wallet: a key made for this run, and the payment that a challenge asks for, signed as the x402 SDKs do: by an EIP-3009
//! authorisation, over [`permit2`], or on [`solana`].

mod permit2;
mod solana;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use k256::ecdsa::SigningKey;
use ruint::aliases::U256;
use serde_json::{Value, json};
use sha3::{Digest, Keccak256};

use crate::x402::claim::{Asset, EvmAddress};
use crate::x402::eip712::{SigningDomains, TransferWithAuthorization};
use crate::x402::scheme::Proxy;

/// See the module.
pub(crate) struct Payer {
    key: SigningKey,
    address: EvmAddress,
}

impl Payer {
    /// A new key, for this run only.
    pub(crate) fn new() -> Option<Self> {
        let key = std::iter::repeat_with(rand::random::<[u8; 32]>)
            .take(8)
            .find_map(|bytes| SigningKey::from_slice(&bytes).ok())?;
        let point = key.verifying_key().to_encoded_point(false);
        let hash = Keccak256::digest(point.as_bytes().get(1..)?);
        let address = EvmAddress(hash.get(12..)?.try_into().ok()?);
        Some(Payer { key, address })
    }

    /// Answers a `PAYMENT-REQUIRED` challenge: the value of the `PAYMENT-SIGNATURE` header. Pays whatever is asked, as many agents would.
    /// `now` is in Unix seconds.
    pub(crate) fn pay(&self, challenge: &HeaderValue, asset: &Asset, now: u64) -> Option<HeaderValue> {
        let challenge: Value = serde_json::from_slice(&STANDARD.decode(challenge.as_bytes()).ok()?).ok()?;
        let accepted = challenge.get("accepts")?.get(0)?;
        let over_permit2 = accepted.pointer("/extra/assetTransferMethod").and_then(Value::as_str) == Some("permit2");
        let payload = match accepted.get("scheme")?.as_str()? {
            "exact" if asset.address.solana().is_some() => solana::payload(accepted, asset)?,
            "exact" if over_permit2 => self.permit2(Proxy::Exact, accepted, asset, now)?,
            "exact" => self.authorization(accepted, asset, now)?,
            "upto" => self.permit2(Proxy::Upto, accepted, asset, now)?,
            _ => return None,
        };
        let payment = json!({
            "x402Version": 2,
            "resource": challenge.get("resource")?,
            "accepted": accepted,
            "payload": payload,
        });
        HeaderValue::from_str(&STANDARD.encode(payment.to_string())).ok()
    }

    fn authorization(&self, accepted: &Value, asset: &Asset, now: u64) -> Option<Value> {
        let lifetime = accepted.get("maxTimeoutSeconds")?.as_u64()?;
        let transfer = TransferWithAuthorization {
            from: self.address,
            to: EvmAddress::parse(accepted.get("payTo")?.as_str()?).ok()?,
            value: accepted.get("amount")?.as_str()?.parse().ok()?,
            valid_after: U256::from(now.saturating_sub(60)),
            valid_before: U256::from(now + lifetime),
            nonce: rand::random(),
        };
        let domain = SigningDomains::of(asset).token?;
        Some(json!({
            "signature": self.sign(&transfer.digest(&domain))?,
            "authorization": {
                "from": transfer.from.to_string(),
                "to": transfer.to.to_string(),
                "value": transfer.value.to_string(),
                "validAfter": transfer.valid_after.to_string(),
                "validBefore": transfer.valid_before.to_string(),
                "nonce": format!("0x{}", hex::encode(transfer.nonce)),
            },
        }))
    }

    /// r, s and v (27 or 28), as token contracts take them.
    fn sign(&self, digest: &[u8; 32]) -> Option<String> {
        let (signature, recovery) = self.key.sign_prehash_recoverable(digest).ok()?;
        Some(format!("0x{}{:02x}", hex::encode(signature.to_bytes()), 27 + recovery.to_byte()))
    }
}
