//! Payments in JSON-RPC bodies that are not exactly one payment in its one place, or in bytes that servers read differently: none leaves.

use serde_json::{Value, json};
use tollgate_tests::answer::Rows;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{Terms, encode};
use tollgate_tests::verdict_peer::{Mood, Says};

use super::calls::Protocol;
use super::carriers::post;
use super::shop;

type Bend = fn(Value) -> Value;

/// What becomes of a paid MCP call when it is bent like this.
const BENT: &[(&str, Bend, &str)] = &[
    ("a batch of one", |call| json!([call]), "payment_malformed"),
    (
        "a batch with a free call",
        |call| json!([{ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }, call]),
        "payment_malformed",
    ),
    (
        "a batch with two payments",
        |call| {
            let other = Protocol::Mcp.paid(&Protocol::Mcp.payment("", &Terms::default()));
            json!([call, other])
        },
        "payment_conflicting",
    ),
    (
        "the same payment twice in a batch",
        |call| json!([call.clone(), call]),
        "payment_conflicting",
    ),
    (
        "in both protocols' places",
        |mut call| {
            let metadata = json!({ "x402.payment.payload": call["params"]["_meta"]["x402/payment"] });
            call["params"]["message"] = json!({ "metadata": metadata });
            call
        },
        "payment_conflicting",
    ),
    (
        "another one among the arguments",
        |mut call| {
            call["params"]["arguments"]["note"] = Protocol::Mcp.payment("", &Terms::default());
            call
        },
        "payment_conflicting",
    ),
    (
        "another one in base64 among the arguments",
        |mut call| {
            call["params"]["arguments"]["note"] = json!(encode(&Protocol::Mcp.payment("", &Terms::default())));
            call
        },
        "payment_conflicting",
    ),
    (
        "a second signature beside it",
        |mut call| {
            call["params"]["arguments"] = Protocol::Mcp.payment("", &Terms::default())["payload"].clone();
            call
        },
        "payment_conflicting",
    ),
    (
        "a second payment inside the payment",
        |mut call| {
            let other = Protocol::Mcp.payment("", &Terms::default());
            call["params"]["_meta"]["x402/payment"]["accepted"]["extra"]["note"] = other;
            call
        },
        "payment_scheme_not_allowed",
    ),
    (
        "one level deeper than its place",
        |mut call| {
            call["params"]["_meta"] = json!({ "inner": call["params"]["_meta"] });
            call
        },
        "payment_malformed",
    ),
    (
        "a call within the arguments of a call",
        |call| json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "proxy", "arguments": { "call": call } } }),
        "payment_malformed",
    ),
    (
        "in _meta beside params",
        |mut call| {
            call["_meta"] = call["params"]["_meta"].take();
            call
        },
        "payment_malformed",
    ),
    (
        "as a JSON string",
        |mut call| {
            call["params"]["_meta"]["x402/payment"] = json!(call["params"]["_meta"]["x402/payment"].to_string());
            call
        },
        "payment_malformed",
    ),
    (
        "as base64",
        |mut call| {
            call["params"]["_meta"]["x402/payment"] = json!(encode(&call["params"]["_meta"]["x402/payment"]));
            call
        },
        "payment_malformed",
    ),
    (
        "in a notification",
        |mut call| {
            call.as_object_mut().unwrap().remove("id");
            call
        },
        "payment_malformed",
    ),
    (
        "in a method that sells nothing",
        |mut call| {
            call["method"] = json!("logging/setLevel");
            call
        },
        "payment_malformed",
    ),
    (
        "the name again in another case",
        |mut call| {
            call["params"]["Name"] = json!("free");
            call
        },
        "payment_malformed",
    ),
    (
        "another tool than the payment names",
        |mut call| {
            call["params"]["name"] = json!("forecast");
            call
        },
        "payment_mismatch",
    ),
    (
        "another tool by a blank",
        |mut call| {
            call["params"]["name"] = json!("weather ");
            call
        },
        "payment_mismatch",
    ),
    (
        "a resource that is read, paid as a tool",
        |mut call| {
            call["method"] = json!("resources/read");
            call["params"]["uri"] = json!("mcp://tool/weather");
            call
        },
        "payment_mismatch",
    ),
    (
        "larger than any honest payment",
        |mut call| {
            call["params"]["_meta"]["x402/payment"]["resource"]["description"] = json!("d".repeat(20_000));
            call
        },
        "payment_too_large",
    ),
    (
        "an unknown member of what is signed",
        |mut call| {
            call["params"]["_meta"]["x402/payment"]["payload"]["authorization"]["To"] = json!("x");
            call
        },
        "payment_malformed",
    ),
    (
        "another price than is signed",
        |mut call| {
            call["params"]["_meta"]["x402/payment"]["accepted"]["amount"] = json!("1");
            call
        },
        "payment_mismatch",
    ),
    (
        "a facilitator's call",
        |call| json!({ "x402Version": 2, "paymentPayload": call["params"]["_meta"]["x402/payment"], "paymentRequirements": {} }),
        "rail_facilitator_call",
    ),
];

