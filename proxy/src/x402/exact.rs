//! Scheme `exact`, flavour EIP-3009: the one payload whose whole claim can be derived and proved from its bytes.
//!
//! In: the `payload` object. Out: what was signed, or a refusal that tells a recognised flavour which is not judged from junk.

use ruint::aliases::U256;

use super::claim::{AtomicAmount, EvmAddress, Scheme};
use super::eip712::{DomainSeparator, TransferWithAuthorization};
use super::json::{Object, Value};
use super::payment::Signed;
use super::refusal::PaymentRefusal;
use super::signature::{Signature, SignatureError};

/// An EIP-3009 authorisation and its signature, well-formed but not yet proved.
#[derive(Debug, Clone, Copy)]
pub struct Eip3009 {
    /// What is signed.
    pub transfer: TransferWithAuthorization,
    /// By whom remains to be seen.
    pub signature: Signature,
}

impl Signed for Eip3009 {
    fn scheme(&self) -> Scheme {
        Scheme::Exact
    }

    fn payer(&self) -> EvmAddress {
        self.transfer.from
    }

    fn payee(&self) -> EvmAddress {
        self.transfer.to
    }

    fn amount(&self) -> AtomicAmount {
        AtomicAmount(self.transfer.value)
    }

    fn valid_after(&self) -> U256 {
        self.transfer.valid_after
    }

    fn valid_before(&self) -> U256 {
        self.transfer.valid_before
    }

    fn nonce(&self) -> [u8; 32] {
        self.transfer.nonce
    }

    fn digest(&self, domain: &DomainSeparator) -> [u8; 32] {
        self.transfer.digest(domain)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }
}

/// Members that mark a payload as a flavour we know and do not judge. Two flavours in one payload fall under this too: a seller may take
/// the one that we did not look at.
const OTHER_FLAVOURS: &[(&str, &str)] = &[
    ("permit2Authorization", "Permit2 payments are not supported"),
    ("delegationManager", "ERC-7710 delegations name neither amount nor payee"),
    ("permissionContext", "ERC-7710 delegations name neither amount nor payee"),
    ("delegator", "ERC-7710 delegations name neither amount nor payee"),
    ("channelConfig", "batch settlement moves a deposit larger than the price"),
    ("voucher", "batch settlement moves a deposit larger than the price"),
    ("deposit", "batch settlement moves a deposit larger than the price"),
    ("channelId", "channel payments are not supported"),
    ("salt", "auth-capture pays a collector and hides the payee in a hash"),
    ("saltNonce", "auth-capture pays a collector and hides the payee in a hash"),
    ("transaction", "a binary transaction cannot be judged"),
    ("signedTransaction", "a binary transaction cannot be judged"),
    ("signedTxBlob", "a binary transaction cannot be judged"),
    ("signedDelegateAction", "a binary transaction cannot be judged"),
    ("settlementBoc", "a binary transaction cannot be judged"),
    ("openTransaction", "a binary transaction cannot be judged"),
    ("paymentGroup", "a binary transaction cannot be judged"),
    ("block", "a binary transaction cannot be judged"),
    ("outsideExecution", "only EIP-3009 payments can be judged"),
    ("action", "only EIP-3009 payments can be judged"),
    ("publicKey", "only EIP-3009 payments can be judged"),
    ("token", "only EIP-3009 payments can be judged"),
    ("preimage", "a proof of an earlier payment cannot be judged"),
    ("txHash", "a proof of an earlier payment cannot be judged"),
    ("type", "only EIP-3009 payments can be judged"),
];

/// Refuses a recognised flavour that is not judged.
pub fn refuse_other_flavours(payload: &Object<'_>) -> Result<(), PaymentRefusal> {
    match OTHER_FLAVOURS.iter().find(|(member, _)| payload.has(member)) {
        Some((_, why)) => Err(PaymentRefusal::scheme(*why)),
        None => Ok(()),
    }
}

/// Reads `{signature, authorization{from, to, value, validAfter, validBefore, nonce}}`, these members and no others: Go sellers take `To`
/// for `to`, so a foreign member inside what is signed is never ignored.
pub fn parse(payload: &Object<'_>) -> Result<Eip3009, PaymentRefusal> {
    refuse_other_flavours(payload)?;
    let authorization = payload
        .object("authorization")
        .ok_or_else(|| PaymentRefusal::malformed("payload.authorization is missing"))?;
    let signature = payload
        .string("signature")
        .ok_or_else(|| PaymentRefusal::malformed("payload.signature is missing"))?;
    if !payload.has_only(&["signature", "authorization"]) {
        return Err(PaymentRefusal::malformed("payload has an unknown member"));
    }
    if !authorization.has_only(&["from", "to", "value", "validAfter", "validBefore", "nonce"]) {
        return Err(PaymentRefusal::malformed("payload.authorization has an unknown member"));
    }
    let transfer = TransferWithAuthorization {
        from: address(authorization, "from")?,
        to: address(authorization, "to")?,
        value: integer(authorization, "value")?,
        valid_after: integer(authorization, "validAfter")?,
        valid_before: integer(authorization, "validBefore")?,
        nonce: nonce(authorization)?,
    };
    let signature = Signature::parse(signature).map_err(|error| match error {
        SignatureError::ContractWallet => PaymentRefusal::scheme(error.to_string()),
        _ => PaymentRefusal::malformed(error.to_string()),
    })?;
    Ok(Eip3009 { transfer, signature })
}

fn text<'o>(object: &'o Object<'_>, name: &'static str) -> Result<&'o str, PaymentRefusal> {
    object
        .get(name)
        .and_then(Value::as_str)
        .ok_or_else(|| PaymentRefusal::malformed(format!("authorization.{name} is not a string")))
}

fn address(object: &Object<'_>, name: &'static str) -> Result<EvmAddress, PaymentRefusal> {
    EvmAddress::parse(text(object, name)?).map_err(|error| PaymentRefusal::malformed(format!("authorization.{name}: {error}")))
}

fn integer(object: &Object<'_>, name: &'static str) -> Result<U256, PaymentRefusal> {
    AtomicAmount::parse(text(object, name)?)
        .map(|amount| amount.0)
        .map_err(|error| PaymentRefusal::malformed(format!("authorization.{name}: {error}")))
}

fn nonce(object: &Object<'_>) -> Result<[u8; 32], PaymentRefusal> {
    let mut bytes = [0; 32];
    text(object, "nonce")?
        .strip_prefix("0x")
        .filter(|digits| hex::decode_to_slice(digits, &mut bytes).is_ok())
        .ok_or_else(|| PaymentRefusal::malformed("authorization.nonce is not 0x and 64 hex digits"))?;
    Ok(bytes)
}
