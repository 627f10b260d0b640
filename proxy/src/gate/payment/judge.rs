//! The whole local check of one payment: parse, agreement, request, time, lists, signature, limits, pins.

use tollgate_policy::Reason;

use super::challenges::ChallengeMemory;
use super::pins::Priced;
use super::signing;
use super::terms::{AllowedAsset, Terms};
use crate::verdict::Question;
use crate::x402::address::Address;
use crate::x402::carriers::Carried;
use crate::x402::challenge::Asked;
use crate::x402::claim::{AtomicAmount, Claim, Version};
use crate::x402::detect::Found;
use crate::x402::eip712::SigningDomains;
use crate::x402::extensions::Extension;
use crate::x402::network::Caip2;
use crate::x402::offer::Extra;
use crate::x402::payment::{Payment, Signed};
use crate::x402::refusal::PaymentRefusal;
use crate::x402::resource::PaymentRequest;
use crate::x402::scheme::exact_svm::LONGEST_LIFE;
use crate::x402::scheme::{Lifetime, Scheme, Signer};
use crate::x402::sign_in;
use crate::x402::signature::WalletSignature;

const SIGNS_IN: &str = "a wallet sign-in is a signature that leaves; it is not allowed";

/// Proves who signed. Production has one way, [`Recovery`]; tests with dummy signatures bring their own.
pub(crate) trait SignerCheck {
    fn signer(&self, signed: &dyn Signed, domains: &SigningDomains) -> Signer;
}

/// By the signature alone.
pub(crate) struct Recovery;

impl SignerCheck for Recovery {
    fn signer(&self, signed: &dyn Signed, domains: &SigningDomains) -> Signer {
        signed.signer(domains)
    }
}

/// Judges what [`crate::x402::detect::find`] found in the headers of a request. `now` is in Unix seconds. `Ok(None)`: there is no payment.
pub fn judge_header(found: Found<'_>, request: &PaymentRequest<'_>, terms: &Terms, now: u64) -> Result<Option<Claim>, PaymentRefusal> {
    judge_with(found, request, terms, None, now, &Recovery)
}

/// The same for whoever remembers challenges: what a v1 payment on Solana pays for stands only there.
pub fn judge_answer(
    found: Found<'_>,
    request: &PaymentRequest<'_>,
    terms: &Terms,
    challenges: &ChallengeMemory,
    now: u64,
) -> Result<Option<Claim>, PaymentRefusal> {
    judge_with(found, request, terms, Some(challenges), now, &Recovery)
}

/// Judges a payment that a call in a body carries; `request` carries what is called.
pub fn judge_carried(
    carried: &Carried,
    request: &PaymentRequest<'_>,
    terms: &Terms,
    challenges: &ChallengeMemory,
    now: u64,
) -> Result<Claim, PaymentRefusal> {
    judge_carried_with(carried, request, terms, Some(challenges), now, &Recovery)
}

pub(crate) fn judge_carried_with(
    carried: &Carried,
    request: &PaymentRequest<'_>,
    terms: &Terms,
    challenges: Option<&ChallengeMemory>,
    now: u64,
    proof: &impl SignerCheck,
) -> Result<Claim, PaymentRefusal> {
    let payment = Payment::decode_json(carried.payment.as_bytes(), terms.enabled())?;
    judge_payment(&payment, request, terms, challenges, now, proof).map_err(|refusal| refusal.knowing(payment.summary()))
}

pub(crate) fn judge_with(
    found: Found<'_>,
    request: &PaymentRequest<'_>,
    terms: &Terms,
    challenges: Option<&ChallengeMemory>,
    now: u64,
    proof: &impl SignerCheck,
) -> Result<Option<Claim>, PaymentRefusal> {
    match found {
        Found::Nothing => Ok(None),
        Found::Refused(refusal) => Err(refusal),
        Found::SignIn { value } if terms.enabled.extensions.contains(&Extension::SignInWithX) => {
            sign_in::check(value.as_bytes(), request).map(|()| None)
        }
        Found::SignIn { .. } => Err(PaymentRefusal::scheme(SIGNS_IN)),
        Found::Payment { version, value } => {
            let payment = Payment::decode(version, value.as_bytes(), &terms.enabled)?;
            judge_payment(&payment, request, terms, challenges, now, proof)
                .map(Some)
                .map_err(|refusal| refusal.knowing(payment.summary()))
        }
    }
}

