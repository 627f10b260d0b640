//! Durations (`500ms`, `2s`, `24h`) and sizes (`64KiB`) as the operator writes them in `tollgate.yaml`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error as _};
use thiserror::Error;

/// Why a text is not a duration or a size.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// Not a whole number directly followed by a unit.
    #[error("expected a whole number and a unit ({units}), such as `{example}`")]
    Shape {
        /// The units that are known.
        units: &'static str,
        /// A well-formed value.
        example: &'static str,
    },
    /// Over what can be held.
    #[error("the value is too large")]
    TooLarge,
}

fn split(text: &str) -> Option<(u64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit))
}

/// What a duration above zero looks like, for JSON Schemas.
pub const DURATION_PATTERN: &str = "^0*[1-9][0-9]*(ms|s|m|h)$";
/// What a size above zero looks like, for JSON Schemas.
pub const SIZE_PATTERN: &str = "^0*[1-9][0-9]*(B|KiB|MiB|GiB)$";

/// Parses `500ms`, `2s`, `5m`, `24h`.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let shape = UnitError::Shape {
        units: "ms, s, m, h",
        example: "500ms",
    };
    let (number, unit) = split(text).ok_or_else(|| shape.clone())?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(shape),
    };
    number.checked_mul(millis).map(Duration::from_millis).ok_or(UnitError::TooLarge)
}

/// Parses `100B`, `64KiB`, `4MiB`, `1GiB` into bytes.
pub fn parse_size(text: &str) -> Result<usize, UnitError> {
    let shape = UnitError::Shape {
        units: "B, KiB, MiB, GiB",
        example: "64KiB",
    };
    let (number, unit) = split(text).ok_or_else(|| shape.clone())?;
    let bytes: u64 = match unit {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(shape),
    };
    number
        .checked_mul(bytes)
        .and_then(|bytes| usize::try_from(bytes).ok())
        .ok_or(UnitError::TooLarge)
}

/// The shortest spelling that [`parse_duration`] reads back; below a millisecond, `0ms`.
pub fn format_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    match millis {
        _ if millis == 0 || !millis.is_multiple_of(1_000) => format!("{millis}ms"),
        _ if millis.is_multiple_of(3_600_000) => format!("{}h", millis / 3_600_000),
        _ if millis.is_multiple_of(60_000) => format!("{}m", millis / 60_000),
        _ => format!("{}s", millis / 1_000),
    }
}

/// The shortest spelling that [`parse_size`] reads back.
pub fn format_size(bytes: usize) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes > 0 && bytes.trailing_zeros() >= shift {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    format!("{bytes}B")
}

/// A duration above zero, for `#[serde(deserialize_with = "…")]`.
pub fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let duration = parse_duration(&String::deserialize(deserializer)?).map_err(D::Error::custom)?;
    above_zero(duration, &Duration::ZERO)
}

/// A size above zero, for `#[serde(deserialize_with = "…")]`.
pub fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let size = parse_size(&String::deserialize(deserializer)?).map_err(D::Error::custom)?;
    above_zero(size, &0)
}

/// A number above zero, for `#[serde(deserialize_with = "…")]`.
pub fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    above_zero(usize::deserialize(deserializer)?, &0)
}

/// Zero is nobody's intention: some would read it as "no limit", others as "nothing".
fn above_zero<T: PartialOrd, E: serde::de::Error>(value: T, zero: &T) -> Result<T, E> {
    if value > *zero {
        Ok(value)
    } else {
        Err(E::custom("zero is not a limit; leave the key out for the default"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_parse_or_say_what_they_want() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("24h"), Ok(Duration::from_secs(86_400)));
        assert_eq!(parse_size("64KiB"), Ok(65_536));
        for bad in ["", "5", "ms", "-1s", "1.5s", "5 s", "5sec", "99999999999999999999s"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
        for text in ["500ms", "2s", "90s", "5m", "24h", "0ms"] {
            assert_eq!(parse_duration(text).map(format_duration).as_deref(), Ok(text));
        }
        for text in ["1B", "1023B", "64KiB", "4MiB", "1025KiB", "1GiB", "0B"] {
            assert_eq!(parse_size(text).map(format_size).as_deref(), Ok(text));
        }
        for bad in ["", "5", "5KB", "5kib", "99999999999999999GiB"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
