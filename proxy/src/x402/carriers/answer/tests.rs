#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

const PAYEE: &str = "0x209693bc6afc0c5328ba36faf03c514ef312287c";
const OTHER: &str = "0x00000000000000000000000000000000000000aa";

fn option(payee: &str) -> Json {
    json!({ "scheme": "exact", "network": "eip155:84532", "amount": "1000", "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
        "payTo": payee, "maxTimeoutSeconds": 60, "extra": { "name": "USDC", "version": "2" } })
}

fn challenge() -> Json {
    json!({ "x402Version": 2, "error": "pay", "resource": { "url": "mcp://tool/weather" }, "accepts": [option(PAYEE), option(OTHER)] })
}

fn v1() -> Json {
    json!({ "x402Version": 1, "error": "pay", "accepts": [{ "scheme": "exact", "network": "base-sepolia", "maxAmountRequired": "1000",
        "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "payTo": PAYEE, "resource": "mcp://tool/weather", "description": "",
        "maxTimeoutSeconds": 60 }] })
}

fn result(content: &Json) -> Json {
    let mut result = content.clone();
    result["isError"] = json!(true);
    json!({ "jsonrpc": "2.0", "id": 7, "result": result })
}

fn text_item(text: &str) -> Json {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// How many challenges each of these has.
fn count(document: &Json) -> Result<usize, ChallengeError> {
    challenges(&document.to_string()).map(|posed| posed.len())
}

#[test]
fn challenges_are_found_where_clients_look() {
    let quoted = challenge().to_string();
    let cases = [
        ("structured", result(&json!({ "structuredContent": challenge() })), 1),
        ("as text", result(&text_item(&quoted)), 1),
        (
            "behind words",
            result(&text_item(&format!("Error executing tool weather: {quoted}"))),
            1,
        ),
        (
            "in the second text",
            result(&json!({ "content": [{ "type": "text", "text": "pay" }, { "type": "text", "text": quoted }] })),
            1,
        ),
        ("v1", result(&json!({ "structuredContent": v1() })), 1),
        ("v1 wrapped", result(&text_item(&json!({ "x402/error": v1() }).to_string())), 1),
        ("v1 in _meta", result(&json!({ "_meta": { "x402/error": v1() } })), 1),
        (
            "both copies",
            result(&json!({ "structuredContent": challenge(), "content": [{ "type": "text", "text": quoted }] })),
            2,
        ),
        (
            "an error's data",
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 402, "message": "", "data": challenge() } }),
            1,
        ),
        (
            "a batch",
            json!([result(&json!({ "structuredContent": challenge() })), result(&text_item(&quoted))]),
            2,
        ),
        (
            "a task",
            json!({ "id": 1, "result": { "kind": "task", "id": "t", "status": { "state": "input-required",
            "message": { "metadata": { "x402.payment.status": "payment-required", "x402.payment.required": challenge() } } } } }),
            1,
        ),
        (
            "no error",
            json!({ "id": 1, "result": { "isError": false, "structuredContent": challenge() } }),
            0,
        ),
        (
            "no word of an error",
            json!({ "id": 1, "result": { "structuredContent": { "results": [challenge()] } } }),
            0,
        ),
        (
            "prose",
            result(&text_item("x402 {is a protocol} where a seller \"accepts\" payments")),
            0,
        ),
        ("another error", result(&text_item("{\"code\": 5}")), 0),
        (
            "a request of the server",
            json!({ "id": 1, "method": "sampling/createMessage", "params": { "isError": true, "structuredContent": challenge() } }),
            0,
        ),
    ];
    for (name, document, expected) in cases {
        assert_eq!(count(&document), Ok(expected), "{name}");
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/x402/mcp-v2-exact-evm-py.json");
    let captured: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let posed = challenges(captured["exchanges"][0]["response"]["body"].as_str().unwrap()).unwrap();
    assert_eq!(posed.len(), 2);
    assert_eq!(posed[0].carrier(None), Some(Carrier::Tool("weather")));
}

#[test]
fn a_challenge_within_a_challenge_is_refused() {
    let mut outer = challenge();
    outer["x402.payment.required"] = challenge();
    let document = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 402, "message": "", "data": outer } });
    assert_eq!(count(&document), Err(ChallengeError::Shape("one challenge stands within another")));
}

