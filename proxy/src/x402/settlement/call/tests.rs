#![allow(clippy::unwrap_used)]
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

fn settlement(outcome: SettlementOutcome) -> Settlement {
    Settlement {
        outcome,
        transaction: None,
        amount: None,
    }
}

#[test]
fn the_sellers_word_is_found_where_its_protocol_has_it() {
    let (yes, no) = (json!({ "success": true }), json!({ "success": false }));
    let settled = Some(settlement(SettlementOutcome::Settled));
    let failed = Some(settlement(SettlementOutcome::Failed));
    let completed = json!({ "x402.payment.status": "payment-completed" });
    let in_message = |metadata: &Json| json!({ "id": "task-1", "status": { "message": { "metadata": metadata } } });
    let table = [
        (json!({ "_meta": { "x402/payment-response": yes } }), settled.clone()),
        (json!({ "_meta": { "x402/payment-response": no }, "isError": true }), failed.clone()),
        (
            json!({ "structuredContent": { "x402/payment-response": no }, "isError": true }),
            failed.clone(),
        ),
        (in_message(&json!({ "x402.payment.receipts": [no, yes] })), settled.clone()),
        (in_message(&json!({ "x402.payment.receipts": [yes, no] })), failed.clone()),
        (in_message(&completed), settled.clone()),
        (in_message(&json!({ "x402.payment.status": "payment-failed" })), failed.clone()),
        (
            in_message(&json!({ "x402.payment.status": "payment-completed", "x402.payment.receipts": [no] })),
            failed.clone(),
        ),
        (json!({ "kind": "message", "metadata": completed }), settled.clone()),
        (json!({ "task": in_message(&completed) }), settled.clone()),
        (json!({ "statusUpdate": in_message(&completed) }), settled.clone()),
        (json!({ "message": { "metadata": completed } }), settled),
        // Nothing is said yet, or nothing that could be understood.
        (in_message(&json!({ "x402.payment.status": "payment-verified" })), None),
        (in_message(&json!({ "x402.payment.receipts": {} })), None),
        (json!({ "_meta": { "x402/payment-response": "yes" } }), None),
        (json!({ "_meta": { "x402/payment-response": { "success": "true" } } }), None),
        (
            json!({ "_meta": { "x402/payment-response": { "success": true, "note": "x".repeat(MAX_BYTES) } } }),
            None,
        ),
        (json!({ "content": { "_meta": { "x402/payment-response": yes } } }), None),
        (json!("x402/payment-response"), None),
    ];
    for (result, expected) in table {
        let answer = json!({ "jsonrpc": "2.0", "id": 7, "result": result }).to_string();
        let read = CallAnswer::read(&answer, "7").unwrap();
        assert_eq!(read.settlement, expected, "{answer}");
        let says_error = result.get("isError") == Some(&json!(true));
        assert_eq!(read.result == CallResult::Error, says_error, "{answer}");
    }
    let error = json!({ "id": 7, "error": { "code": 402, "data": { "x402/payment-response": no } } }).to_string();
    let read = CallAnswer::read(&error, "7").unwrap();
    assert_eq!((read.result, read.settlement), (CallResult::Error, failed));
}

#[test]
fn only_an_answer_to_the_call_is_one() {
    for (text, id, answers) in [
        (r#"{"id":7,"result":{}}"#, "7", true),
        (r#"{ "result" : null, "id" : 7 }"#, "7", true),
        (r#"{"id":"a\u002d1","result":{}}"#, r#""a-1""#, true),
        (r#"{"id":7,"error":{}}"#, "7", true),
        (r#"{"id":"7","result":{}}"#, "7", false),
        (r#"{"id":8,"result":{}}"#, "7", false),
        (r#"{"result":{}}"#, "7", false),
        (r#"{"id":7,"method":"ping"}"#, "7", false),
        (r#"[{"id":7,"result":{}}]"#, "7", false),
        (r#"{"id":7,"result":{}"#, "7", false),
        ("", "7", false),
    ] {
        assert_eq!(CallAnswer::read(text, id).is_some(), answers, "{text}");
    }
}

proptest! {
    #[test]
    fn no_answer_makes_the_reader_panic(text in r#"[{}\[\]":,a-z0-9._/ \\u-]{0,200}"#) {
        let _ = CallAnswer::read(&text, "7");
        let _ = CallAnswer::read(&format!(r#"{{"id":7,"result":{text}}}"#), "7");
    }
}
