#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use super::super::super::sample;
use super::*;

fn usual(price: &str, tolerance: Option<&str>) -> Usual {
    Usual {
        price: serde_json::from_value(price.into()).unwrap(),
        tolerance: tolerance.map_or_else(Tolerance::default, |text| serde_json::from_value(text.into()).unwrap()),
    }
}

#[test]
fn ratios_decide_exactly() {
    use Verdict::{Go, Hold, Stop};
    #[rustfmt::skip]
    let table = [
        // The boundaries that a Blackwall service was recorded at: median 0.014 and 0.01.
        ("0.014", None, "14000", 6, Go),
        ("0.014", None, "43000", 6, Go),
        ("0.014", None, "43400", 6, Go),
        ("0.014", None, "43401", 6, Hold),
        ("0.014", None, "43500", 6, Hold),
        ("0.014", None, "111999", 6, Hold),
        ("0.014", None, "112000", 6, Stop),
        ("0.01", None, "30900", 6, Go),
        ("0.01", None, "31100", 6, Hold),
        ("0.01", None, "79900", 6, Hold),
        ("0.01", None, "80000", 6, Stop),
        // Cheaper is never an anomaly, nothing is no payment.
        ("0.014", None, "1", 6, Go),
        ("0.014", None, "0", 6, Hold),
        // Atomic units taken for whole ones.
        ("0.014", None, "14000000000", 6, Stop),
        ("1", Some("1"), "1000000", 6, Go),
        ("1", Some("1"), "1000001", 6, Hold),
        ("1", Some("1.000"), "1000000", 6, Go),
        ("1", Some("7.999"), "7999000", 6, Go),
        ("1", Some("7.999"), "7999001", 6, Hold),
        // Other decimals, and a price finer than the asset.
        ("1", None, "3100000000000000000", 18, Go),
        ("1", None, "3100000000000000001", 18, Hold),
        ("0.0000000001", None, "1", 6, Hold),
        ("7", None, "7", 0, Go),
        ("7", None, "56", 0, Stop),
        // What cannot be computed is held.
        ("1", None, "1", 255, Hold),
    ];
    for (price, tolerance, atomic, decimals, expected) in table {
        let verdict = usual(price, tolerance).judge(sample::amount(atomic), decimals);
        assert_eq!(
            verdict, expected,
            "{atomic} at {price}, tolerance {tolerance:?}, {decimals} decimals"
        );
    }
}

#[test]
fn the_largest_amount_is_stopped_not_wrapped_around() {
    let largest = AtomicAmount(ruint::aliases::U256::MAX);
    let price = "9".repeat(30);
    for decimals in [0, 6, 18] {
        assert_eq!(usual(&price, None).judge(largest, decimals), Verdict::Stop, "{decimals}");
    }
}

#[test]
fn prices_and_tolerances_are_plain_decimals() {
    let price = |text: &str| serde_json::from_value::<Price>(text.into()).is_ok();
    for good in ["1", "0.01", "0.000001", "12.50", &"9".repeat(30)] {
        assert!(price(good), "{good}");
    }
    for bad in [
        "",
        "0",
        "0.000",
        ".5",
        "5.",
        "-1",
        "+1",
        "1e2",
        "1,5",
        " 1",
        "1 ",
        "0x1",
        "\u{ff11}",
        "1.2.3",
        "01",
        &"9".repeat(79),
    ] {
        assert!(!price(bad), "{bad}");
    }
    let tolerance = |text: &str| serde_json::from_value::<Tolerance>(text.into()).is_ok();
    for good in ["1", "3.1", "7.999"] {
        assert!(tolerance(good), "{good}");
    }
    for bad in ["0", "0.99", "8", "8.0", "7.9999", "100", "-2", ""] {
        assert!(!tolerance(bad), "{bad}");
    }
}
