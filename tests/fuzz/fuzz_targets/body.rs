//! The search of a request's body: where it says that there is no payment, a reader that takes the last of two members finds none either,
//! and what comes out to be judged is the one payment that such a reader finds, byte for byte.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tollgate::gate::rail::{Rails, RailsConfig};
use tollgate::x402::carriers::{A2A_PAYMENT, Call, MCP_PAYMENT};

static RAILS: LazyLock<Rails> = LazyLock::new(|| Rails::new(&RailsConfig::default()).expect("the built-in list"));

/// The payments that a reader in any language finds in a document, whatever the case of its keys.
fn payments<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| payments(value, found)),
        Value::Object(object) => {
            let has = |name: &str| object.keys().any(|key| key.eq_ignore_ascii_case(name));
            if has("x402Version") && has("payload") {
                found.push(value);
            }
            object.values().for_each(|value| payments(value, found));
        }
        _ => {}
    }
}

/// What a reader makes of the bytes that is told, or guesses, their encoding.
fn readings(body: &[u8]) -> Vec<Value> {
    let utf16 = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = body.as_chunks::<2>().0.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16_lossy(&units)
    };
    let texts = [
        String::from_utf8_lossy(body).into_owned(),
        utf16(u16::from_be_bytes),
        utf16(u16::from_le_bytes),
    ];
    let read = |text: &String| serde_json::from_str(text.trim_start_matches('\u{feff}')).ok();
    texts.iter().filter_map(read).collect()
}

fuzz_target!(|body: &[u8]| {
    let Ok(carried) = RAILS.in_body("/mcp", body) else { return };
    let readings = readings(body);
    let mut found = Vec::new();
    readings.iter().for_each(|reading| payments(reading, &mut found));
    let Some(carried) = carried else {
        assert!(found.is_empty(), "a payment was passed over");
        return;
    };
    let text = std::str::from_utf8(body).expect("paid in UTF-8 only");
    assert_eq!(&text[carried.at.clone()], &*carried.payment);
    let payment: Value = serde_json::from_str(&carried.payment).expect("a document");
    let [request] = readings.as_slice() else {
        panic!("read in more ways than one")
    };
    let (path, called) = match &carried.call {
        Call::Task(task) => (["message", "metadata", A2A_PAYMENT].as_slice(), task.as_deref()),
        Call::Tool(name) | Call::Prompt(name) | Call::Reading(name) => (["_meta", MCP_PAYMENT].as_slice(), Some(&**name)),
    };
    // What is within the payment is seen when it is decoded.
    let mut rest = request.clone();
    let placed = path.iter().fold(&mut rest["params"], |value, name| &mut value[name]).take();
    assert_eq!(placed, payment);
    let mut others = Vec::new();
    payments(&rest, &mut others);
    assert!(others.is_empty(), "another payment leaves with it");
    let stated = match &carried.call {
        Call::Task(_) => &request["params"]["message"]["taskId"],
        Call::Reading(_) => &request["params"]["uri"],
        Call::Tool(_) | Call::Prompt(_) => &request["params"]["name"],
    };
    assert_eq!(stated.as_str(), called);
    let id = request["id"].to_string();
    assert!(request["id"].is_u64() || request["id"].is_string());
    // Ids are compared as they are written; an escaped one is only found by its own spelling.
    assert!(text.contains('\\') || Call::by_id(body, &id) == Some(carried.call));
});
