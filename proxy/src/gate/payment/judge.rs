//! The whole local check of one payment: parse, agreement, request, time, lists, signature, limits, pins.

use sha2::{Digest, Sha256};
use tollgate_policy::Reason;

use super::pins;
use super::terms::{AllowedAsset, Terms};
use crate::verdict::Question;
use crate::x402::carriers::Carried;
use crate::x402::challenge::Asked;
use crate::x402::claim::{AtomicAmount, Claim, EvmAddress, NonceHash, Version};
use crate::x402::detect::Found;
use crate::x402::eip712::DomainSeparator;
use crate::x402::network::Caip2;
use crate::x402::payment::{Payment, Signed};
use crate::x402::refusal::PaymentRefusal;
use crate::x402::resource::PaymentRequest;
use crate::x402::signature::Signature;

/// Proves who signed. Production has one way, [`Recovery`]; tests with dummy signatures bring their own.
pub(crate) trait SignerCheck {
    fn is_signed_by(&self, payer: EvmAddress, signature: &Signature, digest: &[u8; 32]) -> bool;
}

/// ECDSA public key recovery.
pub(crate) struct Recovery;

impl SignerCheck for Recovery {
    fn is_signed_by(&self, payer: EvmAddress, signature: &Signature, digest: &[u8; 32]) -> bool {
        signature.recover(digest) == Some(payer)
    }
}

/// Judges what [`crate::x402::detect::find`] found in the headers of a request. `now` is in Unix seconds. `Ok(None)`: there is no payment.
pub fn judge_header(found: Found<'_>, request: &PaymentRequest<'_>, terms: &Terms, now: u64) -> Result<Option<Claim>, PaymentRefusal> {
    judge_with(found, request, terms, now, &Recovery)
}

/// Judges a payment that a call in a body carries; `request` carries what is called.
pub fn judge_carried(carried: &Carried, request: &PaymentRequest<'_>, terms: &Terms, now: u64) -> Result<Claim, PaymentRefusal> {
    judge_carried_with(carried, request, terms, now, &Recovery)
}

pub(crate) fn judge_carried_with(
    carried: &Carried,
    request: &PaymentRequest<'_>,
    terms: &Terms,
    now: u64,
    proof: &impl SignerCheck,
) -> Result<Claim, PaymentRefusal> {
    let payment = Payment::decode_json(carried.payment.as_bytes())?;
    judge_payment(&payment, request, terms, now, proof).map_err(|refusal| refusal.knowing(payment.summary()))
}

pub(crate) fn judge_with(
    found: Found<'_>,
    request: &PaymentRequest<'_>,
    terms: &Terms,
    now: u64,
    proof: &impl SignerCheck,
) -> Result<Option<Claim>, PaymentRefusal> {
    match found {
        Found::Nothing => Ok(None),
        Found::Refused(refusal) => Err(refusal),
        Found::Payment { version, value } => {
            let payment = Payment::decode(version, value.as_bytes())?;
            judge_payment(&payment, request, terms, now, proof)
                .map(Some)
                .map_err(|refusal| refusal.knowing(payment.summary()))
        }
    }
}

fn judge_payment(
    payment: &Payment,
    request: &PaymentRequest<'_>,
    terms: &Terms,
    now: u64,
    proof: &impl SignerCheck,
) -> Result<Claim, PaymentRefusal> {
    if let Some(resource) = &payment.resource
        && !resource.names(request, terms.http_resource)
    {
        return Err(PaymentRefusal::mismatch(
            "the payment's resource.url is not what the request asks for",
        ));
    }
    let (valid_after, valid_before) = window(payment, terms, now)?;
    let signed = &payment.signed;
    check_parties(terms, payment.network, signed.payee())?;
    if terms.payers.as_ref().is_some_and(|payers| !payers.contains(&signed.payer())) {
        return Err(PaymentRefusal::new(Reason::PaymentPayerNotAllowed, "the payer is not allowed"));
    }
    let allowed = proved_asset(payment, terms, proof)?;
    check_price(terms, request, allowed, signed.payee(), signed.amount())?;
    Ok(Claim {
        version: payment.version,
        scheme: signed.scheme(),
        asset: allowed.asset.clone(),
        amount: signed.amount(),
        payee: signed.payee(),
        payer: signed.payer(),
        valid_after,
        valid_before,
        resource: request.resource(),
        payment_hash: payment.payment_hash,
        nonce_hash: nonce_hash(payment, allowed),
        identifier_hash: payment.identifier,
        request_hash: request.hash(),
    })
}

/// Judges an offer as a payment for it would be: what a seller asks for, before anybody signs. The question is what to put to the verdict
/// service.
pub fn judge_offer(asked: &Asked, request: &PaymentRequest<'_>, terms: &Terms) -> Result<Question, PaymentRefusal> {
    if !asked.resource.names(request, terms.http_resource) {
        return Err(PaymentRefusal::mismatch(
            "the offer is for something else than the request asks for",
        ));
    }
    if asked.max_timeout > terms.max_timeout.saturating_add(terms.clock_skew) {
        return Err(PaymentRefusal::new(
            Reason::PaymentExpired,
            "the seller wants a signature that stays valid for longer than allowed",
        ));
    }
    check_parties(terms, asked.network, asked.pay_to)?;
    let allowed = terms
        .assets
        .get(&(asked.network, asked.asset))
        .ok_or_else(|| PaymentRefusal::new(Reason::PaymentAssetNotAllowed, "the asset is not allowed"))?;
    check_domain(allowed, asked.domain_name.as_deref(), asked.domain_version.as_deref())?;
    check_price(terms, request, allowed, asked.pay_to, asked.amount)?;
    Ok(Question {
        asset: allowed.asset.clone(),
        amount: asked.amount,
        payee: asked.pay_to,
        payer: None,
        resource: request.resource(),
    })
}

