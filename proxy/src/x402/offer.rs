//! The `accepted` object of a v2 payment: the seller's offer as the client repeats it. Unsigned, so it proves nothing; but the seller matches
//! it against its own offers, so it has to agree with what was signed.

use super::address::Address;
use super::claim::{AtomicAmount, EvmAddress};
use super::json::{Object, Value};
use super::network::Caip2;
use super::refusal::PaymentRefusal;
use super::scheme::Scheme;
use super::solana::SolanaAddress;

/// A well-formed offer of a scheme that can be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The scheme that a payment for it is of.
    pub scheme: Scheme,
    /// The chain.
    pub network: Caip2,
    /// The token.
    pub asset: Address,
    /// The price, or for `upto` the most that it may become.
    pub amount: AtomicAmount,
    /// Who is to be paid.
    pub pay_to: Address,
    /// How long the signature may live, in seconds; not 0.
    pub max_timeout: u64,
    /// What the scheme needs besides.
    pub extra: Extra,
}

/// What an offer may say that only its scheme knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extra {
    /// The token's EIP-712 domain name.
    pub domain_name: Option<String>,
    /// The token's EIP-712 domain version.
    pub domain_version: Option<String>,
    /// `upto`: who may settle.
    pub facilitator: Option<EvmAddress>,
    /// Solana: who pays the fee.
    pub fee_payer: Option<SolanaAddress>,
    /// Solana: the text by which the seller knows its money again.
    pub memo: Option<String>,
}

/// Reads an offer whose scheme is known.
pub fn parse(accepted: &Object<'_>, scheme: Scheme) -> Result<Offer, PaymentRefusal> {
    let extra = read_extra(accepted.get("extra").unwrap_or(&Value::Null), scheme)?;
    let text = |name: &'static str| {
        accepted
            .string(name)
            .ok_or_else(|| PaymentRefusal::malformed(format!("accepted.{name} is not a string")))
    };
    let network = Caip2::parse(text("network")?).map_err(PaymentRefusal::from)?;
    scheme.require_network(network)?;
    let address = |name: &'static str| {
        Address::parse_on(network, text(name)?).map_err(|error| PaymentRefusal::malformed(format!("accepted.{name}: {error}")))
    };
    let offer = Offer {
        scheme,
        network,
        asset: address("asset")?,
        amount: AtomicAmount::parse(text("amount")?).map_err(|e| PaymentRefusal::malformed(format!("accepted.amount: {e}")))?,
        pay_to: address("payTo")?,
        max_timeout: match accepted.get("maxTimeoutSeconds") {
            Some(Value::Integer(seconds)) if *seconds > 0 => *seconds,
            _ => return Err(PaymentRefusal::malformed("accepted.maxTimeoutSeconds is not a positive integer")),
        },
        extra,
    };
    if !accepted.has_only(&["scheme", "network", "asset", "amount", "payTo", "maxTimeoutSeconds", "extra"]) {
        return Err(PaymentRefusal::malformed("accepted has an unknown member"));
    }
    Ok(offer)
}

/// `extra` may change how the money moves, so only what is known to be harmless may be in it.
fn read_extra(extra: &Value<'_>, scheme: Scheme) -> Result<Extra, PaymentRefusal> {
    let none = Object::default();
    let members = match extra {
        Value::Null => &none,
        Value::Object(members) => members,
        _ => return Err(PaymentRefusal::malformed("accepted.extra is not an object")),
    };
    let mut extra = Extra::default();
    for (name, value) in members.members() {
        let text = value
            .as_str()
            .ok_or_else(|| PaymentRefusal::malformed("accepted.extra has a member that is not a string"));
        match (name, scheme) {
            ("paymentFlow", _) if text.clone()? == "authorization" => {}
            ("paymentFlow", _) => return Err(PaymentRefusal::scheme("only the payment flow `authorization` is supported")),
            ("feePayer", Scheme::ExactSvm) => {
                let fee_payer = SolanaAddress::parse(text?);
                extra.fee_payer = Some(fee_payer.map_err(|error| PaymentRefusal::malformed(format!("accepted.extra.feePayer: {error}")))?);
            }
            ("memo", Scheme::ExactSvm) => extra.memo = Some(text?.to_owned()),
            // Hints for whoever builds the transaction.
            ("recentBlockhash" | "lastValidBlockHeight", Scheme::ExactSvm) => drop(text?),
            ("name", Scheme::Exact | Scheme::ExactPermit2 | Scheme::Upto) => extra.domain_name = Some(text?.to_owned()),
            ("version", Scheme::Exact | Scheme::ExactPermit2 | Scheme::Upto) => extra.domain_version = Some(text?.to_owned()),
            ("facilitatorAddress", Scheme::Upto) => {
                let facilitator = EvmAddress::parse(text?);
                extra.facilitator =
                    Some(facilitator.map_err(|error| PaymentRefusal::malformed(format!("accepted.extra.facilitatorAddress: {error}")))?);
            }
            ("assetTransferMethod", Scheme::Exact) if text.clone()? == "eip3009" => {}
            ("assetTransferMethod", Scheme::ExactPermit2 | Scheme::Upto) if text.clone()? == "permit2" => {}
            ("assetTransferMethod", _) => {
                return Err(PaymentRefusal::scheme(
                    "the payment is not of the transfer method that accepted.extra states",
                ));
            }
            _ => {
                return Err(PaymentRefusal::scheme(
                    "accepted.extra has a member that is not known to be harmless",
                ));
            }
        }
    }
    let method = members.get("assetTransferMethod");
    if scheme == Scheme::ExactPermit2 && method.is_none() {
        return Err(PaymentRefusal::scheme(
            "accepted.extra does not state the transfer method `permit2`",
        ));
    }
    Ok(extra)
}
