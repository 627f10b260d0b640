//! A payee's usual price and what an amount is to it, in exact integers: no float decides about money.

use ruint::Uint;
use serde::{Deserialize, Deserializer, de};

use super::super::Verdict;
use crate::x402::amount::DecimalAmount;
use crate::x402::claim::AtomicAmount;

/// Twice the width of an amount, so that no product below overflows.
type Wide = Uint<512, 8>;

/// From this multiple of the price on, a payment is stopped.
const STOP_AT: u64 = 8;
/// Decimal places of a tolerance.
const TOLERANCE_PLACES: u8 = 3;

/// What one call usually costs, in the asset's own units; not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Price(DecimalAmount);

impl<'de> Deserialize<'de> for Price {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let price = DecimalAmount::parse(&text).map_err(|error| de::Error::custom(format_args!("price: {error}")))?;
        if !text.bytes().any(|b| matches!(b, b'1'..=b'9')) {
            return Err(de::Error::custom("a price must be greater than 0"));
        }
        Ok(Price(price))
    }
}

/// How many times the price still passes, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tolerance(u64);

/// 3.1, where a Blackwall service begins to hold.
impl Default for Tolerance {
    fn default() -> Self {
        Tolerance(3_100)
    }
}

impl<'de> Deserialize<'de> for Tolerance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parsed = AtomicAmount::parse_decimal(&String::deserialize(deserializer)?, TOLERANCE_PLACES);
        match parsed.ok().and_then(AtomicAmount::to_u64) {
            Some(thousandths) if (1_000..STOP_AT * 1_000).contains(&thousandths) => Ok(Tolerance(thousandths)),
            _ => Err(de::Error::custom(
                "a tolerance must be at least 1 and less than 8, with at most 3 decimal places",
            )),
        }
    }
}

/// A payee's price with its tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usual {
    pub(super) price: Price,
    pub(super) tolerance: Tolerance,
}

impl Usual {
    /// The verdict on `amount` of an asset with `decimals`. A price finer than the asset, or too large for it, is none: held.
    pub(super) fn judge(self, amount: AtomicAmount, decimals: u8) -> Verdict {
        let Ok(price) = self.price.0.to_atomic(decimals) else {
            return Verdict::Hold;
        };
        let (amount, price) = (Wide::from(amount.0), Wide::from(price.0));
        if amount >= price * Wide::from(STOP_AT) {
            Verdict::Stop
        } else if !amount.is_zero() && amount * Wide::from(1_000_u64) <= price * Wide::from(self.tolerance.0) {
            Verdict::Go
        } else {
            Verdict::Hold
        }
    }
}

#[cfg(test)]
mod tests;