fn check_parties(terms: &Terms, network: Caip2, payee: EvmAddress) -> Result<(), PaymentRefusal> {
    if !terms.networks.contains(&network) {
        return Err(PaymentRefusal::new(Reason::PaymentNetworkNotAllowed, "the network is not allowed"));
    }
    if terms.payees.as_ref().is_some_and(|payees| !payees.contains(&payee)) {
        return Err(PaymentRefusal::new(Reason::PaymentPayeeNotAllowed, "the payee is not allowed"));
    }
    Ok(())
}

/// The domain that a seller states is the one that clients sign under.
fn check_domain(allowed: &AllowedAsset, name: Option<&str>, version: Option<&str>) -> Result<(), PaymentRefusal> {
    let same = |stated: Option<&str>, known: &str| stated.is_none_or(|stated| stated == known);
    if same(name, &allowed.asset.domain_name) && same(version, &allowed.asset.domain_version) {
        return Ok(());
    }
    Err(PaymentRefusal::mismatch(
        "the seller states another EIP-712 domain than the asset has",
    ))
}

fn check_price(
    terms: &Terms,
    request: &PaymentRequest<'_>,
    allowed: &AllowedAsset,
    payee: EvmAddress,
    amount: AtomicAmount,
) -> Result<(), PaymentRefusal> {
    if amount > allowed.max_amount {
        return Err(PaymentRefusal::new(
            Reason::PaymentOverLimit,
            format!(
                "the amount is over the limit of {} per payment",
                allowed.max_amount.to_decimal(allowed.asset.decimals)
            ),
        ));
    }
    pins::check(&terms.pins, request, terms.http_resource, payee, amount, allowed.asset.decimals)
}

/// The signature must be usable now, and for no longer than was offered and than we allow: a signature that outlives its verdict is a blank
/// cheque in the agent's memory.
fn window(payment: &Payment, terms: &Terms, now: u64) -> Result<(u64, u64), PaymentRefusal> {
    let expired = |detail: &'static str| PaymentRefusal::new(Reason::PaymentExpired, detail);
    let too_wide = "the signature stays valid for longer than allowed";
    let valid_before = u64::try_from(payment.signed.valid_before()).map_err(|_| expired(too_wide))?;
    let valid_after = u64::try_from(payment.signed.valid_after()).map_err(|_| expired("the signature is post-dated"))?;
    if valid_before <= now {
        return Err(expired("the signature has expired"));
    }
    if valid_after > now.saturating_add(terms.clock_skew) {
        return Err(expired("the signature is post-dated"));
    }
    let offered = payment.offer.as_ref().map_or(u64::MAX, |offer| offer.max_timeout);
    let longest = offered.min(terms.max_timeout).saturating_add(terms.clock_skew);
    if valid_before - now > longest {
        return Err(expired(too_wide));
    }
    Ok((valid_after, valid_before))
}

/// The asset under whose EIP-712 domain the signature is the payer's. In v2 the offer names it and the signature has to agree; v1 names
/// none, so the allowed assets of the network are tried.
fn proved_asset<'t>(payment: &Payment, terms: &'t Terms, proof: &impl SignerCheck) -> Result<&'t AllowedAsset, PaymentRefusal> {
    let asset_not_allowed = |detail: &'static str| PaymentRefusal::new(Reason::PaymentAssetNotAllowed, detail);
    let signed = &payment.signed;
    let proves = |domain: &DomainSeparator| proof.is_signed_by(signed.payer(), signed.signature(), &signed.digest(domain));
    let Some(offer) = &payment.offer else {
        return terms
            .assets
            .range((payment.network, EvmAddress([0; 20]))..=(payment.network, EvmAddress([255; 20])))
            .map(|(_, allowed)| allowed)
            .find(|allowed| proves(&allowed.domain))
            .ok_or_else(|| asset_not_allowed("the signature is not the payer's for any allowed asset of this network"));
    };
    let allowed = terms
        .assets
        .get(&(payment.network, offer.asset))
        .ok_or_else(|| asset_not_allowed("the asset is not allowed"))?;
    check_domain(allowed, offer.domain_name.as_deref(), offer.domain_version.as_deref())?;
    if proves(&allowed.domain) {
        Ok(allowed)
    } else {
        Err(PaymentRefusal::mismatch(
            "the signature is not the payer's for this asset and these values",
        ))
    }
}

/// A nonce is single-use per payer and token contract.
fn nonce_hash(payment: &Payment, allowed: &AllowedAsset) -> NonceHash {
    let mut hash = Sha256::new();
    hash.update(b"tollgate nonce 1");
    hash.update(allowed.asset.network.chain_id.to_be_bytes());
    hash.update(allowed.asset.address.0);
    hash.update(payment.signed.payer().0);
    hash.update(payment.signed.nonce());
    NonceHash(hash.finalize().into())
}

/// Which header a claim came from, for messages.
pub const fn header_name(version: Version) -> &'static str {
    match version {
        Version::V1 => "X-PAYMENT",
        Version::V2 => "PAYMENT-SIGNATURE",
    }
}

#[cfg(test)]
mod tests;
