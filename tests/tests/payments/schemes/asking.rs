//! What a 402 asks for by these schemes: screened by what is on, and answered by payments of the same scheme.

use serde_json::{Value, json};
use tollgate_tests::authority::Alpn;
use tollgate_tests::client::Via;
use tollgate_tests::origin::{Reply, Seen};
use tollgate_tests::payment::permit2::Permit;
use tollgate_tests::payment::solana::{self, DEVNET, Keypair, Transfer};
use tollgate_tests::payment::{ASSET, NETWORK, Terms, Wallet, encode};
use tollgate_tests::policy::HOST;
use tollgate_tests::verdict_peer::{Mood, Says};

use super::all;
use crate::seller::Shop;

/// Sells by every scheme at once, and by v1 on Solana under `/v1`.
fn sell(seen: &Seen) -> Reply {
    use bytes::Bytes;
    use http_body_util::{BodyExt as _, Full};
    let url = format!("https://{}{}", seen.authority.as_deref().unwrap_or_default(), seen.target);
    let answer = |status: u16, challenge: Option<String>, body: String| {
        let mut response = http::Response::builder().status(status);
        if let Some(challenge) = challenge {
            response = response.header("payment-required", challenge);
        }
        response.body(Full::new(Bytes::from(body)).boxed()).unwrap()
    };
    if seen.header("payment-signature").or(seen.header("x-payment")).is_some() {
        return answer(200, None, "sold".to_owned());
    }
    if seen.target.starts_with("/v1") {
        return answer(402, None, solana::v1_body(&url).to_string());
    }
    let mut exact = Permit::exact().offer();
    exact["extra"] = json!({ "name": "USDC", "version": "2" });
    let options = [exact, Permit::exact().offer(), Permit::upto().offer(), Transfer::default().offer()];
    let challenge = json!({ "x402Version": 2, "error": "pay", "resource": { "url": url }, "accepts": options });
    answer(402, Some(encode(&challenge)), "{}".to_owned())
}

fn schemes_offered(answer: &tollgate_tests::answer::Answer) -> Vec<String> {
    use base64::Engine as _;
    let value = answer.header("payment-required").unwrap();
    let document: Value = serde_json::from_slice(&base64::engine::general_purpose::STANDARD.decode(value).unwrap()).unwrap();
    let name = |option: &Value| match (option["scheme"].as_str(), option["extra"]["assetTransferMethod"].as_str()) {
        (Some("exact"), Some("permit2")) => "exact-permit2".to_owned(),
        (Some("exact"), None) if option["network"] == DEVNET => "exact-svm".to_owned(),
        (scheme, _) => scheme.unwrap_or_default().to_owned(),
    };
    document["accepts"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn a_client_sees_the_options_of_the_schemes_that_are_on_and_pays_one() {
    let screened = |schemes: Value| {
        let mut payments = all();
        payments["schemes"] = schemes;
        payments["require_challenge"] = json!(true);
        payments["screen_challenges"] = json!(true);
        payments
    };
    let every = ["exact", "exact-permit2", "upto", "exact-svm"];
    let shop = Shop::open(Alpn::H2, Mood::Always(Says::Go), screened(json!(every)), sell).await;
    let url = format!("https://{HOST}:{}/paid", shop.seller.port());
    let payments = [
        Wallet::default().v2(&url, &Terms::default()),
        Wallet::default().permit2(&url, &Permit::exact()),
        Wallet::default().permit2(&url, &Permit::upto()),
        Keypair::default().v2(&url, &Transfer::default()),
    ];
    for payment in payments {
        let offered = shop.gate.fetch(Via::TlsH1, &shop.ask("/paid")).await;
        assert_eq!(
            (offered.status, schemes_offered(&offered)),
            (402, every.map(str::to_owned).to_vec())
        );
        // The offer of one scheme is not answered by another: the seller and the verdict had something else in mind.
        let paid = shop
            .gate
            .fetch(Via::TlsH2, &shop.ask("/paid").header("PAYMENT-SIGNATURE", encode(&payment)))
            .await;
        assert_eq!((paid.status, paid.text().as_str()), (200, "sold"), "{payment}");
    }
    assert_eq!(shop.sold(), 4);

    let fewer = json!({ "schemes": ["exact", "upto"], "networks": [NETWORK], "assets": [format!("{NETWORK}/{ASSET}")] });
    let mut payments = screened(json!([]));
    payments.as_object_mut().unwrap().extend(fewer.as_object().unwrap().clone());
    let shop = Shop::open(Alpn::H1, Mood::Always(Says::Go), payments, sell).await;
    let offered = shop.gate.fetch(Via::TlsH1, &shop.ask("/paid")).await;
    assert_eq!(schemes_offered(&offered), ["exact", "upto"]);
    let url = format!("https://{HOST}:{}/paid", shop.seller.port());
    let taken_out = Wallet::default().permit2(&url, &Permit::exact());
    let refused = shop
        .gate
        .fetch(Via::TlsH1, &shop.ask("/paid").header("PAYMENT-SIGNATURE", encode(&taken_out)))
        .await;
    refused.assert_denied(403, "payment_scheme_not_allowed");
    assert_eq!(shop.sold(), 0);
}

#[tokio::test]
async fn a_v1_payment_on_solana_pays_whom_its_402_named() {
    let mut payments = all();
    payments["require_challenge"] = json!(true);
    payments["payees"] = json!([solana::PAYEE]);
    let shop = Shop::open(Alpn::H1, Mood::Always(Says::Go), payments, sell).await;
    let paying = |transfer: &Transfer| shop.ask("/v1").header("X-PAYMENT", encode(&Keypair::default().v1(transfer)));
    let unasked = shop.gate.fetch(Via::TlsH1, &paying(&Transfer::default())).await;
    unasked.assert_denied(403, "payment_no_challenge");
    shop.asked_to_pay(Via::TlsH1, "/v1").await;
    let elsewhere = Transfer {
        to: Keypair::default().address,
        ..Transfer::default()
    };
    let refused = shop.gate.fetch(Via::TlsH1, &paying(&elsewhere)).await;
    refused.assert_denied(403, "payment_mismatch");
    assert_eq!((shop.sold(), shop.peer.questions().len()), (0, 0));
    let paid = shop.gate.fetch(Via::TlsH1, &paying(&Transfer::default())).await;
    assert_eq!((paid.status, shop.sold()), (200, 1), "{paid:?}");
    assert_eq!(shop.peer.questions()[0].claim["counterparty"], solana::PAYEE);
}
