//! Requests and messages that those policies are about.

use proptest::prelude::*;
use proptest::sample::select;
use tollgate_policy::Operation;
use tollgate_policy::operation::{GraphqlOperation, JsonRpcMessage, McpMessage, OperationKind, RootSelection};

/// What is sent, after the head of a request.
#[derive(Debug, Clone)]
pub(super) enum Sent {
    Nothing,
    /// A body of so many bytes.
    Body(Operation, usize),
    /// A message, after a handshake.
    Message(Said),
}

#[derive(Debug, Clone)]
pub(super) enum Said {
    /// Of the session.
    Nothing,
    Operation(Operation),
    Anything,
}

#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) host: &'static str,
    pub(super) port: u16,
    pub(super) binary: &'static str,
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) sent: Sent,
}

fn graphql() -> impl Strategy<Value = Operation> {
    let kind = select(vec![
        OperationKind::Query,
        OperationKind::Query,
        OperationKind::Mutation,
        OperationKind::Subscription,
    ]);
    let name = select(vec![None, Some("N"), Some("N2"), Some("O")]);
    let fields = proptest::sample::subsequence(vec!["a", "b", "bc", "z"], 1..3);
    let document = (kind, name, fields).prop_map(|(kind, name, fields)| {
        GraphqlOperation::Document(RootSelection {
            kind,
            name: name.map(Into::into),
            fields: fields.into_iter().map(Into::into).collect(),
        })
    });
    prop_oneof![5 => document, 1 => Just(GraphqlOperation::Persisted { key: "k".into() })].prop_map(Operation::Graphql)
}

fn operation() -> impl Strategy<Value = Operation> {
    let rpc = prop_oneof![
        4 => select(vec!["a", "b", "d"]).prop_map(|method| JsonRpcMessage::Call { method: method.into() }),
        1 => Just(JsonRpcMessage::Response),
    ];
    let call = |method: &str, tool: Option<&str>| McpMessage::Call {
        method: method.into(),
        tool: tool.map(Into::into),
    };
    let mcp = prop_oneof![
        4 => select(vec!["a", "ab", "b", "b c", "z"]).prop_map(move |tool| call("tools/call", Some(tool))),
        3 => select(vec!["a", "tools/list", "tools/x", "z"]).prop_map(move |method| call(method, None)),
        1 => Just(McpMessage::Response),
    ];
    prop_oneof![
        3 => graphql(),
        2 => rpc.prop_map(Operation::JsonRpc),
        2 => mcp.prop_map(Operation::Mcp),
    ]
}

pub(super) fn asked() -> impl Strategy<Value = Asked> {
    let said = prop_oneof![
        1 => Just(Said::Nothing),
        3 => graphql().prop_map(Said::Operation),
        1 => Just(Said::Anything),
    ];
    let sent = prop_oneof![
        2 => Just(Sent::Nothing),
        6 => (operation(), select(vec![50_usize, 50, 150])).prop_map(|(operation, bytes)| Sent::Body(operation, bytes)),
        3 => said.prop_map(Sent::Message),
    ];
    (
        select(vec!["a.example.com", "a.example.com", "b.example.com"]),
        select(vec![443_u16, 443, 80]),
        select(vec!["/usr/bin/curl", "/usr/bin/curl", "/usr/bin/git", "/opt/x"]),
        select(vec!["POST", "POST", "POST", "GET", "DELETE"]),
        select(vec!["/x", "/x", "/x/", "/X", "/xy", "/x/y", "/X/y", "/"]),
        sent,
    )
        .prop_map(|(host, port, binary, method, path, sent)| Asked {
            host,
            port,
            binary,
            method,
            path,
            sent,
        })
}
