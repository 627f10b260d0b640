//! Exact prices: pinned method, URL, payee and amount.

use tollgate_policy::Reason;

use super::config::PinConfig;
use crate::x402::address::{Address, AddressError};
use crate::x402::amount::{AmountError, DecimalAmount};
use crate::x402::claim::AtomicAmount;
use crate::x402::refusal::PaymentRefusal;
use crate::x402::resource::{HttpResource, PaymentRequest, ResourceUrl};

/// A compiled pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    method: String,
    url: ResourceUrl,
    pay_to: Address,
    amount: DecimalAmount,
}

/// Which member of a pin is wrong, and why.
pub(super) type PinError = (&'static str, String);

impl Pin {
    pub(super) fn parse(config: &PinConfig) -> Result<Self, PinError> {
        if config.method.is_empty() || !config.method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') {
            return Err(("method", "expected an HTTP method in capitals, such as `GET`".to_owned()));
        }
        let url = ResourceUrl::parse(&config.url).ok_or_else(|| ("url", "expected an http or https URL".to_owned()))?;
        let pay_to = Address::parse(&config.pay_to).map_err(|error: AddressError| ("payTo", error.to_string()))?;
        let amount = DecimalAmount::parse(&config.amount).map_err(|error: AmountError| ("amount", error.to_string()))?;
        Ok(Pin {
            method: config.method.clone(),
            url,
            pay_to,
            amount,
        })
    }
}

/// `GET https://seller.example/paid for 0.01 to 0x…`.
impl std::fmt::Display for Pin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Pin {
            method,
            url,
            pay_to,
            amount,
        } = self;
        write!(f, "{method} {url:?} for {amount} to {pay_to}")
    }
}

/// Checks a payment against the pins. If none names the URL, it passes here; otherwise one has to match whole. A lower price than pinned is
/// refused like a higher one: nobody honest asks for it, and it would make the pin a mere limit.
pub(super) fn check(
    pins: &[Pin],
    request: &PaymentRequest<'_>,
    http: HttpResource,
    payee: Address,
    amount: AtomicAmount,
    decimals: u8,
) -> Result<(), PaymentRefusal> {
    let mut refusal = None;
    for pin in pins.iter().filter(|pin| pin.url.names(request, http)) {
        let why = if pin.method != request.method {
            PaymentRefusal::mismatch("the URL is pinned for another method")
        } else if pin.pay_to != payee {
            PaymentRefusal::new(Reason::PaymentPayeeNotAllowed, "the payee is not the one pinned for this URL")
        } else {
            match pin.amount.to_atomic(decimals) {
                Ok(pinned) if pinned == amount => return Ok(()),
                Ok(pinned) if amount > pinned => {
                    PaymentRefusal::new(Reason::PaymentOverLimit, "the amount is over the price pinned for this URL")
                }
                _ => PaymentRefusal::mismatch("the amount is not the price pinned for this URL"),
            }
        };
        refusal = Some(why);
    }
    refusal.map_or(Ok(()), Err)
}
