#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;

fn reading(protocol: BodyProtocol) -> BodyReading {
    BodyReading {
        protocol,
        limit: 65_536,
        tool_names: ToolNames::Strict,
    }
}

fn read(protocol: BodyProtocol, method: &str, query: Option<&str>, media: Media, body: &[u8]) -> Result<Vec<Operation>, OperationError> {
    reading(protocol).read(&Sent {
        method,
        query,
        media,
        body,
    })
}

fn protocol() -> impl Strategy<Value = BodyProtocol> {
    prop::sample::select(vec![BodyProtocol::Graphql, BodyProtocol::JsonRpc, BodyProtocol::Mcp])
}

fn media() -> impl Strategy<Value = Media> {
    prop::sample::select(vec![Media::Json, Media::Graphql, Media::Form])
}

/// A name that GraphQL takes for one.
fn name() -> impl Strategy<Value = String> {
    "[_A-Za-z][_0-9A-Za-z]{0,6}".prop_filter("`on` is no fragment's name", |name| name != "on")
}

/// Selections with their root fields, spelled with aliases, arguments, comments and fragments.
fn selection() -> impl Strategy<Value = (Vec<String>, String)> {
    let field = (name(), 0..6_usize).prop_map(|(name, how)| {
        let text = match how {
            0 => name.clone(),
            1 => format!("alias: {name}"),
            2 => format!("{name}(a: \"}} hidden {{\", b: {{ c: [1, $v] }}) @include(if: true) {{ inner {{ deeper }} }}"),
            3 => format!("... {{ {name} }}"),
            4 => format!("... on T @d {{ ...on U {{ {name} }} }}"),
            _ => format!("# comment }}\n {name}(t: \"\"\" }} \\\"\"\" {{ \"\"\"),"),
        };
        (name, text)
    });
    proptest::collection::vec(field, 1..5).prop_map(|fields| {
        let (names, texts): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
        (names, texts.join(" "))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_root_field_is_found_however_it_is_spelled(
        (direct, text) in selection(),
        (spread, fragment) in selection(),
        kind in prop::sample::select(vec!["query", "mutation", "subscription"]),
    ) {
        let document = format!("fragment P0 on T {{ {fragment} ...P1 }} {kind} N {{ {text} ...P0 }} fragment P1 on T {{ last ...P0 }}");
        let operations = super::document(&document, Some("N")).unwrap();
        let root = operations.first().unwrap();
        let mut expected: Vec<&str> = direct.iter().chain(&spread).map(String::as_str).chain(["last"]).collect();
        expected.sort_unstable();
        expected.dedup();
        let found: Vec<&str> = root.fields.iter().map(AsRef::as_ref).collect();
        prop_assert_eq!(found, expected, "{}", document);
        prop_assert_eq!(root.kind.as_str(), kind);
    }

    #[test]
    fn any_bytes_are_read_or_refused_and_never_panic(
        protocol in protocol(),
        media in media(),
        body in proptest::collection::vec(any::<u8>(), 0..200),
        query in "\\PC{0,40}",
        method in prop::sample::select(vec!["GET", "POST", "DELETE"]),
    ) {
        let read = read(protocol, method, Some(&query), media, &body);
        prop_assert!(read.is_err() || read.is_ok_and(|operations| !operations.is_empty()));
    }

    #[test]
    fn texts_like_graphql_are_read_or_refused_and_never_panic(tokens in proptest::collection::vec(
        prop::sample::select(vec!["{", "}", "(", ")", "[", "]", "...", "on", "fragment", "query", "mutation", "F", "a", ":", "$v", "@d", "\"", "\"\"\"", "#", "\n", "\r", "\\", "1", "-", ".", "&", "|", "!", "\u{feff}", "é"]), 0..40)
    ) {
        let text = tokens.join(" ");
        if let Ok(operations) = super::document(&text, None) {
            prop_assert!(operations.iter().all(|root| !root.fields.is_empty()), "{}", text);
        }
    }

    #[test]
    fn messages_of_calls_are_told_in_order(calls in proptest::collection::vec(("[a-z/_]{1,12}", any::<bool>()), 1..6)) {
        let messages: Vec<serde_json::Value> = calls.iter().map(|(method, request)| {
            let mut message = serde_json::json!({ "jsonrpc": "2.0", "method": method, "params": { "name": "x" } });
            if *request || method == "tools/call" {
                message.as_object_mut().unwrap().insert("id".into(), 1.into());
            }
            message
        }).collect();
        let body = serde_json::Value::from(messages).to_string();
        let read = read(BodyProtocol::JsonRpc, "POST", None, Media::Json, body.as_bytes()).unwrap();
        let expected: Vec<Operation> = calls.iter().map(|(method, _)| Operation::JsonRpc(JsonRpcMessage::Call { method: method.as_str().into() })).collect();
        prop_assert_eq!(read, expected);
    }
}

#[test]
fn nesting_and_numbers_are_bounded() {
    let deep = |open: &str, close: &str, depth: usize| format!("{}{}", open.repeat(depth), close.repeat(depth));
    assert_eq!(document(&deep("{a", "}", 100_000), None), Err(OperationError::Document));
    assert_eq!(
        document(&format!("{{ a(x: {}) }}", deep("[", "]", 100_000)), None),
        Err(OperationError::Document)
    );
    assert_eq!(
        document(&format!("{{ {} }}", "a ".repeat(30_000)), None),
        Err(OperationError::Document)
    );
    // A long chain of fragments costs no stack.
    let chain: Vec<String> = (0..1_500).map(|i| format!("fragment P{i} on T{{...P{}}}", i + 1)).collect();
    let chain = chain.concat();
    let document_text = format!("{{...P0}} {chain} fragment P1500 on T{{last}}");
    assert_eq!(
        document(&document_text, None).unwrap().first().unwrap().fields.as_ref(),
        [Box::from("last")]
    );
    let json = deep("[", "]", 5_000);
    assert!(matches!(
        read(BodyProtocol::JsonRpc, "POST", None, Media::Json, json.as_bytes()),
        Err(OperationError::Json(_))
    ));
    let message = r#"{"jsonrpc":"2.0","method":"a"}"#;
    let many = |n: usize| format!("[{}]", vec![message; n].join(","));
    let count = |n: usize| read(BodyProtocol::JsonRpc, "POST", None, Media::Json, many(n).as_bytes()).map(|read| read.len());
    assert_eq!((count(1024), count(1025)), (Ok(1024), Err(OperationError::TooMany)));
}

#[test]
fn what_is_written_down_is_bounded_and_printable() {
    let call = Operation::Mcp(McpMessage::Call {
        method: "tools/call\n\u{1b}[2J".into(),
        tool: Some("x".repeat(500).into()),
    });
    let shown = call.to_string();
    assert!(shown.len() < 200 && !shown.contains(char::is_control), "{shown}");
    let root = RootSelection {
        kind: OperationKind::Mutation,
        name: Some("Drop".into()),
        fields: (0..40).map(|i| format!("f{i}").into()).collect(),
    };
    let shown = Operation::Graphql(GraphqlOperation::Document(root)).to_string();
    assert!(shown.starts_with("mutation Drop { f0 f1 ") && shown.ends_with(" … }"), "{shown}");
}

#[test]
fn an_operation_behind_a_comment_that_some_grammars_end_earlier_is_refused() {
    for end in ["\u{2028}", "\u{2029}"] {
        let text = format!("{{ viewer #x{end} deleteAll\n}}");
        let body = serde_json::json!({ "query": text }).to_string();
        let outcome = read(BodyProtocol::Graphql, "POST", None, Media::Json, body.as_bytes());
        assert_eq!(outcome, Err(OperationError::Document));
    }
}

#[test]
fn a_second_query_under_a_look_alike_name_is_refused() {
    let body = br#"{"query":"{viewer}"}"#;
    for target in [
        "Query={deleteAll}",
        "QUERY=x",
        "OperationName=B",
        "DocumentId=a",
        "ID=a",
        "EXTENSIONS={}",
    ] {
        let beside = read(BodyProtocol::Graphql, "POST", Some(target), Media::Json, body);
        assert!(matches!(beside, Err(OperationError::LookAlike(_))), "{target}: {beside:?}");
        let alone = format!("query={{viewer}}&{target}");
        let alone = read(BodyProtocol::Graphql, "GET", Some(&alone), Media::Json, b"");
        assert!(matches!(alone, Err(OperationError::LookAlike(_))), "{target}: {alone:?}");
    }
    for member in ["Query", "query ", "\\u0000query", "query\\u0000x"] {
        let body = format!(r#"{{"query":"{{viewer}}","{member}":"{{deleteAll}}"}}"#);
        let outcome = read(BodyProtocol::Graphql, "POST", None, Media::Json, body.as_bytes());
        assert_eq!(outcome, Err(OperationError::LookAlike("query")), "{member}");
    }
    for member in ["Name", "name ", "name\\u0000"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"read","{member}":"drop"}}}}"#);
        let outcome = read(BodyProtocol::Mcp, "POST", None, Media::Json, body.as_bytes());
        assert_eq!(outcome, Err(OperationError::LookAlike("name")), "{member}");
    }
}
