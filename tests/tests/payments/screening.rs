//! What a 402 asks for is judged before the client can sign for it: nobody signs what would be refused.

use std::collections::HashMap;
use std::io::Write as _;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tollgate_tests::answer::Answer;
use tollgate_tests::authority::Alpn;
use tollgate_tests::client::Via;
use tollgate_tests::origin::{Reply, Seen};
use tollgate_tests::payment::{ASSET, NETWORK, PAYEE, Terms, encode};
use tollgate_tests::verdict_peer::{Mood, Says};

use super::seller::{Shop, v1_body};

/// Whom nobody knows.
const STRANGER: &str = "0x00000000000000000000000000000000000000aa";

/// The payments section under test: `screen_challenges` is left to its default.
fn screened() -> Value {
    json!({ "require_challenge": true, "screen_challenges": true })
}

async fn open(alpn: Alpn, mood: Mood) -> Shop {
    Shop::open(alpn, mood, screened(), sell).await
}

/// GO for the known payee, HOLD for everybody else.
fn knows_the_payee() -> Mood {
    Mood::Honest(HashMap::from([(PAYEE.to_ascii_lowercase(), Says::Go)]))
}

fn option(pay_to: &str, amount: &str) -> Value {
    json!({
        "scheme": "exact", "network": NETWORK, "amount": amount, "asset": ASSET, "payTo": pay_to, "maxTimeoutSeconds": 60,
        "extra": { "name": "USDC", "version": "2" },
    })
}

fn v2(url: &str, accepts: &[Value]) -> Value {
    json!({ "x402Version": 2, "error": "pay", "resource": { "url": url }, "accepts": accepts })
}

fn sell(seen: &Seen) -> Reply {
    let url = format!("https://{}{}", seen.authority.as_deref().unwrap_or_default(), seen.target);
    let answer = |status: u16, fields: &[(&str, String)], body: Vec<u8>| {
        let mut response = http::Response::builder().status(status);
        for (name, value) in fields {
            response = response.header(*name, value);
        }
        response.body(Full::new(Bytes::from(body)).boxed()).unwrap()
    };
    if seen.header("payment-signature").or(seen.header("x-payment")).is_some() {
        return answer(200, &[], b"sold".to_vec());
    }
    let asks = |document: &Value| vec![("payment-required", encode(document))];
    let known = || option(PAYEE, "10000");
    let mut receipts = v2(&url, &[known(), option(STRANGER, "10000")]);
    receipts["extensions"] = json!({ "offer-receipt": { "info": { "offers": ["eyJhbGciOiJFUzI1NiJ9"] } } });
    let mut v1_dear = v1_body(&url);
    v1_dear["accepts"][0]["maxAmountRequired"] = json!("20000");
    let mut v1_two = v1_body(&url);
    let mut other = v1_two["accepts"][0].clone();
    other["payTo"] = json!(STRANGER);
    v1_two["accepts"].as_array_mut().unwrap().insert(0, other);
    match seen.target.as_str() {
        "/v1" => answer(402, &[], v1_body(&url).to_string().into_bytes()),
        "/v1/two/gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(v1_two.to_string().as_bytes()).unwrap();
            answer(402, &[("content-encoding", "gzip".to_owned())], encoder.finish().unwrap())
        }
        "/v2" => answer(402, &asks(&v2(&url, &[known()])), b"{}".to_vec()),
        "/v2/412" => answer(412, &asks(&v2(&url, &[known()])), Vec::new()),
        "/v2/dual" => answer(402, &asks(&v2(&url, &[known()])), v1_body(&url).to_string().into_bytes()),
        "/v2/stranger" => answer(402, &asks(&v2(&url, &[option(STRANGER, "10000")])), Vec::new()),
        "/v2/choice" => {
            let upto = json!({ "scheme": "upto", "network": NETWORK });
            let options = [upto, option(STRANGER, "10000"), option(PAYEE, "2000000"), known()];
            answer(402, &asks(&v2(&url, &options)), Vec::new())
        }
        "/v2/dear" => answer(402, &asks(&v2(&url, &[option(PAYEE, "2000000")])), Vec::new()),
        "/v2/upto" => answer(402, &asks(&v2(&url, &[json!({ "scheme": "upto" })])), Vec::new()),
        "/v2/elsewhere" => answer(402, &asks(&v2("https://other.example.test/", &[known()])), Vec::new()),
        "/v2/receipts" => answer(402, &asks(&receipts), Vec::new()),
        "/v2/disagrees" => answer(402, &asks(&v2(&url, &[known()])), v1_dear.to_string().into_bytes()),
        "/v2/two-fields" => {
            let fields = [asks(&v2(&url, &[known()])), asks(&v2(&url, &[option(STRANGER, "1")]))].concat();
            answer(402, &fields, Vec::new())
        }
        "/v2/unpadded" => {
            let value = encode(&v2(&url, &[known()])).trim_end_matches('=').to_owned() + "%";
            answer(402, &[("payment-required", value)], Vec::new())
        }
        "/v2/permit2" | "/v2/domain" | "/v2/extension" => {
            let mut document = v2(&url, &[known()]);
            match seen.target.as_str() {
                "/v2/permit2" => document["accepts"][0]["extra"]["assetTransferMethod"] = json!("permit2"),
                "/v2/domain" => document["accepts"][0]["extra"]["name"] = json!("Evil"),
                _ => document["extensions"] = json!({ "eip2612GasSponsoring": { "info": {} } }),
            }
            answer(402, &asks(&document), Vec::new())
        }
        "/v1/float" | "/v1/true" | "/v1/unversioned" => {
            let version = match seen.target.as_str() {
                "/v1/float" => "\"x402Version\":1.0",
                "/v1/true" => "\"x402Version\":true",
                _ => "\"v\":1",
            };
            let text = v1_body(&url).to_string().replacen("\"x402Version\":1", version, 1);
            answer(402, &[], text.into_bytes())
        }
        "/v1/twice" => {
            let text = v1_body(&url).to_string().replacen("\"accepts\"", "\"accepts\":[],\"accepts\"", 1);
            answer(402, &[], text.into_bytes())
        }
        "/v1/bom" => answer(402, &[], format!("\u{feff}{}", v1_body(&url)).into_bytes()),
        "/v1/coded" => answer(
            402,
            &[("content-encoding", "compress".to_owned())],
            v1_body(&url).to_string().into_bytes(),
        ),
        "/v1/endless" => {
            let padded = format!("{{\"pad\":\"{}\",{}", "p".repeat(100_000), &v1_body(&url).to_string()[1..]);
            answer(402, &[], padded.into_bytes())
        }
        "/page" => answer(402, &[], format!("<html>{}", "p".repeat(200_000)).into_bytes()),
        "/problem" => answer(402, &[], br#"{"type":"about:blank","title":"quota used up","status":402}"#.to_vec()),
        _ => answer(200, &[], b"free".to_vec()),
    }
}

