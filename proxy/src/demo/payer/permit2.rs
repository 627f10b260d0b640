//! Payments over the Permit2 contract: `exact` with that transfer method, and `upto`, whose amount is a ceiling.

use ruint::aliases::U256;
use serde_json::{Value, json};

use super::Payer;
use crate::x402::claim::{Asset, EvmAddress};
use crate::x402::eip712::SigningDomains;
use crate::x402::eip712::permit2::{PermitWitnessTransferFrom, Witness};
use crate::x402::scheme::Proxy;

impl Payer {
    /// The payload for an offer of `asset`; `now` is in Unix seconds.
    pub(super) fn permit2(&self, proxy: Proxy, accepted: &Value, asset: &Asset, now: u64) -> Option<Value> {
        let address = |value: &Value| EvmAddress::parse(value.as_str()?).ok();
        let facilitator = match proxy {
            Proxy::Exact => None,
            Proxy::Upto => Some(address(accepted.pointer("/extra/facilitatorAddress")?)?),
        };
        let permit = PermitWitnessTransferFrom {
            token: asset.address.evm()?,
            amount: accepted.get("amount")?.as_str()?.parse().ok()?,
            spender: proxy.address(),
            nonce: U256::from_be_bytes(rand::random::<[u8; 32]>()),
            deadline: U256::from(now + accepted.get("maxTimeoutSeconds")?.as_u64()?),
            witness: Witness {
                to: address(accepted.get("payTo")?)?,
                facilitator,
                valid_after: U256::from(now.saturating_sub(60)),
            },
        };
        let domain = SigningDomains::of(asset).permit2?;
        let mut witness = json!({ "to": permit.witness.to.to_string(), "validAfter": permit.witness.valid_after.to_string() });
        if let (Some(facilitator), Some(members)) = (facilitator, witness.as_object_mut()) {
            members.insert("facilitator".to_owned(), facilitator.to_string().into());
        }
        Some(json!({
            "signature": self.sign(&permit.digest(&domain))?,
            "permit2Authorization": {
                "from": self.address.to_string(),
                "permitted": { "token": permit.token.to_string(), "amount": permit.amount.to_string() },
                "spender": permit.spender.to_string(),
                "nonce": permit.nonce.to_string(),
                "deadline": permit.deadline.to_string(),
                "witness": witness,
            },
        }))
    }
}
