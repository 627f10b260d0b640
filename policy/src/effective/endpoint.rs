//! One endpoint, as the gate has it.

use super::writer::{Indent, flow, scalar};
use super::{Origin, Output, get, is_blank, items};
use crate::document::{Node, Value};
use crate::schema::{ENDPOINT, Field};
use crate::validate::pattern;

/// Keys that are written here, and not as the table has them.
const OWN: [&str; 7] = ["host", "port", "ports", "access", "rules", "deny_rules", "allowed_ips"];

impl Output<'_> {
    pub(super) fn endpoint(&mut self, indent: Indent, node: &Node) {
        let inner = indent.deeper();
        let protocol = text(node, "protocol").unwrap_or_default().to_ascii_lowercase();
        match get(node, "host").filter(|host| !is_blank(host)) {
            Some(host) => {
                let name = text(node, "host").unwrap_or_default().to_ascii_lowercase();
                self.line(indent, format!("- host: {}", scalar(&name)), &Origin::At(host.at));
            }
            None => self.line(
                indent,
                "- host: \"\"".to_owned(),
                &Origin::From("default: any host, as the addresses decide".to_owned()),
            ),
        }
        self.ports(inner, node);
        for field in ENDPOINT.fields.iter().filter(|field| !OWN.contains(&field.key)) {
            let given = get(node, field.key).filter(|given| !is_blank(given));
            match (given, text(node, field.key).as_deref()) {
                (Some(given), Some(value)) => {
                    let value = as_held(field.key, value);
                    self.line(inner, format!("{}: {}", field.key, scalar(&value)), &Origin::At(given.at));
                }
                (Some(_), None) => self.field(inner, field, given),
                (None, _) if matters(field, &protocol) => self.field(inner, field, None),
                _ => {}
            }
        }
        self.addresses(inner, node);
        self.allowed(inner, node, &protocol);
        self.matchers(inner, node, "deny_rules");
    }

    fn ports(&mut self, indent: Indent, node: &Node) {
        let Some(given) = get(node, "ports").or_else(|| get(node, "port")) else {
            return;
        };
        let mut ports: Vec<i64> = match &given.value {
            Value::Integer(port) => vec![*port],
            Value::List(items) => items.iter().filter_map(integer).collect(),
            _ => Vec::new(),
        };
        ports.sort_unstable();
        ports.dedup();
        self.line(indent, format!("ports: {ports:?}"), &Origin::At(given.at));
    }

    fn addresses(&mut self, indent: Indent, node: &Node) {
        if let Some(given) = get(node, "allowed_ips") {
            self.line(indent, format!("allowed_ips: {}", flow(given)), &Origin::At(given.at));
            return;
        }
        let wildcard = text(node, "host").unwrap_or_default().contains('*');
        self.note(
            indent,
            if wildcard {
                "allowed_ips: not given, and the host is a pattern: public addresses only"
            } else {
                "allowed_ips: not given, and the host is exact: private addresses too, never loopback, link-local or metadata"
            },
        );
    }

    fn allowed(&mut self, indent: Indent, node: &Node, protocol: &str) {
        let Some(access) = get(node, "access").filter(|access| !is_blank(access)) else {
            return self.matchers(indent, node, "rules");
        };
        let preset = text(node, "access").unwrap_or_default();
        let methods: &[&str] = match (protocol, preset.as_str()) {
            ("rest", "read-only") => &["GET", "HEAD", "OPTIONS"],
            ("rest", "read-write") => &["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH"],
            ("rest", "full") => &["*"],
            _ => return self.line(indent, format!("access: {}", scalar(&preset)), &Origin::At(access.at)),
        };
        let from = format!("access: {preset}, {}", self.sources.place(access.at));
        self.line(indent, "rules:".to_owned(), &Origin::From(from.clone()));
        for method in methods {
            let rule = format!("- allow: {{ method: {}, path: \"**\" }}", scalar(method));
            self.line(indent.deeper(), rule, &Origin::From(from.clone()));
        }
    }

    fn matchers(&mut self, indent: Indent, node: &Node, key: &str) {
        let Some(items) = items(node, key) else { return };
        self.writer.line(indent, format!("{key}:"), "");
        for item in items {
            self.line(indent.deeper(), format!("- {}", flow(&spelt(item))), &Origin::At(item.at));
        }
    }
}

/// Whether a default is worth a line: those of other protocols, and of what is never enforced here, are not.
fn matters(field: &Field, protocol: &str) -> bool {
    match field.key {
        "path" | "allow_encoded_slash" | "enforcement" => !protocol.is_empty(),
        "persisted_queries" | "graphql_max_body_bytes" => protocol == "graphql",
        "websocket_credential_rewrite" | "request_body_credential_rewrite" | "allow_uninspected_credentials" => false,
        _ => true,
    }
}

/// A text as the gate holds it.
fn as_held(key: &str, value: &str) -> String {
    match (key, value) {
        ("protocol", _) => value.to_ascii_lowercase(),
        ("tls", "terminate" | "passthrough") => String::new(),
        ("path", _) => pattern::canonical(value),
        _ => value.to_owned(),
    }
}

/// A matcher with its path and method spelt as requests have them.
fn spelt(node: &Node) -> Node {
    let Value::Map(entries) = &node.value else {
        return node.clone();
    };
    let entry = |(key, value): &(Node, Node)| {
        let value = match (&key.value, &value.value) {
            (Value::Text(name), Value::Map(_)) if name == "allow" => spelt(value),
            (Value::Text(name), Value::Text(path)) if name == "path" => Node {
                at: value.at,
                value: Value::Text(pattern::canonical(path)),
            },
            _ => value.clone(),
        };
        (key.clone(), value)
    };
    Node {
        at: node.at,
        value: Value::Map(entries.iter().map(entry).collect()),
    }
}

fn text(node: &Node, key: &str) -> Option<String> {
    match &get(node, key)?.value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    }
}

fn integer(node: &Node) -> Option<i64> {
    match node.value {
        Value::Integer(value) => Some(value),
        _ => None,
    }
}