fn judge_payment(
    payment: &Payment,
    request: &PaymentRequest<'_>,
    terms: &Terms,
    challenges: Option<&ChallengeMemory>,
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
    let signed = &*payment.signed;
    let wallet = match &terms.signer {
        Some(rule) => signing::payer(rule, payment)?,
        None => signed.payer(),
    };
    let payee = match payment.payee() {
        Some(payee) => payee,
        None => asked_payee(payment, request, challenges)?,
    };
    check_parties(terms, payment.network, payee)?;
    if terms.payers.as_ref().is_some_and(|payers| !payers.contains(&wallet)) {
        return Err(PaymentRefusal::new(Reason::PaymentPayerNotAllowed, "the payer is not allowed"));
    }
    let allowed = match &payment.signed.authorization().map(|authorization| authorization.signature) {
        Some(WalletSignature::Placeholder) => named_asset(payment, request, terms, challenges)?,
        _ => proved_asset(payment, terms, proof)?,
    };
    for allowance in &payment.extensions.allowances {
        allowance.check(signed, &allowed.asset, &allowed.domains)?;
    }
    check_price(terms, request, allowed, payee, signed.amount())?;
    Ok(Claim {
        version: payment.version,
        scheme: signed.scheme(),
        asset: allowed.asset.clone(),
        amount: signed.amount(),
        payee,
        payer: wallet,
        valid_after,
        valid_before,
        resource: request.resource(),
        payment_hash: payment.payment_hash,
        nonce_hash: signed.single_use().key(&allowed.asset, wallet),
        identifier_hash: payment.extensions.identifier,
        identifier_terms: payment.extensions.asked,
        request_hash: request.hash(),
        unsigned: terms
            .signer
            .as_ref()
            .map(|rule| signing::unsigned(rule, payment, allowed))
            .transpose()?,
    })
}

/// Whose token account a v1 transaction pays: one of those who asked for it.
fn asked_payee(payment: &Payment, request: &PaymentRequest<'_>, challenges: Option<&ChallengeMemory>) -> Result<Address, PaymentRefusal> {
    let offers = challenges
        .map(|challenges| challenges.waiting_for(request.hash(), payment.version))
        .unwrap_or_default();
    if offers.is_empty() {
        return Err(PaymentRefusal::new(
            Reason::PaymentNoChallenge,
            "whom a v1 payment on Solana pays is only in the 402 that it answers, and none for this request has been seen",
        ));
    }
    let signed = &payment.signed;
    offers
        .iter()
        .flat_map(|offers| offers.iter())
        .find(|offer| {
            offer.network == payment.network
                && Some(offer.asset) == signed.asset()
                && signed.pays(offer.pay_to)
                && signed.agrees_with(&offer.extra).is_ok()
        })
        .map(|offer| offer.pay_to)
        .ok_or_else(|| PaymentRefusal::mismatch("the payment is not what the seller's 402 asked for"))
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
    asked.scheme.require(&terms.enabled)?;
    if asked.scheme == Scheme::ExactSvm {
        recent_block(terms)?;
    }
    check_parties(terms, asked.network, asked.pay_to)?;
    let allowed = allowed_asset(terms, asked.network, asked.asset)?;
    check_domain(allowed, &asked.extra)?;
    check_price(terms, request, allowed, asked.pay_to, asked.amount)?;
    Ok(Question {
        scheme: asked.scheme,
        asset: allowed.asset.clone(),
        amount: asked.amount,
        payee: asked.pay_to,
        payer: None,
        resource: request.resource(),
    })
}

fn check_parties(terms: &Terms, network: Caip2, payee: Address) -> Result<(), PaymentRefusal> {
    if !terms.networks.contains(&network) {
        return Err(PaymentRefusal::new(Reason::PaymentNetworkNotAllowed, "the network is not allowed"));
    }
    if terms.payees.as_ref().is_some_and(|payees| !payees.contains(&payee)) {
        return Err(PaymentRefusal::new(Reason::PaymentPayeeNotAllowed, "the payee is not allowed"));
    }
    Ok(())
}

fn allowed_asset(terms: &Terms, network: Caip2, asset: Address) -> Result<&AllowedAsset, PaymentRefusal> {
    terms
        .assets
        .get(&(network, asset))
        .ok_or_else(|| PaymentRefusal::new(Reason::PaymentAssetNotAllowed, "the asset is not allowed"))
}

/// The domain that a seller states is the one that clients sign under.
fn check_domain(allowed: &AllowedAsset, stated: &Extra) -> Result<(), PaymentRefusal> {
    let same = |stated: Option<&String>, known: &str| stated.is_none_or(|stated| *stated == known);
    match allowed.asset.domain() {
        Some(known) if same(stated.domain_name.as_ref(), &known.name) && same(stated.domain_version.as_ref(), &known.version) => Ok(()),
        Some(_) => Err(PaymentRefusal::mismatch(
            "the seller states another EIP-712 domain than the asset has",
        )),
        // Nothing that is judged is signed under it.
        None => Ok(()),
    }
}

fn check_price(
    terms: &Terms,
    request: &PaymentRequest<'_>,
    allowed: &AllowedAsset,
    payee: Address,
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
    let priced = Priced {
        request,
        http: terms.http_resource,
        payee,
        amount,
        decimals: allowed.asset.decimals,
    };
    terms.pins.iter().try_for_each(|table| table.check(&priced))
}