#[test]
fn what_a_lenient_client_reads_as_a_challenge_is_not_passed_over() {
    let twice = challenge().to_string().replacen("\"accepts\"", "\"accepts\":[],\"accepts\"", 1);
    let mut snake = challenge();
    snake["x402_version"] = snake.as_object_mut().unwrap().remove("x402Version").unwrap();
    for (name, document) in [
        ("a member twice", result(&text_item(&twice))),
        ("NaN", result(&text_item(&challenge().to_string().replacen("60", "NaN", 1)))),
        ("snake case", result(&json!({ "structuredContent": snake }))),
        (
            "a number that is no integer",
            result(&text_item(&challenge().to_string().replacen(
                "\"x402Version\":2",
                "\"x402Version\":2.0",
                1,
            ))),
        ),
        (
            "an agent's that is none",
            json!({ "result": { "metadata": { "x402.payment.required": { "price": 1 } } } }),
        ),
        (
            "large",
            result(&json!({ "structuredContent": { "x402Version": 2, "accepts": [], "pad": "p".repeat(70_000) } })),
        ),
    ] {
        assert!(count(&document).is_err(), "{name}");
    }
    for flag in [json!(1), json!("true"), json!("yes")] {
        let mut document = result(&json!({ "structuredContent": challenge() }));
        document["result"]["isError"] = flag.clone();
        assert_eq!(count(&document), Ok(1), "isError {flag}");
    }
    let cased = json!({ "Result": { "IsError": true, "StructuredContent": challenge() } });
    assert_eq!(count(&cased), Ok(1), "Go takes members in any case");
}

#[test]
fn each_challenge_knows_its_call() {
    let request = br#"[{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"weather"}},{"id":"b","method":"prompts/get","params":{"name":"p"}}]"#;
    assert_eq!(Call::by_id(request, "7"), Some(Call::Tool("weather".into())));
    assert_eq!(Call::by_id(request, "\"b\""), Some(Call::Prompt("p".into())));
    assert_eq!(Call::by_id(request, "8"), None);
    let posed = challenges(&result(&json!({ "structuredContent": challenge() })).to_string()).unwrap();
    let call = Call::Tool("other".into());
    assert_eq!((&*posed[0].id, posed[0].carrier(Some(&call))), ("7", Some(Carrier::Tool("other"))));
    for (answer, task) in [
        (
            json!({ "id": "t-1", "status": { "message": { "metadata": { "x402.payment.required": challenge() } } } }),
            Some("t-1"),
        ),
        (
            json!({ "kind": "status-update", "taskId": "t-2", "status": { "message": { "metadata": { "x402.payment.required": challenge() } } } }),
            Some("t-2"),
        ),
        (
            json!({ "kind": "message", "metadata": { "x402.payment.required": challenge() } }),
            None,
        ),
    ] {
        let posed = challenges(&json!({ "id": 1, "result": answer }).to_string()).unwrap();
        assert_eq!(posed[0].carrier(Some(&call)), Some(Carrier::Task(task)));
    }
    assert_eq!(&*id_of(br#"{"id" : "x\"y"}"#), r#""x\"y""#);
    assert_eq!(&*id_of(b"junk"), "null");
}

#[test]
fn options_are_taken_out_of_every_copy_and_the_rest_stays_as_it_is() {
    let quoted = challenge().to_string();
    let document = result(&json!({ "structuredContent": challenge(),
        "content": [{ "type": "text", "text": format!("Error: {quoted} (weather)") }], "n": 1.50 }));
    let text = document.to_string().replace("\"n\":1.5", "\"n\": 1.50");
    let posed = challenges(&text).unwrap();
    let keep = |_: usize, asked: &Asked| asked.pay_to.to_string() == PAYEE;
    let rewritten = only(&text, &posed, keep).unwrap();
    assert!(rewritten.contains("\"n\": 1.50") && !rewritten.contains(OTHER));
    let read: Json = serde_json::from_str(&rewritten).unwrap();
    assert_eq!(read["result"]["structuredContent"]["accepts"], json!([option(PAYEE)]));
    let within = read["result"]["content"][0]["text"].as_str().unwrap();
    assert!(within.starts_with("Error: {") && within.ends_with("} (weather)"), "{within}");
    assert_eq!(only(&text, &posed, |_, _| true).as_deref(), Some(&*text));
}

#[test]
fn most_answers_are_not_even_read() {
    for text in [r#"{"result":{"content":[{"text":"sunny"}]}}"#, "", "{\"isError\":true}"] {
        assert!(!may_ask(text.as_bytes()), "{text}");
    }
    for text in [
        challenge().to_string(),
        r#"{"\u0061ccepts":[]}"#.to_owned(),
        text_item(&challenge().to_string()).to_string(),
    ] {
        assert!(may_ask(text.as_bytes()), "{text}");
    }
    assert!(speaks_of_one(
        challenge().to_string().replace("accepts", "\\u0061ccepts").as_bytes()
    ));
}

proptest! {
    #[test]
    fn any_answer_is_looked_through(text in r#"[\{\}\[\]",:a-z0-9 _/.]{0,60}"#) {
        if let Ok(posed) = challenges(&text) {
            prop_assert_eq!(only(&text, &posed, |_, _| true), Some(text));
        }
    }
}
