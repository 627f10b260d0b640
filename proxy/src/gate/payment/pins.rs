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
        let pay_to = Address::parse(&config.pay_to).map_err(|error| ("payTo", why_not(config, error)))?;
        let amount = DecimalAmount::parse(&config.amount).map_err(|error: AmountError| ("amount", error.to_string()))?;
        Ok(Pin {
            method: config.method.clone(),
            url,
            pay_to,
            amount,
        })
    }
}

fn why_not(pin: &PinConfig, error: AddressError) -> String {
    let PinConfig { method, url, pay_to, .. } = pin;
    match error {
        AddressError::Unfilled => format!(
            "`{pay_to}` is not filled in yet: write the address that {method} {url} is paid to. The seller names it as `payTo` in its 402 for \
             that request and in its /.well-known/x402; have somebody confirm it before it is trusted"
        ),
        error => error.to_string(),
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

/// What becomes of a payment for a URL that no pin names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unpinned {
    /// The lists and ceilings decide.
    #[default]
    Open,
    /// It is refused: only what is pinned may be paid.
    Refused,
}

/// The pins of one configuration. Where two configurations speak, a payment has to pass both tables: a policy's author could otherwise pin
/// another payee beside the operator's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PinTable {
    /// In the order of the file.
    pub pins: Vec<Pin>,
    /// Whether others may be paid.
    pub unpinned: Unpinned,
}

/// A payment, or an offer, as far as pins are about it.
#[derive(Clone, Copy)]
pub(super) struct Priced<'r> {
    pub(super) request: &'r PaymentRequest<'r>,
    pub(super) http: HttpResource,
    pub(super) payee: Address,
    pub(super) amount: AtomicAmount,
    pub(super) decimals: u8,
}

impl PinTable {
    /// If no pin names the URL, the table's mode decides; otherwise one has to match whole. A lower price than pinned is refused like a higher
    /// one: nobody honest asks for it, and it would make the pin a mere limit.
    pub(super) fn check(&self, paid: &Priced<'_>) -> Result<(), PaymentRefusal> {
        let mut refusal = match self.unpinned {
            Unpinned::Open => None,
            Unpinned::Refused => Some(PaymentRefusal::new(
                Reason::PaymentPayeeNotAllowed,
                "the URL is not pinned, and only pinned ones are paid",
            )),
        };
        for pin in self.pins.iter().filter(|pin| pin.url.names(paid.request, paid.http)) {
            match pin.check(paid) {
                Ok(()) => return Ok(()),
                Err(why) => refusal = Some(why),
            }
        }
        refusal.map_or(Ok(()), Err)
    }
}

impl Pin {
    fn check(&self, paid: &Priced<'_>) -> Result<(), PaymentRefusal> {
        if self.method != paid.request.method {
            return Err(PaymentRefusal::mismatch("the URL is pinned for another method"));
        }
        if self.pay_to != paid.payee {
            let detail = "the payee is not the one pinned for this URL";
            return Err(PaymentRefusal::new(Reason::PaymentPayeeNotAllowed, detail));
        }
        match self.amount.to_atomic(paid.decimals) {
            Ok(pinned) if pinned == paid.amount => Ok(()),
            Ok(pinned) if paid.amount > pinned => {
                let detail = "the amount is over the price pinned for this URL";
                Err(PaymentRefusal::new(Reason::PaymentOverLimit, detail))
            }
            _ => Err(PaymentRefusal::mismatch("the amount is not the price pinned for this URL")),
        }
    }
}
