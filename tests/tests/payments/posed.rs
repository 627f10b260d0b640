//! What MCP servers and A2A agents ask for, in answers that are JSON: screened before anybody signs, and remembered, so that a payment has
//! to answer it.

use std::collections::HashMap;
use std::io::Write as _;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tollgate_tests::answer::Answer;
use tollgate_tests::authority::Alpn;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::{Reply, Seen};
use tollgate_tests::payment::{CENT, PAYEE, Terms};
use tollgate_tests::policy::HOST;
use tollgate_tests::verdict_peer::{Mood, Says};

use super::calls::{Protocol, TOOL, challenge, honest, option, task, tool_result};
use super::seller::Shop;

/// Whom nobody knows.
const STRANGER: &str = "0x00000000000000000000000000000000000000aa";

async fn open(alpn: Alpn, mood: Mood) -> Shop {
    let payments = json!({ "require_challenge": true, "screen_challenges": true });
    Shop::open(alpn, mood, payments, sell).await
}

/// GO for the known payee, HOLD for everybody else.
fn knows_the_payee() -> Mood {
    Mood::Honest(HashMap::from([(PAYEE.to_ascii_lowercase(), Says::Go)]))
}

fn is_paid(call: &Value) -> bool {
    call["params"]["_meta"]["x402/payment"].is_object() || call["params"]["message"]["metadata"]["x402.payment.payload"].is_object()
}

fn answer(status: u16, fields: &[(&str, &str)], body: Vec<u8>) -> Reply {
    let mut response = http::Response::builder().status(status);
    for (name, value) in fields {
        response = response.header(*name, *value);
    }
    response.body(Full::new(Bytes::from(body)).boxed()).unwrap()
}

fn sell(seen: &Seen) -> Reply {
    let url = format!("https://{}{}", seen.authority.as_deref().unwrap_or_default(), seen.target);
    let json_answer = |document: &Value| answer(200, &[("content-type", "application/json")], document.to_string().into_bytes());
    let call: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
    let id = &call["id"];
    if is_paid(&call) {
        return json_answer(&json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [{ "type": "text", "text": "sold" }] } }));
    }
    let known = honest(TOOL);
    let choice = challenge(
        TOOL,
        &[
            option(STRANGER, CENT),
            option(PAYEE, "2000000"),
            option(PAYEE, CENT),
            json!({ "scheme": "upto" }),
        ],
    );
    let both = |document: &Value| tool_result(id, document, document);
    let mut receipts = challenge(TOOL, &[option(PAYEE, CENT), option(STRANGER, CENT)]);
    receipts["extensions"] = json!({ "offer-receipt": { "info": { "offers": ["eyJhbGciOiJFUzI1NiJ9"] } } });
    match seen.target.as_str() {
        "/mcp" => json_answer(&both(&known)),
        "/mcp/text" => {
            let text = format!("Error executing tool weather: {known}");
            json_answer(
                &json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [{ "type": "text", "text": text }], "isError": true } }),
            )
        }
        "/mcp/error" => {
            json_answer(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": 402, "message": "Payment required", "data": known } }))
        }
        "/mcp/gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(both(&choice).to_string().as_bytes()).unwrap();
            answer(
                200,
                &[("content-type", "application/json"), ("content-encoding", "gzip")],
                encoder.finish().unwrap(),
            )
        }
        "/mcp/unlabelled" => answer(200, &[], both(&known).to_string().into_bytes()),
        "/mcp/status" => answer(402, &[("content-type", "application/json")], both(&known).to_string().into_bytes()),
        "/mcp/choice" => json_answer(&both(&choice)),
        "/mcp/receipts" => json_answer(&both(&receipts)),
        "/mcp/stranger" => json_answer(&both(&challenge(TOOL, &[option(STRANGER, CENT)]))),
        "/mcp/dear" => json_answer(&both(&challenge(TOOL, &[option(PAYEE, "2000000")]))),
        "/mcp/elsewhere" => json_answer(&both(&honest("mcp://tool/forecast"))),
        "/mcp/host" => json_answer(&both(&honest("https://other.example.test/rpc"))),
        "/mcp/disagrees" => json_answer(&tool_result(id, &known, &challenge(TOOL, &[option(PAYEE, "20000")]))),
        "/mcp/twice" => {
            let text = both(&known).to_string().replacen("\"accepts\"", "\"accepts\":[],\"accepts\"", 1);
            answer(200, &[("content-type", "application/json")], text.into_bytes())
        }
        "/mcp/coded" => answer(200, &[("content-encoding", "compress")], both(&known).to_string().into_bytes()),
        "/mcp/large" => {
            let mut large = known.clone();
            large["pad"] = json!("p".repeat(70_000));
            json_answer(&tool_result(id, &large, &json!("see there")))
        }
        "/mcp/result" => json_answer(&json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [
            { "type": "text", "text": format!("x402 says that a seller \"accepts\" {}", "p".repeat(300_000)) }], "structuredContent": { "found": [known] } } })),
        "/mcp/page" => answer(
            200,
            &[("content-type", "text/html")],
            format!("<html>x402 accepts\"{}", "p".repeat(300_000)).into_bytes(),
        ),
        "/a2a" => json_answer(&task(id, &honest(&url))),
        "/a2a/stranger" => json_answer(&task(id, &challenge(&url, &[option(STRANGER, CENT)]))),
        _ => json_answer(&json!({ "jsonrpc": "2.0", "id": id, "result": {} })),
    }
}

