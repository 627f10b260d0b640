#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use tollgate_policy::Reason;

use super::super::sample;
use super::*;
use crate::egress::Resolver;
use crate::egress::fetch::scripted::{ScriptedServer, Step};
use crate::verdict::{ReportToken, Verdict};

type Outcome = Result<Verdict, (Failure, Reason)>;

const GO: &str = r#"{"verdict":"GO","hard_stop":false,"receipt_id":"bw_0123456789abcdef01234567"}"#;

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/blackwall")
}

pub(super) fn vector(name: &str) -> Value {
    let text = std::fs::read_to_string(recorded().join(format!("{name}.json"))).expect(name);
    serde_json::from_str(&text).expect(name)
}

pub(super) fn fetcher() -> Fetcher {
    Fetcher::new(Arc::default(), Arc::new(Resolver::new(HashMap::new(), Duration::from_secs(2))))
}

async fn ask(fetcher: &Fetcher, server: &ScriptedServer, question: &Question, timeout: Duration) -> Result<Answer, Failure> {
    let service = format!("http://{}", server.address).parse().unwrap();
    let backend = Blackwall::new(fetcher.clone(), service, AgentId::parse("sandbox-1"), timeout).unwrap();
    backend.ask(question).await
}

/// The reason of the refusal; `None` is GO.
fn refusal(outcome: &Result<Answer, Failure>) -> Option<Reason> {
    match outcome {
        Ok(answer) => answer.verdict.refusal(),
        Err(failure) => Some(failure.reason()),
    }
}

/// The recorded bytes where they are recorded, else the same head and body written anew.
pub(super) fn on_the_wire(response: &Value) -> String {
    if let Some(raw) = response["raw"].as_str() {
        return raw.to_owned();
    }
    let body = serde_json::to_string(&response["body"]).unwrap();
    let mut text = format!("{}\r\n", response["status_line"].as_str().unwrap());
    for (name, value) in response["headers"].as_object().unwrap() {
        let value = if name == "Content-Length" {
            body.len().to_string()
        } else {
            value.as_str().unwrap().to_owned()
        };
        write!(text, "{name}: {value}\r\n").unwrap();
    }
    text + "\r\n" + &body
}

#[tokio::test]
async fn every_recorded_answer_of_the_service_gets_its_reason() {
    const HOLD: Option<Reason> = Some(Reason::VerdictHold);
    const STOP: Option<Reason> = Some(Reason::VerdictStop);
    const NONE: Option<Reason> = Some(Reason::VerdictUnavailable);
    #[rustfmt::skip]
    let table: &[(&str, Option<Reason>)] = &[
        ("001-go-warm-fair", None),
        ("002-go-warm-fair-checksum-case", None),
        ("003-go-warm-fair-full-claim", None),
        ("004-stop-sanctioned", STOP),
        ("005-hold-unknown-payee", HOLD),
        ("006-hold-gouged-3x", HOLD),
        ("007-hold-anomaly-boundary", HOLD),
        ("008-go-anomaly-below-boundary", None),
        ("009-stop-gouged-8x", STOP),
        ("010-hold-below-8x", HOLD),
        ("011-stop-atomic-units-mistake", STOP),
        ("012-amount-integer-json", STOP),
        ("013-unknown-chain-still-go", None),
        ("014-caip2-polygon-still-go", None),
        ("015-solana-chain-solana-payee", HOLD),
        ("016-unknown-asset-still-go", None),
        ("017-asset-contract-address", None),
        ("018-bad-missing-counterparty", NONE),
        ("019-bad-missing-amount", NONE),
        ("020-bad-empty-asset", NONE),
        ("021-bad-null-chain", NONE),
        ("022-bad-counterparty-not-string", NONE),
        ("023-bad-amount-float", NONE),
        ("024-bad-amount-scientific", NONE),
        ("025-bad-amount-zero", NONE),
        ("026-bad-amount-negative", NONE),
        ("027-bad-amount-bool", NONE),
        ("028-bad-amount-plus", NONE),
        ("029-bad-amount-leading-dot", NONE),
        ("030-amount-whitespace", None),
        ("038-bad-context-history-junk-503", NONE),
        ("044-resource-not-string-503", NONE),
        ("052-unknown-extra-fields", None),
        ("053-duplicate-keys", STOP),
        ("065-bad-oversize-65537", NONE),
        ("066-ok-max-65536", None),
        ("071-wrong-path-trailing-slash", NONE),
        ("077-payauth-symbol-asset-unverified", None),
        ("086-payauth-expired", None),
        ("088-payauth-base64url", STOP),
        ("089-payauth-permit2-shape", STOP),
        ("090-payauth-svm-shape", STOP),
        ("099-secret-aws-in-resource", STOP),
        ("100-secret-hex64-in-resource", HOLD),
        ("104-outcome-settled", NONE),
        ("105-outcome-repeat", NONE),
        ("110-outcome-abandoned", NONE),
        ("111-outcome-unknown-value", NONE),
        ("114-outcome-bad-token", NONE),
        ("119-outcome-forged-dev-key", NONE),
        ("129-mock-known-good", None),
        ("136-syn-go-0x1111-0.01", None),
        ("137-syn-go-ratio-3.09", None),
        ("138-syn-hold-ratio-3.11", HOLD),
        ("139-syn-hold-ratio-7.99", HOLD),
        ("140-syn-stop-ratio-8", STOP),
        ("141-syn-go-amount-10.00", None),
        ("142-syn-hold-amount-10.000001", HOLD),
        ("150-billing-402", NONE),
        ("151-billing-sanctioned-free", STOP),
    ];
    let files: BTreeSet<String> = std::fs::read_dir(recorded())
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    let named: BTreeSet<String> = table.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(files, named, "every recorded file is in the table");
    let fetcher = fetcher();
    for (name, expected) in table {
        let response = &vector(name)["response"];
        let server = ScriptedServer::plain(vec![Step::send(on_the_wire(response))]).await;
        let outcome = ask(&fetcher, &server, &sample::question(), Duration::from_secs(5)).await;
        assert_eq!(refusal(&outcome), *expected, "{name}: {outcome:?}");
        if let Ok(answer) = outcome {
            assert_eq!(answer.receipt_id.unwrap().as_str(), response["body"]["receipt_id"], "{name}");
            let token = answer.report_token.as_ref().map(ReportToken::expose);
            assert_eq!(token, response["body"]["report_token"].as_str(), "{name}");
        }
    }
}

