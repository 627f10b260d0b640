#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use std::time::Duration;

use http::HeaderName;
use serde_json::{Value, json};

use super::super::Blackwall;
use super::super::tests::{fetcher, on_the_wire, vector};
use super::*;
use crate::egress::fetch::scripted::{ScriptedServer, Step};
use crate::verdict::{Backend as _, Failure, ReceiptId, ReportToken};
use crate::x402::base64;
use crate::x402::claim::Version;
use crate::x402::settlement::{Settlement, TransactionHash};

fn report(outcome: PaymentOutcome) -> Report {
    Report {
        receipt_id: ReceiptId::parse("bw_506d7eba27124abb958601c3").unwrap(),
        token: ReportToken::parse("2561e5de1dced9af9247adf2c4402f1b".to_owned()).unwrap(),
        outcome,
        amount: None,
        transaction: None,
    }
}

/// Taken from where a seller would write it.
fn transaction(text: &Value) -> Option<TransactionHash> {
    let header = json!({ "success": true, "transaction": text }).to_string();
    let value = base64::encode(header.as_bytes()).parse().unwrap();
    let headers = [(HeaderName::from_static("payment-response"), value)].into_iter().collect();
    Settlement::find(Version::V2, &headers).unwrap().transaction
}

#[test]
fn the_service_is_told_word_for_word_what_its_own_clients_tell_it() {
    for (name, outcome) in [
        ("104-outcome-settled", PaymentOutcome::Settled),
        ("105-outcome-repeat", PaymentOutcome::Settled),
        ("110-outcome-abandoned", PaymentOutcome::Abandoned),
    ] {
        let recorded = vector(name)["request"]["body"].clone();
        let whole = Report {
            amount: recorded["observed_amount"].as_str().map(str::to_owned),
            transaction: transaction(&recorded["settlement_tx"]),
            ..report(outcome)
        };
        let told: Value = serde_json::from_slice(&body(&whole)).unwrap();
        assert_eq!(told, recorded, "{name}");
    }
}

#[tokio::test]
async fn only_a_202_means_that_it_was_taken() {
    let fetcher = fetcher();
    for (name, expected) in [
        ("104-outcome-settled", Ok(())),
        ("105-outcome-repeat", Ok(())),
        ("110-outcome-abandoned", Ok(())),
        ("111-outcome-unknown-value", Err(Failure::Status(400))),
        ("114-outcome-bad-token", Err(Failure::Status(403))),
        ("038-bad-context-history-junk-503", Err(Failure::Status(503))),
        ("001-go-warm-fair", Err(Failure::Status(200))),
    ] {
        let server = ScriptedServer::plain(vec![Step::send(on_the_wire(&vector(name)["response"]))]).await;
        let service = format!("http://{}", server.address).parse().unwrap();
        let backend = Blackwall::new(fetcher.clone(), service, None, Duration::from_secs(5)).unwrap();
        assert_eq!(backend.report(&report(PaymentOutcome::Settled)).await, expected, "{name}");
        let asked = server.requests().remove(0);
        assert!(asked.starts_with("POST /v1/report-outcome HTTP/1."), "{asked}");
    }
}
