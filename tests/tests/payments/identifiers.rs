//! A payment identifier is what the seller asked for, in its form, and belongs to one payment.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tollgate_tests::authority::Alpn;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::{Reply, Seen};
use tollgate_tests::payment::{ASSET, CENT, NETWORK, PAYEE, Terms, Wallet, encode};
use tollgate_tests::policy::HOST;
use tollgate_tests::verdict_peer::{Mood, Says};

use super::seller::Shop;

/// As the Python SDK's seller declares it.
fn declared(required: bool) -> Value {
    json!({ "info": { "required": required }, "schema": {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "properties": { "required": { "type": "boolean" }, "id": { "type": "string", "minLength": 16, "maxLength": 128 } },
        "required": ["required"],
    }})
}

fn sell(seen: &Seen) -> Reply {
    let response = http::Response::builder();
    if seen.header("payment-signature").is_some() {
        return response.status(200).body(Full::new(Bytes::from_static(b"sold")).boxed()).unwrap();
    }
    let url = format!("https://{}{}", seen.authority.as_deref().unwrap_or_default(), seen.target);
    let mut challenge = json!({
        "x402Version": 2, "error": "Payment required", "resource": { "url": url },
        "accepts": [{ "scheme": "exact", "network": NETWORK, "amount": CENT, "asset": ASSET, "payTo": PAYEE, "maxTimeoutSeconds": 300,
                      "extra": { "name": "USDC", "version": "2" } }],
    });
    match seen.target.as_str() {
        "/required" => challenge["extensions"] = json!({ "payment-identifier": declared(true) }),
        "/optional" => challenge["extensions"] = json!({ "payment-identifier": declared(false) }),
        _ => {}
    }
    let response = response.status(402).header("payment-required", encode(&challenge));
    response.body(Full::new(Bytes::from_static(b"{}")).boxed()).unwrap()
}

fn paying<'a>(shop: &Shop, target: &'a str, extension: Option<Value>) -> Ask<'a> {
    let url = format!("https://{HOST}:{}{target}", shop.seller.port());
    let mut payment = Wallet::default().v2(&url, &Terms::default());
    if let Some(extension) = extension {
        payment["extensions"] = json!({ "payment-identifier": extension });
    }
    shop.ask(target).header("PAYMENT-SIGNATURE", encode(&payment))
}

fn with(extension: Value, id: &str) -> Value {
    let mut extension = extension;
    extension["info"]["id"] = json!(id);
    extension
}

#[tokio::test]
async fn a_client_can_neither_leave_out_nor_soften_nor_invent_what_the_seller_asked_for() {
    let shop = Shop::open(Alpn::H1, Mood::Always(Says::Go), json!({ "require_challenge": true }), sell).await;
    let mut laxer = with(declared(true), "pay_0000000000000001");
    laxer["schema"]["properties"]["id"]["minLength"] = json!(1);
    let bad = Some("payment_identifier_invalid");
    let id = "pay_7d5d747be160e280504c099d984bcfe0";
    for (name, target, extension, expected) in [
        ("left out", "/required", None, bad),
        ("without an id", "/required", Some(declared(true)), bad),
        ("softened", "/required", Some(declared(false)), bad),
        ("with another schema", "/required", Some(laxer), bad),
        ("too short", "/required", Some(with(declared(true), "short")), bad),
        (
            "with a line end",
            "/required",
            Some(with(declared(true), "pay_0000000000000001\n")),
            bad,
        ),
        ("as it should be", "/required", Some(with(declared(true), id)), None),
        ("used before", "/optional", Some(with(declared(false), id)), bad),
        ("left out where it may be", "/optional", None, None),
        ("repeated without an id where it may be", "/optional", Some(declared(false)), None),
        ("invented", "/none", Some(with(declared(false), "pay_0000000000000002")), bad),
    ] {
        shop.asked_to_pay(Via::TlsH1, target).await;
        let answer = shop.gate.fetch(Via::TlsH1, &paying(&shop, target, extension)).await;
        assert_eq!(answer.reason(), expected, "{name}: {answer:?}");
    }
    assert_eq!((shop.sold(), shop.peer.questions().len()), (3, 3));
    let event = shop
        .gate
        .audited(json!({ "decision": "allow", "payment": { "amount": "10000" } }))
        .await;
    assert_eq!(event["payment"]["identifier_hash"].as_str().map(str::len), Some(64), "{event}");
    assert!(!shop.gate.audit_events().iter().any(|event| event.to_string().contains(id)));
}
