//! Money as exact integers. Nothing here ever becomes a float: `0.1 + 0.2` must not decide over a limit.

use ruint::aliases::U256;
use thiserror::Error;

use super::claim::AtomicAmount;

/// Why a text is not an amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AmountError {
    /// A sign, blank, exponent, separator, leading zero, non-ASCII digit, or nothing.
    #[error("not a plain decimal number")]
    Shape,
    /// 2^256 or more.
    #[error("the amount does not fit 256 bits")]
    TooLarge,
    /// More decimal places than the asset has.
    #[error("more decimal places than the asset has")]
    TooFine,
}

impl AtomicAmount {
    /// Parses what x402 sends: `^(0|[1-9][0-9]{0,77})$`, below 2^256. Sellers' parsers also take `1_0000`, `+10000` or full-width
    /// digits and may read another number than we would; so those are no amounts here.
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        integer(text).map(AtomicAmount)
    }

    /// Parses an amount in the asset's own units, `1.00` of a 6-decimals asset being 1000000.
    pub fn parse_decimal(text: &str, decimals: u8) -> Result<Self, AmountError> {
        DecimalAmount::parse(text)?.to_atomic(decimals)
    }

    /// The amount in the asset's own units: ASCII, exact, no exponent, no trailing zeros (`0.01`, `1`, `1.5`).
    pub fn to_decimal(self, decimals: u8) -> String {
        let digits = self.0.to_string();
        let decimals = usize::from(decimals);
        let padded = format!("{digits:0>width$}", width = decimals + 1);
        let (whole, fraction) = padded.split_at(padded.len() - decimals);
        match fraction.trim_end_matches('0') {
            "" => whole.to_owned(),
            fraction => format!("{whole}.{fraction}"),
        }
    }

    /// The value, if it fits a `u64`.
    pub fn to_u64(self) -> Option<u64> {
        u64::try_from(self.0).ok()
    }
}

/// An amount in human units whose asset, and so whose decimals, are not known yet: an operator's limit or a pinned price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecimalAmount {
    digits: U256,
    places: u8,
}

impl DecimalAmount {
    /// Parses `12`, `0.5`, `1.00`.
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        let (whole, fraction) = match text.split_once('.') {
            Some((_, "")) => return Err(AmountError::Shape),
            Some((whole, fraction)) => (whole, fraction.trim_end_matches('0')),
            None => (text, ""),
        };
        if !text.bytes().all(|b| b.is_ascii_digit() || b == b'.') || fraction.contains('.') {
            return Err(AmountError::Shape);
        }
        let whole = integer(whole)?;
        let places = u8::try_from(fraction.len())
            .ok()
            .filter(|places| *places <= 77)
            .ok_or(AmountError::TooFine)?;
        let fraction = if fraction.is_empty() {
            U256::ZERO
        } else {
            U256::from_str_radix(fraction, 10).map_err(|_| AmountError::TooLarge)?
        };
        let digits = power_of_ten(places)
            .and_then(|unit| whole.checked_mul(unit))
            .and_then(|whole| whole.checked_add(fraction))
            .ok_or(AmountError::TooLarge)?;
        Ok(DecimalAmount { digits, places })
    }

    /// The exact atomic amount for an asset of so many decimals; never rounded.
    pub fn to_atomic(self, decimals: u8) -> Result<AtomicAmount, AmountError> {
        let shift = decimals.checked_sub(self.places).ok_or(AmountError::TooFine)?;
        power_of_ten(shift)
            .and_then(|unit| self.digits.checked_mul(unit))
            .map(AtomicAmount)
            .ok_or(AmountError::TooLarge)
    }
}

/// As people write it.
impl std::fmt::Display for DecimalAmount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&AtomicAmount(self.digits).to_decimal(self.places))
    }
}

fn power_of_ten(exponent: u8) -> Option<U256> {
    U256::from(10).checked_pow(U256::from(exponent))
}

fn integer(text: &str) -> Result<U256, AmountError> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) || (text.len() > 1 && text.starts_with('0')) {
        return Err(AmountError::Shape);
    }
    if text.len() > 78 {
        return Err(AmountError::TooLarge);
    }
    U256::from_str_radix(text, 10).map_err(|_| AmountError::TooLarge)
}

#[cfg(test)]
mod tests;
