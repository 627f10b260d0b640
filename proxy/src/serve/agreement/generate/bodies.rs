//! What bodies and messages ask for: operations, calls and tools of a few names, well put and otherwise.

use rand::Rng;
use serde_json::{Value, json};

use super::{Shape, pick};

/// A body or a message of this shape.
pub(super) fn body(rng: &mut impl Rng, shape: Shape) -> Vec<u8> {
    let text = match shape {
        Shape::Plain => pick(rng, PLAIN).to_owned(),
        Shape::Graphql => graphql(rng),
        Shape::JsonRpc => one_or_many(rng, json_rpc),
        Shape::Mcp => one_or_many(rng, mcp),
        Shape::Message => message(rng),
    };
    let mut bytes = text.into_bytes();
    match rng.random_range(0..25) {
        0 => bytes.extend(std::iter::repeat_n(b' ', pick(rng, &[200, 1 << 10, 4 << 10]))),
        1 => bytes.push(0xff),
        _ => {}
    }
    bytes
}

const PLAIN: &[&str] = &[
    r#"{"jsonrpc":"2.0","method":"eth_sendRawTransaction","params":["0x"],"id":1}"#,
    r#"[{"jsonrpc":"2.0","method":"eth_chainId","id":1},{"jsonrpc":"2.0","method":"eth_sendRawTransaction","id":2}]"#,
    r#"{"jsonrpc":"2.0","method":"eth_chainId","id":1}"#,
    r#"{"method":"a","method":"b"}"#,
    r#"{"paymentPayload":{},"paymentRequirements":{}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"x402/payment":{"x402Version":2}}}}"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"x402/payment":{}}}}]"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",}}"#,
    "not json",
];

const DOCUMENTS: &[&str] = &[
    "{ a }",
    "{ a }",
    "{ a b }",
    "query N { a }",
    "query Other { a(x: 1) { deep } }",
    "mutation { b }",
    "mutation N { b }",
    "mutation N2 { a x: b }",
    "subscription { a }",
    "subscription N { bc }",
    "query N($v: Int) { a(v: $v) }",
    "{ ...F } fragment F on Query { bc }",
    "{ ... on Query { a } ... @include(if: true) { b } }",
    "{ __typename __schema { types { name } } }",
    "{ a: drop }",
    "query N { a } mutation Other { b }",
    // None of these is one.
    "{ ...Missing }",
    "query N { a } query N { b }",
    "{ a",
    "fragment F on Query { a }",
    "",
];

/// `{"query": …}` and its like; a batch; a document as it stands.
fn graphql(rng: &mut impl Rng) -> String {
    match rng.random_range(0..20) {
        0..14 => envelope(rng).to_string(),
        14..16 => Value::from((0..rng.random_range(0..4)).map(|_| envelope(rng)).collect::<Vec<_>>()).to_string(),
        16..18 => pick(rng, DOCUMENTS).to_owned(),
        _ => pick(
            rng,
            &[
                r#"{"query":"{a}","query":"{b}"}"#,
                r#"{"query":"{a}","Query":"{b}"}"#,
                r#"{"query":["{a}"]}"#,
                r#"{"query":"{a}"} {"query":"{b}"}"#,
                r#"["{a}"]"#,
                "query=%7Ba%7D",
                "{",
                "",
            ],
        )
        .to_owned(),
    }
}

fn envelope(rng: &mut impl Rng) -> Value {
    let mut envelope = json!({ "query": pick(rng, DOCUMENTS) });
    if rng.random_ratio(1, 5) {
        envelope["operationName"] = pick(rng, &[json!("N"), json!("Other"), Value::Null, json!("")]);
    }
    if rng.random_ratio(1, 6) {
        envelope["variables"] = json!({ "v": 1 });
    }
    if rng.random_ratio(1, 5) {
        let hash = pick(rng, &["known", "writes", "nobody"]);
        match rng.random_range(0..3) {
            0 => envelope["id"] = json!(hash),
            1 => envelope["extensions"] = json!({ "persistedQuery": { "version": 1, "sha256Hash": hash } }),
            _ => envelope = json!({ "extensions": { "persistedQuery": { "version": 1, "sha256Hash": hash } } }),
        }
    }
    envelope
}

fn one_or_many<R: Rng>(rng: &mut R, one: impl Fn(&mut R) -> Value) -> String {
    match rng.random_range(0..20) {
        0..15 => one(rng).to_string(),
        15..18 => Value::from((0..rng.random_range(0..4)).map(|_| one(rng)).collect::<Vec<_>>()).to_string(),
        _ => pick(
            rng,
            &[
                r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"a","Method":"b"}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"a"}{"jsonrpc":"2.0","id":1,"method":"b"}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"read"}}"#,
                r#""a""#,
                "{",
                "",
            ],
        )
        .to_owned(),
    }
}

fn json_rpc(rng: &mut impl Rng) -> Value {
    let method = pick(rng, &["a", "a", "b", "c", "eth_chainId", "eth_sendRawTransaction"]);
    let mut call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": [] });
    break_one_member(rng, &mut call);
    call
}

fn mcp(rng: &mut impl Rng) -> Value {
    let mut call = if rng.random_ratio(3, 5) {
        let tool = pick(rng, &["read", "read", "read_file", "write", "drop", "read it", "a.b", ""]);
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": { "x": 1 } } })
    } else {
        let method = pick(rng, &["initialize", "tools/list", "tools/call", "resources/read", "a"]);
        json!({ "jsonrpc": "2.0", "id": 1, "method": method })
    };
    break_one_member(rng, &mut call);
    call
}

/// Most stay whole. A call without an id is a notification, one with a result an answer or nothing.
fn break_one_member(rng: &mut impl Rng, call: &mut Value) {
    let members = call.as_object_mut().unwrap();
    match rng.random_range(0..30) {
        0 => drop(members.remove("id")),
        1 => drop(members.remove("jsonrpc")),
        2 => drop(members.insert("id".to_owned(), json!({}))),
        3 => drop(members.insert("params".to_owned(), json!("text"))),
        4 => drop(members.insert("result".to_owned(), json!({}))),
        5 => {
            members.remove("method");
            members.insert("result".to_owned(), json!({}));
        }
        6 => drop(members.insert("method".to_owned(), json!(1))),
        _ => {}
    }
}

/// Of `graphql-transport-ws`, of another protocol, or of none.
fn message(rng: &mut impl Rng) -> String {
    match rng.random_range(0..20) {
        0..11 => {
            let kind = pick(rng, &["subscribe", "subscribe", "start"]);
            json!({ "id": "1", "type": kind, "payload": envelope(rng) }).to_string()
        }
        11..14 => json_rpc(rng).to_string(),
        14..17 => pick(
            rng,
            &[
                r#"{"type":"connection_init"}"#,
                r#"{"id":"1","type":"complete"}"#,
                r#"{"type":"ping","type":"subscribe"}"#,
                r#"{"type":"subscribe"}"#,
                r#"{"type":"data","payload":{}}"#,
            ],
        )
        .to_owned(),
        _ => pick(
            rng,
            &[
                "hello",
                "",
                r#"42["x",{"jsonrpc":"2.0","method":"eth_sendRawTransaction","params":["0x"],"id":1}]"#,
                "{",
            ],
        )
        .to_owned(),
    }
}