fn protocol_of(target: &str) -> Protocol {
    if target.starts_with("/a2a") { Protocol::A2a } else { Protocol::Mcp }
}

async fn post(shop: &Shop, via: Via, target: &str, call: &Value) -> Answer {
    shop.gate
        .fetch(via, &Ask::get(shop.seller.port(), target).json(&call.to_string()))
        .await
}

/// The unpaid call, which is answered with a challenge.
async fn asked(shop: &Shop, via: Via, target: &str) -> Answer {
    post(shop, via, target, &protocol_of(target).unpaid()).await
}

/// The call, paid on these terms.
async fn paid(shop: &Shop, via: Via, target: &str, terms: &Terms) -> Answer {
    let url = format!("https://{HOST}:{}{target}", shop.seller.port());
    let protocol = protocol_of(target);
    post(shop, via, target, &protocol.paid(&protocol.payment(&url, terms))).await
}

fn sold(shop: &Shop) -> usize {
    let requests = shop.seller.requests();
    requests
        .iter()
        .filter(|seen| is_paid(&serde_json::from_slice(&seen.body).unwrap_or_default()))
        .count()
}

#[tokio::test]
async fn what_may_be_paid_is_passed_on_untouched_and_a_payment_answers_it_once() {
    for alpn in [Alpn::H1, Alpn::H2] {
        let shop = open(alpn, knows_the_payee()).await;
        for via in [Via::TlsH1, Via::TlsH2] {
            for target in ["/mcp", "/mcp/text", "/mcp/error", "/mcp/unlabelled", "/a2a"] {
                paid(&shop, via, target, &Terms::default())
                    .await
                    .assert_denied(403, "payment_no_challenge");
                let before = shop.peer.questions().len();
                let offer = asked(&shop, via, target).await;
                assert_eq!((offer.status, offer.reason()), (200, None), "{target}: {offer:?}");
                let sent = sell(&shop.seller.last()).into_body().collect().await.unwrap().to_bytes();
                assert!(offer.body == sent, "{target} {via:?}: {} was sent", offer.text());
                let bought = paid(&shop, via, target, &Terms::default()).await;
                assert!(bought.text().contains("sold"), "{target} {via:?}: {bought:?}");
                let questions = shop.peer.questions().split_off(before);
                assert_eq!(questions.len(), 2, "{target}: once for the offer, once for the payment");
                for member in ["counterparty", "amount", "asset", "chain", "resource"] {
                    assert_eq!(questions[0].claim[member], questions[1].claim[member], "{target} {member}");
                }
                paid(&shop, via, target, &Terms::default())
                    .await
                    .assert_denied(403, "payment_no_challenge");
            }
        }
        assert_eq!(sold(&shop), 10);
    }
}

