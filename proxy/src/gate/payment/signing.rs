//! Payments that are signed here: what their agent may send instead of a signature, who pays, and what there is to sign.
//!
//! The wallet's key is not in the sandbox, so a signature of the wallet that comes from there says that the key has got out.

use std::collections::BTreeSet;

use tollgate_policy::Reason;

use super::config::PaymentsConfig;
use super::layer::push;
use super::terms::{AllowedAsset, TermsError};
use crate::signer::config::{Agent, SignerRule};
use crate::x402::address::Address;
use crate::x402::payment::Payment;
use crate::x402::refusal::PaymentRefusal;
use crate::x402::scheme::Scheme;
use crate::x402::scheme::exact_eip3009::Eip3009;
use crate::x402::signature::WalletSignature;
use crate::x402::unsigned::Unsigned;

/// The operator's signer, held against the rest of the section.
pub(super) fn rule(operator: &PaymentsConfig, errors: &mut Vec<TermsError>) -> Option<SignerRule> {
    let config = operator.signer.as_ref()?;
    let rule = match config.rule() {
        Ok(rule) => rule,
        Err(mistakes) => {
            for (member, message) in mistakes {
                let slash = if member.is_empty() { "" } else { "/" };
                push(errors, format!("/signer{slash}{member}"), message);
            }
            return None;
        }
    };
    let only: BTreeSet<&str> = operator.schemes.iter().flatten().map(String::as_str).collect();
    if !only.is_empty() && only != BTreeSet::from([Scheme::Exact.as_str()]) {
        push(
            errors,
            "/schemes",
            "with a `signer` there is only `exact`: nothing else can be signed here, and nobody else is to sign",
        );
    }
    if operator.allow_smart_wallets == Some(true) {
        push(
            errors,
            "/allow_smart_wallets",
            "has no effect with a `signer`, whose wallet has a key",
        );
    }
    let wallet = Address::from(rule.wallet);
    let pays = |text: &String| Address::parse(text).is_ok_and(|payer| payer == wallet);
    if !operator.payers.is_empty() && !operator.payers.iter().any(pays) {
        push(errors, "/signer/wallet", "is not among `payers`, so nothing could be paid");
    }
    Some(rule)
}

/// Who pays on the wire: always the wallet.
pub(super) fn payer(rule: &SignerRule, payment: &Payment) -> Result<Address, PaymentRefusal> {
    let authorization = authorization(payment)?;
    let by_wallet = authorization.transfer.from == rule.wallet;
    match (rule.agent, authorization.signature) {
        (Agent::Placeholder, _) if !by_wallet => Err(PaymentRefusal::new(
            Reason::PaymentPayerNotAllowed,
            "payments are signed here, and by another wallet than the payer",
        )),
        (Agent::ThrowawayKey, _) if by_wallet => Err(signed_in_sandbox(
            "the payer is the wallet, whose key the sandbox does not have; sign with a throwaway key",
        )),
        (Agent::Placeholder, WalletSignature::Placeholder) | (Agent::ThrowawayKey, WalletSignature::Key(_)) => Ok(rule.wallet.into()),
        (Agent::Placeholder, _) => Err(signed_in_sandbox(
            "payments of this wallet are signed here; the sandbox sends the placeholder and no signature",
        )),
        (Agent::ThrowawayKey, _) => Err(PaymentRefusal::scheme("a throwaway key signs by itself")),
    }
}

/// What the wallet has to sign for the asset.
pub(super) fn unsigned(rule: &SignerRule, payment: &Payment, allowed: &AllowedAsset) -> Result<Unsigned, PaymentRefusal> {
    let domain = allowed.domains.token.ok_or_else(cannot)?;
    Ok(Unsigned::new(&authorization(payment)?.transfer, rule.wallet, &domain))
}

fn authorization(payment: &Payment) -> Result<&Eip3009, PaymentRefusal> {
    payment.signed.authorization().ok_or_else(cannot)
}

fn cannot() -> PaymentRefusal {
    PaymentRefusal::scheme("payments are signed here, and only `exact` over EIP-3009 can be")
}

fn signed_in_sandbox(detail: &'static str) -> PaymentRefusal {
    PaymentRefusal::new(Reason::PaymentSignedInSandbox, detail)
}

#[cfg(test)]
mod tests;
