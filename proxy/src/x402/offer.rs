//! The `accepted` object of a v2 payment: the seller's offer as the client repeats it. Unsigned, so it proves nothing; but the seller matches
//! it against its own offers, so it has to agree with what was signed.

use super::claim::{AtomicAmount, EvmAddress};
use super::json::{Object, Value};
use super::network::Caip2;
use super::refusal::{PaymentRefusal, SchemeName};

/// A well-formed offer of scheme `exact` over EIP-3009.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The chain.
    pub network: Caip2,
    /// The token contract.
    pub asset: EvmAddress,
    /// The price.
    pub amount: AtomicAmount,
    /// Who is to be paid.
    pub pay_to: EvmAddress,
    /// How long the signature may live, in seconds; not 0.
    pub max_timeout: u64,
    /// The EIP-712 domain name that the seller states.
    pub domain_name: Option<String>,
    /// The EIP-712 domain version that the seller states.
    pub domain_version: Option<String>,
}

/// Reads the scheme alone: it decides which parser the payload is for.
pub fn scheme_of(text: Option<&Value<'_>>) -> Result<SchemeName, PaymentRefusal> {
    let text = text
        .and_then(Value::as_str)
        .ok_or_else(|| PaymentRefusal::malformed("the scheme is missing"))?;
    match SchemeName::recognise(text) {
        SchemeName::Exact => Ok(SchemeName::Exact),
        other => {
            let mut refusal = PaymentRefusal::scheme(match other {
                SchemeName::Other => "the scheme is unknown",
                _ => "only the scheme `exact` is supported",
            });
            refusal.summary.scheme = Some(other);
            Err(refusal)
        }
    }
}

/// Reads an offer whose scheme is known to be `exact`.
pub fn parse(accepted: &Object<'_>) -> Result<Offer, PaymentRefusal> {
    let mut offer = Offer {
        network: Caip2 { chain_id: 0 },
        asset: EvmAddress([0; 20]),
        amount: AtomicAmount::default(),
        pay_to: EvmAddress([0; 20]),
        max_timeout: 0,
        domain_name: None,
        domain_version: None,
    };
    if let Some(extra) = accepted.get("extra") {
        read_extra(extra, &mut offer)?;
    }
    let text = |name: &'static str| {
        accepted
            .string(name)
            .ok_or_else(|| PaymentRefusal::malformed(format!("accepted.{name} is not a string")))
    };
    offer.network = Caip2::parse(text("network")?).map_err(PaymentRefusal::from)?;
    offer.asset = EvmAddress::parse(text("asset")?).map_err(|e| PaymentRefusal::malformed(format!("accepted.asset: {e}")))?;
    offer.amount = AtomicAmount::parse(text("amount")?).map_err(|e| PaymentRefusal::malformed(format!("accepted.amount: {e}")))?;
    offer.pay_to = EvmAddress::parse(text("payTo")?).map_err(|e| PaymentRefusal::malformed(format!("accepted.payTo: {e}")))?;
    offer.max_timeout = match accepted.get("maxTimeoutSeconds") {
        Some(Value::Integer(seconds)) if *seconds > 0 => *seconds,
        _ => return Err(PaymentRefusal::malformed("accepted.maxTimeoutSeconds is not a positive integer")),
    };
    if !accepted.has_only(&["scheme", "network", "asset", "amount", "payTo", "maxTimeoutSeconds", "extra"]) {
        return Err(PaymentRefusal::malformed("accepted has an unknown member"));
    }
    Ok(offer)
}

/// `extra` may change how the money moves, so only what is known to be harmless may be in it.
fn read_extra(extra: &Value<'_>, offer: &mut Offer) -> Result<(), PaymentRefusal> {
    let extra = match extra {
        Value::Null => return Ok(()),
        Value::Object(extra) => extra,
        _ => return Err(PaymentRefusal::malformed("accepted.extra is not an object")),
    };
    for (name, value) in extra.members() {
        let text = || {
            value
                .as_str()
                .ok_or_else(|| PaymentRefusal::malformed("accepted.extra has a member that is not a string"))
        };
        match name {
            "name" => offer.domain_name = Some(text()?.to_owned()),
            "version" => offer.domain_version = Some(text()?.to_owned()),
            "assetTransferMethod" if text()? == "eip3009" => {}
            "assetTransferMethod" => return Err(PaymentRefusal::scheme("only the transfer method eip3009 is supported")),
            "paymentFlow" if text()? == "authorization" => {}
            "paymentFlow" => return Err(PaymentRefusal::scheme("only the payment flow `authorization` is supported")),
            _ => {
                return Err(PaymentRefusal::scheme(
                    "accepted.extra has a member that is not known to be harmless",
                ));
            }
        }
    }
    Ok(())
}
