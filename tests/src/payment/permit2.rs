//! Payments over Permit2 on Base Sepolia: `exact` with the transfer method `permit2`, and `upto`. Written apart from the gate's own code.

use serde_json::{Value, json};

use super::{ASSET, CENT, PAYEE, Wallet, address, keccak, now, word};

/// The proxy contract of `exact`.
pub const EXACT_PROXY: &str = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001";
/// The proxy contract of `upto`.
pub const UPTO_PROXY: &str = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";
/// Who may settle an `upto` payment.
pub const FACILITATOR: &str = "0x1111111111111111111111111111111111111111";
const PERMIT2: &str = "0x000000000022D473030F116dDEE9F6B43aC78BA3";

/// What gets signed.
#[derive(Debug, Clone)]
pub struct Permit {
    /// Who is paid, by the witness.
    pub to: String,
    /// Atomic amount; the ceiling of `upto`.
    pub amount: String,
    /// Who may move it.
    pub spender: String,
    /// The token contract.
    pub token: String,
    /// `upto` alone.
    pub facilitator: Option<String>,
    /// Single use: a decimal number below 2^256.
    pub nonce: String,
    /// Unix seconds.
    pub deadline: u64,
}

impl Permit {
    /// One cent by `exact`.
    pub fn exact() -> Self {
        Self {
            to: PAYEE.to_owned(),
            amount: CENT.to_owned(),
            spender: EXACT_PROXY.to_owned(),
            token: ASSET.to_owned(),
            facilitator: None,
            nonce: rand::random::<u128>().to_string(),
            deadline: now() + 60,
        }
    }

    /// Up to half a dollar by `upto`.
    pub fn upto() -> Self {
        Self {
            amount: "500000".to_owned(),
            spender: UPTO_PROXY.to_owned(),
            facilitator: Some(FACILITATOR.to_owned()),
            ..Self::exact()
        }
    }

    fn digest(&self) -> [u8; 32] {
        let witness_type = match self.facilitator {
            None => "Witness(address to,uint256 validAfter)",
            Some(_) => "Witness(address to,address facilitator,uint256 validAfter)",
        };
        let token_type = "TokenPermissions(address token,uint256 amount)";
        let permit_type = format!(
            "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness){token_type}{witness_type}"
        );
        let domain = keccak(&[
            &keccak(&[b"EIP712Domain(string name,uint256 chainId,address verifyingContract)"]),
            &keccak(&[b"Permit2"]),
            &word(84_532),
            &address(PERMIT2),
        ]);
        let facilitator = self.facilitator.as_deref().map(address);
        let witness = keccak(&[
            &keccak(&[witness_type.as_bytes()]),
            &address(&self.to),
            facilitator.as_ref().map_or(&[][..], |word| word),
            &word(0),
        ]);
        let permitted = keccak(&[
            &keccak(&[token_type.as_bytes()]),
            &address(&self.token),
            &word(self.amount.parse().unwrap_or(0)),
        ]);
        let message = keccak(&[
            &keccak(&[permit_type.as_bytes()]),
            &permitted,
            &address(&self.spender),
            &decimal(&self.nonce),
            &word(u128::from(self.deadline)),
            &witness,
        ]);
        keccak(&[b"\x19\x01", &domain, &message])
    }

    /// The offer that the payment answers.
    pub fn offer(&self) -> Value {
        let (scheme, extra) = match &self.facilitator {
            None => ("exact", json!({ "name": "USDC", "version": "2", "assetTransferMethod": "permit2" })),
            Some(facilitator) => ("upto", json!({ "name": "USDC", "version": "2", "facilitatorAddress": facilitator })),
        };
        json!({
            "scheme": scheme, "network": "eip155:84532", "amount": self.amount, "asset": self.token, "payTo": self.to,
            "maxTimeoutSeconds": 300, "extra": extra,
        })
    }
}

impl Wallet {
    /// A payment for `url` over Permit2.
    pub fn permit2(&self, url: &str, permit: &Permit) -> Value {
        let mut witness = json!({ "to": permit.to, "validAfter": "0" });
        if let Some(facilitator) = &permit.facilitator {
            witness["facilitator"] = json!(facilitator);
        }
        json!({
            "x402Version": 2,
            "payload": {
                "signature": self.sign_digest(&permit.digest()),
                "permit2Authorization": {
                    "from": self.address, "permitted": { "token": permit.token, "amount": permit.amount }, "spender": permit.spender,
                    "nonce": permit.nonce, "deadline": permit.deadline.to_string(), "witness": witness,
                },
            },
            "resource": { "url": url, "description": "one cent", "mimeType": "application/json" },
            "accepted": permit.offer(),
        })
    }
}

fn decimal(digits: &str) -> [u8; 32] {
    let mut word = [0_u8; 32];
    for digit in digits.bytes() {
        let mut carry = u16::from(digit - b'0');
        for byte in word.iter_mut().rev() {
            carry += u16::from(*byte) * 10;
            *byte = carry.to_le_bytes()[0];
            carry >>= 8;
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the Python SDK has signed: our digest has to be that one, or the tests with our own wallet prove nothing.
    #[test]
    fn the_digest_is_the_one_that_a_real_sdk_signed() {
        let permit = Permit {
            deadline: 1_796_073_732,
            nonce: "5309373160982504726017999472317884838943954158178712058961286983468516921832".to_owned(),
            ..Permit::upto()
        };
        let expected = "a4071ac1970e49a1934c6c38094a53bbe1fc6486558c1f2dd2df9adb8de08b84";
        assert_eq!(hex::encode(permit.digest()), expected);
        let permit = Permit {
            deadline: 1_796_073_616,
            nonce: "6465693634166596866061907561517177848501027498732110384254838973572754656786".to_owned(),
            ..Permit::exact()
        };
        let expected = "98f0dc48d53c1459c87db48d1304651ccb30f66750ad376308c21262e19c74a4";
        assert_eq!(hex::encode(permit.digest()), expected);
    }
}