/// The signature must be usable now, and for no longer than was offered and than we allow: a signature that outlives its verdict is a blank
/// cheque in the agent's memory.
fn window(payment: &Payment, terms: &Terms, now: u64) -> Result<(u64, u64), PaymentRefusal> {
    let Lifetime::Window { after, before } = payment.signed.lifetime() else {
        recent_block(terms)?;
        return Ok((0, now.saturating_add(LONGEST_LIFE)));
    };
    let expired = |detail: &'static str| PaymentRefusal::new(Reason::PaymentExpired, detail);
    let valid_before = u64::try_from(before).map_err(|_| expired(TOO_WIDE))?;
    let valid_after = u64::try_from(after).map_err(|_| expired("the signature is post-dated"))?;
    if valid_before <= now {
        return Err(expired("the signature has expired"));
    }
    if valid_after > now.saturating_add(terms.clock_skew) {
        return Err(expired("the signature is post-dated"));
    }
    let longest = terms.max_timeout.saturating_add(terms.clock_skew);
    let offered = payment.offer.as_ref().map_or(longest, |offer| offer.max_timeout);
    if offered > longest {
        return Err(expired("the seller wants a signature that stays valid for longer than allowed"));
    }
    if valid_before - now > longest.min(offered.saturating_add(terms.clock_skew)) {
        return Err(expired(TOO_WIDE));
    }
    Ok((valid_after, valid_before))
}

const TOO_WIDE: &str = "the signature stays valid for longer than allowed";

/// A transaction lives as long as the chain remembers its block, whatever anybody asked for. How old the block is, only the chain knows.
fn recent_block(terms: &Terms) -> Result<(), PaymentRefusal> {
    if LONGEST_LIFE > terms.max_timeout.saturating_add(terms.clock_skew) {
        return Err(PaymentRefusal::new(Reason::PaymentExpired, TOO_WIDE));
    }
    Ok(())
}

/// The asset that the payer's signature moves. Where the payment names it, the signature has to agree; v1 on EVM chains names none, so the
/// allowed assets of the network are tried.
fn proved_asset<'t>(payment: &Payment, terms: &'t Terms, proof: &impl SignerCheck) -> Result<&'t AllowedAsset, PaymentRefusal> {
    let signed = &*payment.signed;
    let Some(asset) = payment.asset() else {
        return terms
            .assets
            .values()
            .filter(|allowed| allowed.asset.network == payment.network && signed.fits(&allowed.asset).is_ok())
            .find(|allowed| proof.signer(signed, &allowed.domains) == Signer::Payer)
            .ok_or_else(|| {
                PaymentRefusal::new(
                    Reason::PaymentAssetNotAllowed,
                    "the signature is not the payer's for any allowed asset of this network",
                )
            });
    };
    let allowed = allowed_asset(terms, payment.network, asset)?;
    if let Some(offer) = &payment.offer {
        check_domain(allowed, &offer.extra)?;
    }
    signed.fits(&allowed.asset)?;
    match proof.signer(signed, &allowed.domains) {
        // Contract wallets are switched on: otherwise their signatures are not even read.
        Signer::Payer | Signer::Contract => Ok(allowed),
        Signer::Other => Err(PaymentRefusal::mismatch(
            "the signature is not the payer's for this asset and these values",
        )),
    }
}

/// The asset that an unsigned payment is to move: the one that it names. v1 names none, so it is the one that the seller's 402 asks for, or the
/// only one that is allowed there.
fn named_asset<'t>(
    payment: &Payment,
    request: &PaymentRequest<'_>,
    terms: &'t Terms,
    challenges: Option<&ChallengeMemory>,
) -> Result<&'t AllowedAsset, PaymentRefusal> {
    let signed = &*payment.signed;
    let allowed = if let Some(asset) = payment.asset() {
        let allowed = allowed_asset(terms, payment.network, asset)?;
        if let Some(offer) = &payment.offer {
            check_domain(allowed, &offer.extra)?;
        }
        allowed
    } else {
        let offers = challenges
            .map(|challenges| challenges.waiting_for(request.hash(), payment.version))
            .unwrap_or_default();
        let asked = |asset: Address| {
            let mut offers = offers.iter().flat_map(|offers| offers.iter());
            offers.any(|offer| offer.network == payment.network && offer.asset == asset && signed.pays(offer.pay_to))
        };
        let of_network = || terms.assets.values().filter(|allowed| allowed.asset.network == payment.network);
        let mut candidates = of_network().filter(|allowed| offers.is_empty() || asked(allowed.asset.address));
        match (candidates.next(), candidates.next()) {
            (Some(only), None) => only,
            (None, _) => {
                return Err(PaymentRefusal::new(
                    Reason::PaymentAssetNotAllowed,
                    "no allowed asset of this network is what the seller's 402 asks for",
                ));
            }
            (Some(_), Some(_)) => {
                return Err(PaymentRefusal::new(
                    Reason::PaymentNoChallenge,
                    "which asset an unsigned v1 payment is for is only in the 402 that it answers",
                ));
            }
        }
    };
    signed.fits(&allowed.asset)?;
    Ok(allowed)
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