#[tokio::test]
async fn a_payment_that_is_not_one_in_its_one_place_stays_in() {
    let (world, peer) = shop(Mood::Always(Says::Go)).await;
    for via in [Via::AbsoluteForm, Via::TlsH1, Via::TlsH2] {
        let mut rows = Rows::default();
        for (name, bend, reason) in BENT {
            let call = Protocol::Mcp.paid(&Protocol::Mcp.payment("", &Terms::default()));
            let text = bend(call).to_string();
            let answer = world.gate.fetch(via, &post(&world, via, text.as_bytes())).await;
            rows.check(name, &answer, reason);
        }
        rows.assert_all_refused();
    }
    assert!(peer.questions().is_empty());
    world.assert_untouched();
}

#[tokio::test]
async fn a_paid_call_in_bytes_that_servers_read_differently_stays_in() {
    let (world, peer) = shop(Mood::Always(Says::Go)).await;
    let text = Protocol::Mcp.paid(&Protocol::Mcp.payment("", &Terms::default())).to_string();
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let bodies: [(&str, Vec<u8>, &[&str]); 9] = [
        ("UTF-16", utf16, &["payment_malformed"]),
        (
            "a byte order mark",
            [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            &["payment_malformed"],
        ),
        ("two documents", format!("{{}}\n{text}").into(), &["payment_malformed"]),
        ("text behind it", format!("{text} x").into(), &["payment_malformed"]),
        (
            "to twice",
            text.replacen("\"to\":", "\"to\":\"0x1\",\"to\":", 1).into(),
            &["payment_malformed"],
        ),
        (
            "params twice",
            text.replacen("\"params\":", "\"params\":{},\"params\":", 1).into(),
            &["payment_malformed"],
        ),
        (
            "a trailing comma",
            format!("{},}}", &text[..text.len() - 1]).into(),
            &["payment_malformed"],
        ),
        ("cut off", text[..text.len() - 2].into(), &["payment_malformed"]),
        ("NaN beside it", text.replacen("\"Oslo\"", "NaN", 1).into(), &["payment_malformed"]),
    ];
    for (name, body, reasons) in bodies {
        for via in [Via::TlsH1, Via::TlsH2] {
            let answer = world.gate.fetch(via, &post(&world, via, &body)).await;
            assert!(
                answer.reason().is_some_and(|reason| reasons.contains(&reason)),
                "{name}: {answer:?}"
            );
        }
    }
    for (name, field, value, reason) in [
        ("text/plain", "content-type", "text/plain", "payment_malformed"),
        ("a form", "content-type", "application/x-www-form-urlencoded", "payment_malformed"),
        (
            "another charset",
            "content-type",
            "application/json; charset=utf-7",
            "payment_malformed",
        ),
        ("an unknown coding", "content-encoding", "compress", "uninspectable_traffic"),
        (
            "a coding that is not the body's",
            "content-encoding",
            "gzip",
            "uninspectable_traffic",
        ),
        ("two codings", "content-encoding", "gzip, br", "uninspectable_traffic"),
    ] {
        let ask = Ask::get(world.tls.port(), "/rpc").method("POST").header(field, value);
        let ask = Ask {
            body: text.as_bytes(),
            ..ask
        };
        let answer = world.gate.fetch(Via::TlsH1, &ask).await;
        assert_eq!(answer.reason(), Some(reason), "{name}: {answer:?}");
    }
    for method in ["GET", "PUT", "PATCH"] {
        let ask = post(&world, Via::TlsH1, text.as_bytes()).method(method);
        world.gate.fetch(Via::TlsH1, &ask).await.assert_denied(403, "payment_malformed");
    }
    assert!(peer.questions().is_empty());
    world.assert_untouched();
}
