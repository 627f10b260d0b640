//! Reading the members of what is signed: strings in their one spelling, and a refusal that names the member and never its value.

use ruint::aliases::U256;

use crate::x402::claim::{AtomicAmount, EvmAddress};
use crate::x402::enabled::{ContractWallets, Enabled};
use crate::x402::json::{Object, Value};
use crate::x402::refusal::PaymentRefusal;
use crate::x402::signature::{SignatureError, WalletSignature};

/// An object of the payment, and what it is called in messages.
#[derive(Clone, Copy)]
pub(in crate::x402) struct Place<'o, 'a> {
    pub(in crate::x402) object: &'o Object<'a>,
    pub(in crate::x402) name: &'static str,
}

impl<'o, 'a> Place<'o, 'a> {
    /// The object member of this name, with these members and no others: Go sellers take `To` for `to`, so a foreign member inside what is
    /// signed is never ignored.
    pub(in crate::x402) fn within(parent: &'o Object<'a>, name: &'static str, members: &[&str]) -> Result<Self, PaymentRefusal> {
        let object = parent
            .object(name)
            .ok_or_else(|| PaymentRefusal::malformed(format!("{name} is not an object")))?;
        if object.has_only(members) {
            Ok(Place { object, name })
        } else {
            Err(PaymentRefusal::malformed(format!("{name} has an unknown member")))
        }
    }

    pub(in crate::x402) fn text(self, member: &'static str) -> Result<&'o str, PaymentRefusal> {
        self.object
            .get(member)
            .and_then(Value::as_str)
            .ok_or_else(|| self.wrong(member, &"not a string"))
    }

    pub(in crate::x402) fn address(self, member: &'static str) -> Result<EvmAddress, PaymentRefusal> {
        EvmAddress::parse(self.text(member)?).map_err(|error| self.wrong(member, &error))
    }

    pub(in crate::x402) fn integer(self, member: &'static str) -> Result<U256, PaymentRefusal> {
        AtomicAmount::parse(self.text(member)?)
            .map(|amount| amount.0)
            .map_err(|error| self.wrong(member, &error))
    }

    pub(in crate::x402) fn bytes32(self, member: &'static str) -> Result<[u8; 32], PaymentRefusal> {
        let mut bytes = [0; 32];
        self.text(member)?
            .strip_prefix("0x")
            .filter(|digits| hex::decode_to_slice(digits, &mut bytes).is_ok())
            .ok_or_else(|| self.wrong(member, &"not 0x and 64 hex digits"))?;
        Ok(bytes)
    }

    fn wrong(self, member: &str, why: &dyn std::fmt::Display) -> PaymentRefusal {
        PaymentRefusal::malformed(format!("{}.{member}: {why}", self.name))
    }
}

/// The payload's signature, and nothing in the payload but it and `signed`.
pub(in crate::x402) fn signature(payload: &Object<'_>, signed: &str, wallets: ContractWallets) -> Result<WalletSignature, PaymentRefusal> {
    parsed(text_of(payload, signed)?, wallets)
}

/// The same, or what stands in its place where the payment is signed here.
pub(in crate::x402) fn signature_or_placeholder(
    payload: &Object<'_>,
    signed: &str,
    enabled: &Enabled,
) -> Result<WalletSignature, PaymentRefusal> {
    let text = text_of(payload, signed)?;
    match &enabled.placeholder {
        Some(placeholder) if placeholder.is(text) => Ok(WalletSignature::Placeholder),
        _ => parsed(text, enabled.contract_wallets),
    }
}

fn text_of<'o>(payload: &'o Object<'_>, signed: &str) -> Result<&'o str, PaymentRefusal> {
    if !payload.has_only(&["signature", signed]) {
        return Err(PaymentRefusal::malformed("payload has an unknown member"));
    }
    payload
        .string("signature")
        .ok_or_else(|| PaymentRefusal::malformed("payload.signature is missing"))
}

fn parsed(text: &str, wallets: ContractWallets) -> Result<WalletSignature, PaymentRefusal> {
    WalletSignature::parse(text, wallets).map_err(|error| match error {
        SignatureError::ContractWallet => PaymentRefusal::scheme(error.to_string()),
        _ => PaymentRefusal::malformed(error.to_string()),
    })
}
