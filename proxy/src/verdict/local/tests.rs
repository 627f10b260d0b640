#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::io::Write as _;

use tempfile::NamedTempFile;

use super::super::sample;
use super::*;
use crate::x402::network::Caip2;

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

#[tokio::test]
async fn without_lists_every_payment_is_held() {
    let answer = Local::open(None, None).unwrap().ask(&sample::question()).await.unwrap();
    assert_eq!(answer.verdict, Verdict::Hold);
    assert!(answer.receipt_id.is_none() && answer.report_token.is_none());
    let empty = file("");
    let local = Local::open(Some(empty.path()), Some(empty.path())).unwrap();
    assert_eq!(local.judge(&sample::question()), Verdict::Hold);
}

#[test]
fn the_lists_decide() {
    let (elsewhere, refused) = (
        "1111111111111111111111111111111111111111",
        "0330070fd38ec3bb94f58fa55d40368271e9e54a",
    );
    let known = format!(
        "- payee: \"0x{}\"\n  price: \"0.014\"\n- payee: \"0x{elsewhere}\"\n  price: \"0.014\"\n  network: eip155:8453\n- payee: \"0x{refused}\"\n  price: \"0.014\"\n",
        sample::WARM
    );
    let (payees, stop) = (file(&known), file(&format!("- \"0x{}\"\n", refused.to_ascii_uppercase())));
    let local = Local::open(Some(payees.path()), Some(stop.path())).unwrap();
    #[rustfmt::skip]
    let table = [
        ("known, usual price", sample::WARM, "14000", 8453, Verdict::Go),
        ("known on every network", sample::WARM, "14000", 1, Verdict::Go),
        ("known, dear", sample::WARM, "50000", 8453, Verdict::Hold),
        ("known, wildly dear", sample::WARM, "112000", 8453, Verdict::Stop),
        ("known on this network", elsewhere, "14000", 8453, Verdict::Go),
        ("known on another network", elsewhere, "14000", 84532, Verdict::Hold),
        ("unknown", "0000000000000000000000000000000000000001", "1", 8453, Verdict::Hold),
        ("refused though known", refused, "1", 8453, Verdict::Stop),
    ];
    for (name, payee, atomic, chain_id, expected) in table {
        let mut claim = sample::question();
        claim.payee = sample::address(payee);
        claim.amount = sample::amount(atomic);
        claim.asset.network = Caip2::Eip155 { chain_id };
        assert_eq!(local.judge(&claim), expected, "{name}");
    }
}

/// The same claim meets the same verdict from the recorded service and from the lists.
#[test]
fn both_backends_agree_on_the_recorded_prices() {
    let payees = file(&format!("- payee: \"0x{}\"\n  price: \"0.014\"\n", sample::WARM));
    let local = Local::open(Some(payees.path()), None).unwrap();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/blackwall");
    for (name, atomic) in [
        ("001-go-warm-fair", "14000"),
        ("006-hold-gouged-3x", "50000"),
        ("007-hold-anomaly-boundary", "43500"),
        ("008-go-anomaly-below-boundary", "43000"),
        ("009-stop-gouged-8x", "112000"),
    ] {
        let text = std::fs::read_to_string(recorded.join(format!("{name}.json"))).unwrap();
        let vector: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut claim = sample::question();
        claim.amount = sample::amount(atomic);
        let verdict = local.judge(&claim).as_str().to_ascii_uppercase();
        assert_eq!(verdict, vector["response"]["body"]["verdict"], "{name}");
    }
}
