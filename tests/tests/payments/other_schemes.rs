//! A 402 that offers another way to pay than x402: no client may see the offer, for each would answer it at once and unattended. Beside an
//! x402 payment that may be made the offer is taken out, and all else stays.

use std::collections::HashMap;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tollgate_tests::answer::Answer;
use tollgate_tests::authority::Alpn;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::{Reply, Seen};
use tollgate_tests::payment::{self, PAYEE, Terms};
use tollgate_tests::verdict_peer::{Mood, Says};

use super::seller::{Shop, v1_body};

const MPP: &str = r#"Payment id="x7Tg", realm="shop, or so", method="evm", intent="charge", request="eyJhbW91bnQiOiIxIn0""#;
const BEARER: &str = r#"Bearer realm="shop", error="invalid_token""#;

async fn open(alpn: Alpn, says: Says, payments: Value) -> Shop {
    let about_the_payee = Mood::Honest(HashMap::from([(PAYEE.to_ascii_lowercase(), says)]));
    Shop::open(alpn, about_the_payee, payments, sell).await
}

fn screened() -> Value {
    json!({ "require_challenge": true, "screen_challenges": true })
}

fn sell(seen: &Seen) -> Reply {
    let url = format!("https://{}{}", seen.authority.as_deref().unwrap_or_default(), seen.target);
    let answer = |status: u16, fields: &[(&str, &str)], body: String| {
        let mut response = http::Response::builder().status(status);
        for (name, value) in fields {
            response = response.header(*name, *value);
        }
        response.body(Full::new(Bytes::from(body)).boxed()).unwrap()
    };
    if seen.header("payment-signature").or(seen.header("x-payment")).is_some() {
        return answer(200, &[], "sold".to_owned());
    }
    let challenge = json!({ "id": "x7Tg", "realm": "shop", "method": "evm", "intent": "charge", "request": { "amount": "1" } });
    let posed = |error: bool| {
        let challenges = json!({ "challenges": [challenge] });
        if error {
            return json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32042, "message": "Payment Required", "data": challenges } });
        }
        let meta = json!({ "org.paymentauth/payment-required": challenges });
        json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [], "isError": true, "_meta": meta } })
    };
    let v2 = payment::challenge(&url);
    let problem = r#"{"type":"https://paymentauth.org/problems/payment-required","status":402}"#.to_owned();
    match seen.target.as_str() {
        "/mpp" => answer(
            402,
            &[("www-authenticate", MPP), ("content-type", "application/problem+json")],
            problem,
        ),
        "/mpp/case" => answer(402, &[("WWW-Authenticate", &MPP.to_ascii_uppercase())], problem),
        "/mpp/second" => answer(402, &[("www-authenticate", BEARER), ("www-authenticate", MPP)], problem),
        "/mpp/one-field" => answer(402, &[("www-authenticate", &format!("{BEARER}, {MPP}"))], problem),
        "/mpp/412" => answer(412, &[("www-authenticate", MPP)], problem),
        "/mpp/page" => answer(402, &[("www-authenticate", MPP)], format!("<html>{}", "p".repeat(200_000))),
        "/l402" => answer(
            402,
            &[("www-authenticate", r#"L402 macaroon="AGI=", invoice="lnbc1""#)],
            String::new(),
        ),
        "/lsat" => answer(
            402,
            &[("www-authenticate", r#"LSAT macaroon="AGI=", invoice="lnbc1""#)],
            String::new(),
        ),
        "/cashu" => answer(402, &[("x-cashu", "creqApWF0gaNhdGVub3N0cg")], String::new()),
        "/crawl" => answer(402, &[("crawler-price", "USD 0.01")], String::new()),
        "/rpc/error" => answer(200, &[("content-type", "application/json")], posed(true).to_string()),
        "/rpc/402" => answer(402, &[("content-type", "application/json")], posed(true).to_string()),
        "/rpc/result" => answer(200, &[("content-type", "application/json")], posed(false).to_string()),
        "/rpc/twice" => answer(
            200,
            &[("content-type", "application/json")],
            posed(true).to_string().replacen('{', "{\"id\":1,", 1),
        ),
        "/rpc/events" => answer(200, &[("content-type", "text/event-stream")], format!("data: {}\n\n", posed(true))),
        "/v2/both" => answer(
            402,
            &[("payment-required", &v2), ("www-authenticate", BEARER), ("www-authenticate", MPP)],
            problem,
        ),
        "/v2/both/one-field" => answer(
            402,
            &[("payment-required", &v2), ("www-authenticate", &format!("{MPP}, {BEARER}, {MPP}"))],
            problem,
        ),
        "/v2/both/broken" => answer(
            402,
            &[("payment-required", &v2), ("www-authenticate", &format!("{BEARER}, {MPP}\""))],
            problem,
        ),
        "/v2/both/cashu" => answer(
            402,
            &[("payment-required", &v2), ("x-cashu", "creqA"), ("www-authenticate", BEARER)],
            problem,
        ),
        "/v1/both" => answer(
            402,
            &[("www-authenticate", MPP), ("www-authenticate", BEARER)],
            v1_body(&url).to_string(),
        ),
        "/bearer" => answer(
            402,
            &[("www-authenticate", r#"Bearer realm="Payment required""#)],
            "pay us by wire".to_owned(),
        ),
        _ => answer(200, &[], "free".to_owned()),
    }
}

const OFFERS: [&str; 15] = [
    "/mpp",
    "/mpp/case",
    "/mpp/second",
    "/mpp/one-field",
    "/mpp/412",
    "/mpp/page",
    "/l402",
    "/lsat",
    "/cashu",
    "/crawl",
    "/rpc/error",
    "/rpc/402",
    "/rpc/result",
    "/rpc/twice",
    "/rpc/events",
];

async fn asked(shop: &Shop, via: Via, target: &str) -> Answer {
    let ask = shop.ask(target);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weather","arguments":{}}}"#;
    let ask: Ask<'_> = if target.starts_with("/rpc") { ask.json(call) } else { ask };
    shop.gate.fetch(via, &ask).await
}

/// Whatever a client could answer with a payment of another scheme.
fn offers(answer: &Answer) -> bool {
    let head = format!("{:?}", answer.headers).to_ascii_lowercase();
    ["payment id", "l402", "lsat", "creqa", "crawler"]
        .iter()
        .any(|word| head.contains(word))
        || answer.text().contains("x7Tg")
}

#[tokio::test]
async fn an_offer_to_pay_by_another_scheme_never_reaches_a_signer() {
    for alpn in [Alpn::H1, Alpn::H2] {
        let shop = open(alpn, Says::Go, screened()).await;
        for via in [Via::TlsH1, Via::TlsH2] {
            for target in OFFERS {
                let before = shop.seller.requests().len();
                let answer = asked(&shop, via, target).await;
                assert!(!offers(&answer), "{target} {via:?}: {answer:?}");
                assert!(answer.text().contains("rail_payment_scheme"), "{target} {via:?}: {answer:?}");
                // A stream has its head already: the refusal is its last event.
                if target != "/rpc/events" {
                    let denial = answer.assert_denied(403, "rail_payment_scheme");
                    assert_eq!(
                        (&denial["error"], &denial["next_steps"]),
                        (&json!("policy_denied"), &json!([])),
                        "{target}"
                    );
                }
                assert_eq!(
                    shop.seller.requests().len(),
                    before + 1,
                    "{target}: the one that asked for the page"
                );
            }
        }
        assert!(shop.peer.questions().is_empty(), "a verdict cannot allow a rail");
        let labels = [("reason_code", "rail_payment_scheme")];
        let counted = shop.gate.metric("tollgate_rail_denied_total", &labels).await;
        assert!((counted - 30.0).abs() < f64::EPSILON, "{counted}");
        let line = json!({ "decision": "deny", "reason_code": "rail_payment_scheme", "path": "/mpp", "status": 403 });
        let event = shop.gate.audited(line).await;
        assert!(!event.to_string().contains("x7Tg"), "{event}");
    }
}

#[tokio::test]
async fn beside_an_x402_payment_that_may_be_made_no_other_is_offered() {
    for alpn in [Alpn::H1, Alpn::H2] {
        let shop = open(alpn, Says::Go, screened()).await;
        for via in [Via::TlsH1, Via::TlsH2] {
            for (target, left) in [
                ("/v2/both", Some(BEARER)),
                ("/v2/both/one-field", Some(BEARER)),
                ("/v2/both/broken", None),
                ("/v2/both/cashu", Some(BEARER)),
                ("/v1/both", Some(BEARER)),
            ] {
                let answer = asked(&shop, via, target).await;
                assert_eq!((answer.status, offers(&answer)), (402, false), "{target} {via:?}: {answer:?}");
                assert_eq!(answer.header("www-authenticate"), left, "{target} {via:?}");
                let paid = shop.gate.fetch(via, &shop.paying(target, &Terms::default())).await;
                assert_eq!((paid.status, paid.text().as_str()), (200, "sold"), "{target} {via:?}: {paid:?}");
            }
        }
        let held = open(alpn, Says::Hold, screened()).await;
        for target in ["/v2/both", "/v1/both"] {
            let answer = asked(&held, Via::TlsH2, target).await;
            answer.assert_denied(403, "verdict_hold");
            assert!(!offers(&answer), "{target}: {answer:?}");
        }
        assert_eq!(held.sold(), 0);
    }
}

#[tokio::test]
async fn other_challenges_pass_and_so_do_all_where_screening_is_off() {
    let shop = open(Alpn::H1, Says::Go, screened()).await;
    let answer = asked(&shop, Via::TlsH1, "/bearer").await;
    assert_eq!((answer.status, answer.text().as_str()), (402, "pay us by wire"));
    assert_eq!(answer.header("www-authenticate"), Some(r#"Bearer realm="Payment required""#));

    let shop = open(Alpn::H1, Says::Go, json!({ "screen_challenges": false })).await;
    for target in OFFERS {
        let answer = asked(&shop, Via::TlsH1, target).await;
        assert!(offers(&answer) && answer.reason().is_none(), "{target}: {answer:?}");
    }
}