#[tokio::test]
async fn an_offer_that_would_be_refused_never_reaches_a_signer() {
    for (mood, reason) in [
        (Mood::Always(Says::Hold), "verdict_hold"),
        (Mood::Always(Says::Stop), "verdict_stop"),
        (Mood::Dead, "verdict_unavailable"),
    ] {
        let shop = open(Alpn::H2, mood).await;
        for via in [Via::TlsH1, Via::TlsH2] {
            for target in ["/mcp", "/mcp/text", "/mcp/error", "/mcp/unlabelled", "/mcp/status", "/a2a"] {
                let offer = asked(&shop, via, target).await;
                offer.assert_denied(403, reason);
                assert!(!offer.text().contains("accepts"), "{offer:?}");
                assert!(offer.text().contains(&PAYEE.to_ascii_lowercase()), "whom: {}", offer.text());
                // Nor can it be paid all the same.
                paid(&shop, via, target, &Terms::default())
                    .await
                    .assert_denied(403, "payment_no_challenge");
            }
        }
        assert_eq!(sold(&shop), 0);
        shop.gate
            .audited(json!({ "decision": "deny", "path": "/a2a", "reason_code": reason, "verdict": { "backend": "blackwall" } }))
            .await;
    }
}

#[tokio::test]
async fn of_several_options_the_client_sees_those_that_may_be_paid() {
    let shop = open(Alpn::H1, knows_the_payee()).await;
    for target in ["/mcp/choice", "/mcp/gzip"] {
        let offer = asked(&shop, Via::TlsH1, target).await;
        assert_eq!((offer.status, offer.header("content-encoding")), (200, None), "{offer:?}");
        let result = &offer.json()["result"];
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        for copy in [&result["structuredContent"], &text] {
            assert_eq!(copy["accepts"], json!([option(PAYEE, CENT)]), "{target}");
            assert_eq!(
                (&copy["error"], &copy["resource"]["url"]),
                (&json!("Payment required"), &json!(TOOL))
            );
        }
        let stranger = paid(&shop, Via::TlsH1, target, &Terms::to(STRANGER)).await;
        stranger.assert_denied(403, "payment_mismatch");
        assert!(paid(&shop, Via::TlsH1, target, &Terms::default()).await.text().contains("sold"));
    }
    assert_eq!(sold(&shop), 2);
}

#[tokio::test]
async fn offers_that_our_own_checks_refuse_cost_no_question() {
    let shop = open(Alpn::H1, Mood::Always(Says::Go)).await;
    for (target, reason) in [
        ("/mcp/dear", "payment_over_limit"),
        ("/mcp/elsewhere", "payment_mismatch"),
        ("/mcp/host", "payment_mismatch"),
        ("/mcp/disagrees", "payment_conflicting"),
        ("/mcp/twice", "payment_malformed"),
        ("/mcp/large", "payment_too_large"),
        ("/mcp/coded", "uninspectable_traffic"),
    ] {
        for via in [Via::TlsH1, Via::TlsH2] {
            let offer = asked(&shop, via, target).await;
            assert_eq!((offer.status, offer.reason()), (403, Some(reason)), "{target}: {offer:?}");
        }
    }
    assert_eq!(shop.peer.questions().len(), 0);
}

#[tokio::test]
async fn nothing_is_taken_out_of_offers_that_the_server_has_signed() {
    let shop = open(Alpn::H1, knows_the_payee()).await;
    asked(&shop, Via::TlsH1, "/mcp/receipts").await.assert_denied(403, "verdict_hold");
    let stranger = asked(&shop, Via::TlsH1, "/a2a/stranger").await;
    stranger.assert_denied(403, "verdict_hold");
}