#[tokio::test]
async fn every_way_of_not_answering_has_its_failure() {
    let answered = |status: &str, body: &str| {
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        vec![Step::send(head + body)]
    };
    let redirect = |status: &str| {
        vec![Step::send(format!(
            "HTTP/1.1 {status}\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: {}\r\n\r\n{GO}",
            GO.len()
        ))]
    };
    let padded = |total: usize| format!("{}{}", GO, " ".repeat(total - GO.len()));
    let chunked = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{GO}\r\n", GO.len());
    let length = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", GO.len());
    let unavailable = |failure| Err((failure, Reason::VerdictUnavailable));
    let invalid = |what| Err((Failure::Unacceptable(what), Reason::VerdictInvalid));
    let (go, closed) = (Ok(Verdict::Go), Failure::Unreachable(FetchError::Closed));
    #[rustfmt::skip]
    let table: Vec<(&str, Vec<Step>, Outcome)> = vec![
        ("GO", answered("200 OK", GO), go),
        ("GO without content type", vec![Step::send(format!("{length}{GO}"))], go),
        ("GO in chunks", vec![Step::send(format!("{chunked}0\r\n\r\n"))], go),
        ("GO in pieces", length.bytes().chain(GO.bytes()).map(|b| Step::send([b])).collect(), go),
        ("GO on a connection that stays open", vec![Step::send(format!("{length}{GO}")), Step::Linger], go),
        ("GO of the largest size", answered("200 OK", &padded(MAX_ANSWER)), go),
        ("GO one byte larger", answered("200 OK", &padded(MAX_ANSWER + 1)), invalid(Unacceptable::TooLarge)),
        ("GO without end", vec![Step::send(&chunked), Step::send(format!("50000\r\n{}", " ".repeat(0x50000)))], invalid(Unacceptable::TooLarge)),
        ("GO in lower case", answered("200 OK", &GO.replace("GO", "go")), invalid(Unacceptable::Verdict)),
        ("GO with hard_stop a string", answered("200 OK", &GO.replace("false", "\"false\"")), invalid(Unacceptable::HardStop)),
        ("an empty object", answered("200 OK", "{}"), invalid(Unacceptable::Verdict)),
        ("a page with 200", answered("200 OK", "<html>GO</html>"), unavailable(Failure::NotJson)),
        ("nothing with 200", answered("200 OK", ""), unavailable(Failure::NotJson)),
        ("GO with 201", answered("201 Created", GO), unavailable(Failure::Status(201))),
        ("GO with 202", answered("202 Accepted", GO), unavailable(Failure::Status(202))),
        ("GO with 203", answered("203 Non-Authoritative Information", GO), unavailable(Failure::Status(203))),
        ("204", vec![Step::send("HTTP/1.1 204 No Content\r\n\r\n")], unavailable(Failure::Status(204))),
        ("GO with 206", answered("206 Partial Content", GO), unavailable(Failure::Status(206))),
        ("301", redirect("301 Moved Permanently"), unavailable(Failure::Status(301))),
        ("302 with GO", redirect("302 Found"), unavailable(Failure::Status(302))),
        ("307", redirect("307 Temporary Redirect"), unavailable(Failure::Status(307))),
        ("308", redirect("308 Permanent Redirect"), unavailable(Failure::Status(308))),
        ("400", answered("400 Bad Request", r#"{"error":"x"}"#), unavailable(Failure::Status(400))),
        ("401", answered("401 Unauthorized", "{}"), unavailable(Failure::Status(401))),
        ("402 with GO", answered("402 Payment Required", GO), unavailable(Failure::PaymentDemanded)),
        ("404", answered("404 Not Found", r#"{"error":"not found"}"#), unavailable(Failure::Status(404))),
        ("429 with GO", answered("429 Too Many Requests", GO), unavailable(Failure::RateLimited)),
        ("500", answered("500 Internal Server Error", ""), unavailable(Failure::Status(500))),
        ("501 page", answered("501 Unsupported method", "<html>"), unavailable(Failure::Status(501))),
        ("503 with GO", answered("503 Service Unavailable", GO), unavailable(Failure::Status(503))),
        ("no answer", vec![], unavailable(closed)),
        ("closed mid-body", vec![Step::send(format!("{length}{}", &GO[..20]))], unavailable(closed)),
        ("closed before the last chunk", vec![Step::send(&chunked)], unavailable(closed)),
        ("not HTTP", vec![Step::send(format!("{GO}\r\n\r\n"))], unavailable(Failure::Unreachable(FetchError::Malformed))),
        ("HTTP/2 preface", vec![Step::send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")], unavailable(Failure::Unreachable(FetchError::Malformed))),
        ("switching protocols", vec![Step::send("HTTP/1.1 101 Switching Protocols\r\n\r\n")], unavailable(Failure::Unreachable(FetchError::Malformed))),
    ];
    assert!(table.len() >= 36);
    let fetcher = fetcher();
    for (name, script, expected) in table {
        let server = ScriptedServer::plain(script).await;
        let outcome = ask(&fetcher, &server, &sample::question(), Duration::from_secs(5)).await;
        let seen = outcome.map(|answer| answer.verdict).map_err(|failure| (failure, failure.reason()));
        assert_eq!(seen, expected, "{name}");
        assert_eq!(server.requests().len(), 1, "{name}: asked more than once");
    }
}

#[tokio::test]
async fn a_slow_service_is_no_answer_within_the_timeout() {
    let script = vec![
        Step::send("HTTP/1.1 200 OK\r\n"),
        Step::Pause(Duration::from_secs(5)),
        Step::send(format!("\r\n{GO}")),
    ];
    let server = ScriptedServer::plain(script).await;
    let started = Instant::now();
    let outcome = ask(&fetcher(), &server, &sample::question(), Duration::from_millis(200)).await;
    assert_eq!(outcome.unwrap_err(), Failure::TimedOut);
    assert!(started.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn a_dead_service_is_no_answer() {
    // Bound but not listening: nobody else gets the port meanwhile.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = held.local_addr().unwrap();
    let service = format!("http://{address}").parse().unwrap();
    let backend = Blackwall::new(fetcher(), service, None, Duration::from_secs(5)).unwrap();
    let failure = backend.ask(&sample::question()).await.unwrap_err();
    assert_eq!(failure, Failure::Unreachable(FetchError::Connect));
    assert_eq!(failure.reason(), Reason::VerdictUnavailable);
}

#[tokio::test]
async fn the_question_on_the_wire_is_the_recorded_one() {
    let server = ScriptedServer::plain(vec![Step::send(format!("HTTP/1.0 200 OK\r\n\r\n{GO}"))]).await;
    ask(&fetcher(), &server, &sample::question(), Duration::from_secs(5)).await.unwrap();
    let requests = server.requests();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();

    let recorded = &vector("003-go-warm-fair-full-claim")["request"];
    let expected_line = format!(
        "{} {} HTTP/1.1",
        recorded["method"].as_str().unwrap(),
        recorded["path"].as_str().unwrap()
    );
    assert_eq!(head.lines().next().unwrap(), expected_line);
    let mut fields: Vec<String> = head
        .lines()
        .skip(1)
        .map(|line| line.split(':').next().unwrap().to_ascii_lowercase())
        .collect();
    fields.sort();
    assert_eq!(
        fields,
        ["accept", "connection", "content-length", "content-type", "host", "user-agent"]
    );
    assert!(head.to_ascii_lowercase().contains(&format!("content-length: {}", body.len())));

    let body: Value = serde_json::from_str(body).unwrap();
    for member in ["counterparty", "amount", "chain", "resource", "payer"] {
        assert_eq!(body[member], recorded["body"][member], "{member}");
    }
    let contract = &vector("017-asset-contract-address")["request"]["body"];
    assert_eq!(body["asset"], contract["asset"].as_str().unwrap().to_ascii_lowercase());
    assert_eq!(body["agent_id"], "sandbox-1");
    for (member, value) in body.as_object().unwrap() {
        assert!(recorded["body"].get(member).is_some(), "{member} is none that the service knows");
        assert!(value.is_string(), "{member}");
    }
}

#[test]
fn a_base_path_is_kept() {
    let service = "https://gate.example.com/blackwall/".parse().unwrap();
    let backend = Blackwall::new(fetcher(), service, None, Duration::from_secs(5)).unwrap();
    assert_eq!(backend.target.as_str(), "/blackwall/v1/forecast-payment");
}
