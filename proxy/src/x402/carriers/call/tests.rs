#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use http::HeaderValue;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::x402::json;

fn payment() -> Json {
    json!({ "x402Version": 2, "payload": { "signature": "0x11", "authorization": {} }, "accepted": {}, "resource": { "url": "mcp://tool/t" } })
}

fn mcp() -> Json {
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": { "name": "t", "arguments": { "a": 1 }, "_meta": { "progressToken": 1, "x402/payment": payment() } } })
}

fn a2a() -> Json {
    json!({ "jsonrpc": "2.0", "id": "a", "method": "message/send", "params": { "message": { "taskId": "task-1", "role": "user",
        "parts": [], "metadata": { "x402.payment.status": "payment-submitted", "x402.payment.payload": payment() } } } })
}

fn carried(text: &str) -> Result<Option<Carried>, Reason> {
    let document = json::parse(text.as_bytes(), 100).unwrap();
    Sought::of(&document).one(text).map_err(|refusal| refusal.reason)
}

#[test]
fn a_payment_comes_out_as_it_is_written() {
    for (document, call) in [(mcp(), Call::Tool("t".into())), (a2a(), Call::Task(Some("task-1".into())))] {
        let found = carried(&document.to_string()).unwrap().unwrap();
        assert_eq!((found.call, &*found.payment), (call, payment().to_string().as_str()));
    }
    let spaced = mcp().to_string().replace("\"x402Version\":2", " \"x402Version\" : 2 ");
    let found = carried(&spaced.replace("x402/payment", "x402\\u002fpayment")).unwrap().unwrap();
    assert!(found.payment.contains(" \"x402Version\" : 2 "));
    assert!(!format!("{found:?}").contains("0x11"), "a signature is never shown");
    for (method, params, call) in [
        ("resources/read", json!({ "uri": "file:///x" }), Call::Reading("file:///x".into())),
        ("prompts/get", json!({ "name": "p" }), Call::Prompt("p".into())),
    ] {
        let mut document = mcp();
        document["method"] = json!(method);
        document["params"] = params;
        document["params"]["_meta"] = json!({ "x402/payment": payment() });
        assert_eq!(carried(&document.to_string()).unwrap().unwrap().call, call);
    }
    assert_eq!(carried(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#), Ok(None));
}

type Bend = fn(&mut Json);

#[test]
fn a_payment_in_a_call_that_two_servers_read_differently_is_refused() {
    let bends: [(&str, Bend); 16] = [
        ("no jsonrpc", |d| drop(d.as_object_mut().unwrap().remove("jsonrpc"))),
        ("jsonrpc 1.0", |d| d["jsonrpc"] = json!("1.0")),
        ("a notification", |d| drop(d.as_object_mut().unwrap().remove("id"))),
        ("a null id", |d| d["id"] = json!(null)),
        ("an id of another kind", |d| d["id"] = json!([1])),
        ("no method", |d| drop(d.as_object_mut().unwrap().remove("method"))),
        ("another method", |d| d["method"] = json!("tools/list")),
        ("a method of the other protocol", |d| d["method"] = json!("message/send")),
        ("no name", |d| drop(d["params"].as_object_mut().unwrap().remove("name"))),
        ("a name that is none", |d| d["params"]["name"] = json!(["t"])),
        ("params twice by case", |d| d["Params"] = json!({})),
        ("the name twice by case", |d| d["params"]["Name"] = json!("other")),
        ("the payment twice by case", |d| d["params"]["_meta"]["X402/Payment"] = json!(1)),
        ("the payment as a string", |d| {
            d["params"]["_meta"]["x402/payment"] = json!(payment().to_string());
        }),
        ("the payment as null", |d| d["params"]["_meta"]["x402/payment"] = json!(null)),
        ("_meta twice by case", |d| d["params"]["_Meta"] = json!({})),
    ];
    for (name, bend) in bends {
        let mut document = mcp();
        bend(&mut document);
        assert_eq!(carried(&document.to_string()), Err(Reason::PaymentMalformed), "{name}");
    }
    let bends: [(&str, Bend); 3] = [
        ("another method", |d| d["method"] = json!("tasks/get")),
        ("a method of the other protocol", |d| d["method"] = json!("tools/call")),
        ("metadata twice by case", |d| d["params"]["message"]["Metadata"] = json!({})),
    ];
    for (name, bend) in bends {
        let mut document = a2a();
        bend(&mut document);
        assert_eq!(carried(&document.to_string()), Err(Reason::PaymentMalformed), "A2A: {name}");
    }
}

#[test]
fn of_several_payments_none_is_judged() {
    let conflict = Err(Reason::PaymentConflicting);
    let mut both = mcp();
    both["params"]["message"] = a2a()["params"]["message"].clone();
    assert_eq!(carried(&both.to_string()), conflict, "two places");
    assert_eq!(carried(&json!([mcp(), mcp()]).to_string()), conflict, "two in a batch");
    assert_eq!(carried(&json!([mcp(), a2a()]).to_string()), conflict, "one of each in a batch");
    // What stands beside it would leave with its GO.
    let free = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "free" } });
    for batch in [json!([mcp()]), json!([free, mcp()])] {
        assert_eq!(carried(&batch.to_string()), Err(Reason::PaymentMalformed), "a batch");
    }
    let mut large = mcp();
    large["params"]["_meta"]["x402/payment"]["resource"]["description"] = json!("d".repeat(20_000));
    assert_eq!(carried(&large.to_string()), Err(Reason::PaymentTooLarge));
}

#[test]
fn only_a_post_of_json_carries_a_payment() {
    let found = carried(&mcp().to_string()).unwrap().unwrap();
    let reason = |method: Method, types: &[&'static str]| {
        let headers = types
            .iter()
            .map(|value| (header::CONTENT_TYPE, HeaderValue::from_static(value)))
            .fold(HeaderMap::new(), |mut all, (name, value)| {
                all.append(name, value);
                all
            });
        found.check_request(&method, &headers).err().map(|refusal| refusal.reason)
    };
    for declared in ["application/json", "Application/JSON; charset=utf-8"] {
        assert_eq!(reason(Method::POST, &[declared]), None, "{declared}");
        assert_eq!(reason(Method::PUT, &[declared]), Some(Reason::PaymentMalformed));
    }
    for declared in [
        &["text/plain"][..],
        &[],
        &["application/x-www-form-urlencoded"],
        &["application/json; charset=utf-16"],
        &["application/json", "text/plain"],
        &["application/jsonl"],
        &["application/json-patch+json"],
    ] {
        assert_eq!(reason(Method::POST, declared), Some(Reason::PaymentMalformed), "{declared:?}");
    }
}

proptest! {
    #[test]
    fn any_document_is_looked_through(text in r#"[\{\}\[\]",:a-z0-9 _/.]{0,60}"#) {
        if let Ok(document) = json::parse(text.as_bytes(), 20) {
            let _ = Sought::of(&document).one(&text);
        }
    }
}
