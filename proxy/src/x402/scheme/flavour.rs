//! Which scheme a payload or an offer is of. On the wire `exact` stands for several; they are told apart by what the payload has in it, or
//! by the offer's network and transfer method.

use super::Scheme;
use crate::x402::json::{Object, Value};
use crate::x402::network::Caip2;
use crate::x402::refusal::{PaymentRefusal, SchemeName};

/// Members that mark a payload as a flavour we know and do not judge.
const OTHER_FLAVOURS: &[(&str, &str)] = &[
    ("delegationManager", "ERC-7710 delegations name neither amount nor payee"),
    ("permissionContext", "ERC-7710 delegations name neither amount nor payee"),
    ("delegator", "ERC-7710 delegations name neither amount nor payee"),
    ("channelConfig", "batch settlement moves a deposit larger than the price"),
    ("voucher", "batch settlement moves a deposit larger than the price"),
    ("deposit", "batch settlement moves a deposit larger than the price"),
    ("channelId", "channel payments are not supported"),
    ("salt", "auth-capture pays a collector and hides the payee in a hash"),
    ("saltNonce", "auth-capture pays a collector and hides the payee in a hash"),
    ("signedTransaction", "this kind of transaction cannot be judged"),
    ("signedTxBlob", "this kind of transaction cannot be judged"),
    ("signedDelegateAction", "this kind of transaction cannot be judged"),
    ("settlementBoc", "this kind of transaction cannot be judged"),
    ("openTransaction", "this kind of transaction cannot be judged"),
    ("paymentGroup", "this kind of transaction cannot be judged"),
    ("block", "this kind of transaction cannot be judged"),
    ("outsideExecution", "this flavour of payment cannot be judged"),
    ("action", "this flavour of payment cannot be judged"),
    ("publicKey", "this flavour of payment cannot be judged"),
    ("token", "this flavour of payment cannot be judged"),
    ("preimage", "a proof of an earlier payment cannot be judged"),
    ("txHash", "a proof of an earlier payment cannot be judged"),
    ("type", "this flavour of payment cannot be judged"),
];

/// The wire's word for a scheme that can be judged.
fn stated(text: Option<&Value<'_>>) -> Result<SchemeName, PaymentRefusal> {
    let text = text
        .and_then(Value::as_str)
        .ok_or_else(|| PaymentRefusal::malformed("the scheme is missing"))?;
    let name = SchemeName::recognise(text);
    let why = match name {
        SchemeName::Exact | SchemeName::Upto => return Ok(name),
        SchemeName::Other => "the scheme is unknown",
        _ => "only the schemes `exact` and `upto` can be judged",
    };
    let mut refusal = PaymentRefusal::scheme(why);
    refusal.summary.scheme = Some(name);
    Err(refusal)
}

/// The scheme of a payment that states this one and has this payload. Two flavours in one payload are refused: a seller may take the one
/// that we did not look at.
pub(in crate::x402) fn of_payload(scheme: Option<&Value<'_>>, payload: Option<&Object<'_>>) -> Result<Scheme, PaymentRefusal> {
    let name = stated(scheme)?;
    let refuse = |mut refusal: PaymentRefusal| {
        refusal.summary.scheme = Some(name);
        Err(refusal)
    };
    let Some(payload) = payload else {
        return refuse(PaymentRefusal::malformed("payload is not an object"));
    };
    if let Some((_, why)) = OTHER_FLAVOURS.iter().find(|(member, _)| payload.has(member)) {
        return refuse(PaymentRefusal::scheme(*why));
    }
    let has = |member| payload.has(member);
    match (name, has("authorization"), has("permit2Authorization"), has("transaction")) {
        (SchemeName::Exact, true, false, false) => Ok(Scheme::Exact),
        (SchemeName::Exact, false, true, false) => Ok(Scheme::ExactPermit2),
        (SchemeName::Exact, false, false, true) => Ok(Scheme::ExactSvm),
        (SchemeName::Upto, false, true, false) => Ok(Scheme::Upto),
        (_, false, false, false) => refuse(PaymentRefusal::malformed("payload has neither authorization nor transaction")),
        (SchemeName::Upto, ..) => refuse(PaymentRefusal::scheme("`upto` is judged over Permit2 only")),
        _ => refuse(PaymentRefusal::scheme("the payload is of more than one flavour")),
    }
}

/// The scheme that a payment for an offer with these words would be of.
pub(in crate::x402) fn of_offer(offer: &Object<'_>, network: Caip2) -> Result<Scheme, PaymentRefusal> {
    let name = stated(offer.get("scheme"))?;
    let method = offer.object("extra").and_then(|extra| extra.get("assetTransferMethod"));
    let permit2 = method.and_then(Value::as_str) == Some("permit2");
    match (name, network) {
        (SchemeName::Upto, Caip2::Eip155 { .. }) => Ok(Scheme::Upto),
        (SchemeName::Exact, Caip2::Eip155 { .. }) if permit2 => Ok(Scheme::ExactPermit2),
        (SchemeName::Exact, Caip2::Eip155 { .. }) => Ok(Scheme::Exact),
        (SchemeName::Exact, Caip2::Solana(_)) => Ok(Scheme::ExactSvm),
        _ => Err(PaymentRefusal::scheme("`upto` is judged on EVM chains only")),
    }
}
