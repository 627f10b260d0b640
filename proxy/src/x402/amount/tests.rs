#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;

#[test]
fn number_spellings_that_sellers_accept_but_read_differently_are_no_amounts() {
    for bad in [
        "0010000",
        "+10000",
        " 10000",
        "10000 ",
        "1_0000",
        "１００００",
        "1e4",
        "0x2710",
        "10000.0",
        "-1",
        "",
        "00",
        "1,000",
        "٣",
    ] {
        assert_eq!(AtomicAmount::parse(bad), Err(AmountError::Shape), "{bad}");
    }
    let max = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    assert_eq!(AtomicAmount::parse(max).unwrap().to_string(), max);
    for too_large in [
        "115792089237316195423570985008687907853269984665640564039457584007913129639936".to_owned(),
        "9".repeat(79),
        "1".repeat(16_000),
    ] {
        assert_eq!(AtomicAmount::parse(&too_large), Err(AmountError::TooLarge));
    }
}

#[test]
fn decimal_and_atomic_units_convert_exactly() {
    for (text, decimals, atomic) in [
        ("1.00", 6, "1000000"),
        ("0.01", 6, "10000"),
        ("0", 6, "0"),
        ("5", 0, "5"),
        ("0.000000000000000001", 18, "1"),
        ("1000000000000", 18, "1000000000000000000000000000000"),
    ] {
        assert_eq!(AtomicAmount::parse_decimal(text, decimals).unwrap().to_string(), atomic, "{text}");
    }
    for (text, error) in [
        ("0.0000001", AmountError::TooFine),
        ("1.", AmountError::Shape),
        (".5", AmountError::Shape),
        ("1.0.0", AmountError::Shape),
        ("01.0", AmountError::Shape),
        ("1e2", AmountError::Shape),
        ("-1.0", AmountError::Shape),
        ("$1", AmountError::Shape),
    ] {
        assert_eq!(AtomicAmount::parse_decimal(text, 6), Err(error), "{text}");
    }
    for (atomic, decimals, text) in [
        ("10000", 6, "0.01"),
        ("1500000", 6, "1.5"),
        ("1", 18, "0.000000000000000001"),
        ("7", 0, "7"),
        ("0", 6, "0"),
    ] {
        assert_eq!(AtomicAmount::parse(atomic).unwrap().to_decimal(decimals), text);
    }
}

proptest! {
    #[test]
    fn to_decimal_and_back_is_the_same_amount(limbs: [u64; 4], decimals in 0u8..=77) {
        let amount = AtomicAmount(U256::from_limbs(limbs));
        prop_assert_eq!(AtomicAmount::parse_decimal(&amount.to_decimal(decimals), decimals), Ok(amount));
        prop_assert_eq!(AtomicAmount::parse(&amount.to_string()), Ok(amount));
    }

    #[test]
    fn any_text_parses_or_errs(text in ".{0,100}") {
        let _ = AtomicAmount::parse(&text);
        let _ = DecimalAmount::parse(&text);
    }
}
