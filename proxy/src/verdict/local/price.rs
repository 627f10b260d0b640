//! A payee's usual price and what an amount is to it, in exact integers: no float decides about money.

use std::str::FromStr;

use ruint::Uint;
use serde::{Deserialize, Deserializer, de};
use thiserror::Error;

use super::super::Verdict;
use crate::x402::claim::AtomicAmount;

/// Twice the width of an amount: products below do not overflow, and those that would are held.
type Wide = Uint<512, 8>;

/// From this multiple of the price on, a payment is stopped.
const STOP_AT: u64 = 8;
/// Digits in a decimal, on both sides of the point together.
const MAX_DIGITS: usize = 30;

/// Why a text is not a price or a tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum DecimalError {
    #[error("expected a plain decimal such as \"0.01\", with at most 30 digits")]
    Shape,
    #[error("a price must be greater than 0")]
    NotPositive,
    #[error("a tolerance must be at least 1 and less than 8")]
    Tolerance,
}

/// An exact non-negative decimal: `digits / 10^scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Decimal {
    digits: u128,
    scale: usize,
}

impl FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (whole, fraction) = match text.split_once('.') {
            Some((_, "")) => return Err(DecimalError::Shape),
            Some(parts) => parts,
            None => (text, ""),
        };
        let all = format!("{whole}{fraction}");
        if whole.is_empty() || all.len() > MAX_DIGITS || !all.bytes().all(|b| b.is_ascii_digit()) {
            return Err(DecimalError::Shape);
        }
        Ok(Decimal {
            digits: all.parse().map_err(|_| DecimalError::Shape)?,
            scale: fraction.len(),
        })
    }
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

/// What one unit of the service usually costs, in the asset's own units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Price(Decimal);

impl<'de> Deserialize<'de> for Price {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let decimal = text(deserializer)?;
        if decimal.digits == 0 {
            return Err(de::Error::custom(DecimalError::NotPositive));
        }
        Ok(Price(decimal))
    }
}

/// How many times the price still passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tolerance(Decimal);

/// 3.1, where a Blackwall service begins to hold.
impl Default for Tolerance {
    fn default() -> Self {
        Tolerance(Decimal { digits: 31, scale: 1 })
    }
}

impl<'de> Deserialize<'de> for Tolerance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let decimal = text(deserializer)?;
        let one = power_of_ten(decimal.scale);
        let digits = Wide::from(decimal.digits);
        if one.is_none_or(|one| digits < one || digits >= one * Wide::from(STOP_AT)) {
            return Err(de::Error::custom(DecimalError::Tolerance));
        }
        Ok(Tolerance(decimal))
    }
}

/// A payee's price with its tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Usual {
    pub(super) price: Price,
    pub(super) tolerance: Tolerance,
}

impl Usual {
    /// The verdict on `amount` of an asset with `decimals`. What cannot be computed is held.
    pub(super) fn judge(self, amount: AtomicAmount, decimals: u8) -> Verdict {
        self.compare(amount, decimals).unwrap_or(Verdict::Hold)
    }

    /// Both sides of `amount / 10^decimals <= factor * price` are multiplied until no fraction is left.
    fn compare(self, amount: AtomicAmount, decimals: u8) -> Option<Verdict> {
        let (price, tolerance) = (self.price.0, self.tolerance.0);
        let amount = Wide::from(amount.0).checked_mul(power_of_ten(price.scale)?)?;
        let price = Wide::from(price.digits).checked_mul(power_of_ten(usize::from(decimals))?)?;
        if amount >= price.checked_mul(Wide::from(STOP_AT))? {
            return Some(Verdict::Stop);
        }
        let passes = amount.checked_mul(power_of_ten(tolerance.scale)?)? <= price.checked_mul(Wide::from(tolerance.digits))?;
        Some(if passes && !amount.is_zero() { Verdict::Go } else { Verdict::Hold })
    }
}

fn power_of_ten(exponent: usize) -> Option<Wide> {
    Wide::from(10_u64).checked_pow(Wide::from(exponent))
}

#[cfg(test)]
mod tests;