fn offered(answer: &Answer) -> Vec<String> {
    use base64::Engine as _;
    let value = answer.header("payment-required").unwrap();
    let document: Value = serde_json::from_slice(&base64::engine::general_purpose::STANDARD.decode(value).unwrap()).unwrap();
    let options = document["accepts"].as_array().unwrap();
    options
        .iter()
        .map(|option| option["payTo"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[tokio::test]
async fn what_may_be_paid_is_passed_on_untouched_and_the_payment_is_judged_again() {
    for alpn in [Alpn::H1, Alpn::H2] {
        let shop = open(alpn, knows_the_payee()).await;
        for via in [Via::TlsH1, Via::TlsH2] {
            for target in ["/v1", "/v2", "/v2/dual"] {
                let before = shop.peer.questions().len();
                let asked = shop.gate.fetch(via, &shop.ask(target)).await;
                assert_eq!(asked.status, 402, "{target}: {asked:?}");
                let url = format!("https://{}:{}{target}", tollgate_tests::policy::HOST, shop.seller.port());
                match target {
                    "/v2" => assert_eq!(asked.text(), "{}"),
                    _ => assert_eq!(asked.text(), v1_body(&url).to_string()),
                }
                let paid = shop.gate.fetch(via, &shop.paying(target, &Terms::default())).await;
                assert_eq!((paid.status, paid.text().as_str()), (200, "sold"), "{target} {via:?}");
                let questions = shop.peer.questions().split_off(before);
                assert_eq!(questions.len(), 2, "{target}: once for the offer, once for the payment");
                assert_eq!(questions[0].claim.get("payer"), None, "nobody pays yet");
                assert!(questions[1].claim["payer"].is_string());
                for member in ["counterparty", "amount", "asset", "chain", "resource"] {
                    assert_eq!(questions[0].claim[member], questions[1].claim[member], "{member}");
                }
            }
        }
    }
}

#[tokio::test]
async fn an_offer_that_would_be_refused_never_reaches_a_signer() {
    for (mood, reason) in [
        (Mood::Always(Says::Hold), "verdict_hold"),
        (Mood::Always(Says::Stop), "verdict_stop"),
        (Mood::Dead, "verdict_unavailable"),
        (Mood::Always(Says::WantsMoney), "verdict_unavailable"),
    ] {
        let shop = open(Alpn::H2, mood).await;
        for via in [Via::TlsH1, Via::TlsH2] {
            for target in ["/v1", "/v2", "/v2/412", "/v2/dual"] {
                let answer = shop.gate.fetch(via, &shop.ask(target)).await;
                answer.assert_denied(403, reason);
                assert!(
                    answer.header("payment-required").is_none() && !answer.text().contains("accepts"),
                    "{answer:?}"
                );
                assert!(answer.text().contains(&PAYEE.to_ascii_lowercase()), "whom: {}", answer.text());
                // Nor can it be paid all the same.
                let paid = shop.gate.fetch(via, &shop.paying(target, &Terms::default())).await;
                paid.assert_denied(403, "payment_no_challenge");
            }
        }
        assert_eq!(shop.sold(), 0);
        shop.gate
            .audited(json!({ "decision": "deny", "reason_code": reason, "verdict": { "backend": "blackwall" } }))
            .await;
    }
}

#[tokio::test]
async fn of_several_options_the_client_sees_those_that_may_be_paid() {
    let shop = open(Alpn::H1, knows_the_payee()).await;
    let answer = shop.gate.fetch(Via::TlsH1, &shop.ask("/v2/choice")).await;
    assert_eq!((answer.status, offered(&answer)), (402, vec![PAYEE.to_owned()]));
    let stranger = shop.gate.fetch(Via::TlsH1, &shop.paying("/v2/choice", &Terms::to(STRANGER))).await;
    stranger.assert_denied(403, "payment_mismatch");
    let paid = shop.gate.fetch(Via::TlsH1, &shop.paying("/v2/choice", &Terms::default())).await;
    assert_eq!((paid.status, shop.sold()), (200, 1));

    let coded = shop.gate.fetch(Via::TlsH2, &shop.ask("/v1/two/gzip")).await;
    assert_eq!((coded.status, coded.header("content-encoding")), (402, None));
    let document: Value = serde_json::from_slice(&coded.body).unwrap();
    let options = document["accepts"].as_array().unwrap();
    assert_eq!((options.len(), options[0]["payTo"].as_str()), (1, Some(PAYEE)));
    assert_eq!(document["error"], "X-PAYMENT header is required", "the rest stays");
}

#[tokio::test]
async fn offers_that_our_own_checks_refuse_cost_no_question() {
    let shop = open(Alpn::H1, Mood::Always(Says::Go)).await;
    for (target, reason) in [
        ("/v2/dear", "payment_over_limit"),
        ("/v2/upto", "payment_scheme_not_allowed"),
        ("/v2/elsewhere", "payment_mismatch"),
        ("/v2/two-fields", "payment_conflicting"),
        ("/v2/disagrees", "payment_conflicting"),
        ("/v2/unpadded", "payment_malformed"),
        ("/v2/permit2", "payment_scheme_not_allowed"),
        ("/v2/domain", "payment_mismatch"),
        ("/v2/extension", "payment_scheme_not_allowed"),
        ("/v1/float", "payment_malformed"),
        ("/v1/true", "payment_malformed"),
        ("/v1/unversioned", "payment_malformed"),
        ("/v1/twice", "payment_malformed"),
        ("/v1/bom", "payment_malformed"),
        ("/v1/coded", "payment_malformed"),
        ("/v1/endless", "payment_too_large"),
    ] {
        for via in [Via::TlsH1, Via::TlsH2] {
            let answer = shop.gate.fetch(via, &shop.ask(target)).await;
            assert_eq!(answer.reason(), Some(reason), "{target}: {answer:?}");
            assert_eq!(answer.status, 403, "{target}");
        }
    }
    assert_eq!(shop.peer.questions().len(), 0);
}

#[tokio::test]
async fn nothing_is_taken_out_of_offers_that_the_seller_has_signed() {
    let shop = open(Alpn::H1, knows_the_payee()).await;
    let answer = shop.gate.fetch(Via::TlsH1, &shop.ask("/v2/receipts")).await;
    answer.assert_denied(403, "verdict_hold");
    let generous = open(Alpn::H1, Mood::Always(Says::Go)).await;
    let answer = generous.gate.fetch(Via::TlsH1, &generous.ask("/v2/receipts")).await;
    assert_eq!((answer.status, offered(&answer).len()), (402, 2));
}

#[tokio::test]
async fn answers_that_ask_for_nothing_pass_whatever_their_status() {
    let shop = open(Alpn::H1, Mood::Dead).await;
    for via in [Via::TlsH1, Via::TlsH2] {
        let page = shop.gate.fetch(via, &shop.ask("/page")).await;
        assert_eq!((page.status, page.body.len()), (402, 200_006));
        let problem = shop.gate.fetch(via, &shop.ask("/problem")).await;
        assert_eq!(problem.status, 402);
        assert!(problem.text().contains("quota"));
        shop.gate.fetch(via, &shop.ask("/free")).await.assert_allowed();
    }
}

#[tokio::test]
async fn screening_is_on_where_a_service_can_be_asked_and_off_where_none_is_named() {
    let default = json!({ "require_challenge": true, "screen_challenges": null });
    let shop = Shop::open(Alpn::H1, Mood::Always(Says::Hold), default, sell).await;
    shop.gate
        .fetch(Via::TlsH1, &shop.ask("/v2"))
        .await
        .assert_denied(403, "verdict_hold");
    let off = json!({ "screen_challenges": false });
    let shop = Shop::open(Alpn::H1, Mood::Always(Says::Hold), off, sell).await;
    assert_eq!(shop.gate.fetch(Via::TlsH1, &shop.ask("/v2")).await.status, 402);
    assert_eq!(shop.peer.questions().len(), 0);
}