#[tokio::test]
async fn answers_that_ask_for_nothing_pass_however_they_speak() {
    let shop = open(Alpn::H2, Mood::Dead).await;
    for via in [Via::TlsH1, Via::TlsH2] {
        for (target, length) in [("/mcp/result", 300_000), ("/mcp/page", 300_000), ("/free", 30)] {
            let answer = asked(&shop, via, target).await;
            assert_eq!((answer.status, answer.reason()), (200, None), "{target}");
            assert!(answer.body.len() >= length, "{target}: {}", answer.body.len());
        }
        // What no call was made for is not looked at.
        let ask = Ask::get(shop.seller.port(), "/mcp").method("POST").json("{\"q\":1}");
        assert_eq!(shop.gate.fetch(via, &ask).await.status, 200);
    }
}

#[tokio::test]
async fn a_payment_has_to_answer_the_offer_for_the_same_thing() {
    let shop = open(Alpn::H1, Mood::Always(Says::Go)).await;
    asked(&shop, Via::TlsH1, "/mcp").await;
    asked(&shop, Via::TlsH1, "/a2a").await;
    let url = format!("https://{HOST}:{}/a2a", shop.seller.port());
    let dear = Terms {
        value: "20000".into(),
        ..Terms::default()
    };
    paid(&shop, Via::TlsH1, "/mcp", &dear).await.assert_denied(403, "payment_mismatch");
    paid(&shop, Via::TlsH1, "/mcp", &Terms::to(STRANGER))
        .await
        .assert_denied(403, "payment_mismatch");
    // For another tool, another task, or the endpoint itself.
    let mut other = Protocol::Mcp.paid(&Protocol::Mcp.payment("", &Terms::default()));
    other["params"]["name"] = json!("forecast");
    other["params"]["_meta"]["x402/payment"]["resource"]["url"] = json!("mcp://tool/forecast");
    post(&shop, Via::TlsH1, "/mcp", &other)
        .await
        .assert_denied(403, "payment_no_challenge");
    let mut other = Protocol::A2a.paid(&Protocol::A2a.payment(&url, &Terms::default()));
    other["params"]["message"]["taskId"] = json!("task-2");
    post(&shop, Via::TlsH1, "/a2a", &other)
        .await
        .assert_denied(403, "payment_no_challenge");
    let in_head = shop.paying("/a2a", &Terms::default()).method("POST");
    shop.gate
        .fetch(Via::TlsH1, &in_head)
        .await
        .assert_denied(403, "payment_no_challenge");
    assert_eq!((sold(&shop), shop.peer.questions().len()), (0, 2));
    for target in ["/mcp", "/a2a"] {
        assert!(paid(&shop, Via::TlsH1, target, &Terms::default()).await.text().contains("sold"));
    }
}

#[tokio::test]
async fn two_copies_of_an_offer_are_one_offer() {
    let shop = open(Alpn::H1, Mood::Always(Says::Go)).await;
    asked(&shop, Via::TlsH1, "/mcp").await;
    assert!(paid(&shop, Via::TlsH1, "/mcp", &Terms::default()).await.text().contains("sold"));
    paid(&shop, Via::TlsH1, "/mcp", &Terms::default())
        .await
        .assert_denied(403, "payment_no_challenge");
}

#[tokio::test]
async fn without_screening_offers_are_still_remembered() {
    let payments = json!({ "require_challenge": true, "screen_challenges": false });
    let shop = Shop::open(Alpn::H1, Mood::Always(Says::Go), payments, sell).await;
    let offer = asked(&shop, Via::TlsH1, "/mcp/choice").await;
    assert_eq!(offer.json()["result"]["structuredContent"]["accepts"].as_array().unwrap().len(), 4);
    assert!(
        paid(&shop, Via::TlsH1, "/mcp/choice", &Terms::default())
            .await
            .text()
            .contains("sold")
    );
    for target in ["/mcp/twice", "/mcp/coded", "/mcp/disagrees"] {
        assert_eq!(asked(&shop, Via::TlsH1, target).await.status, 200, "{target}");
    }
    paid(&shop, Via::TlsH1, "/mcp/twice", &Terms::default())
        .await
        .assert_denied(403, "payment_no_challenge");
    assert_eq!(shop.peer.questions().len(), 1);
}
