//! What authors of policies write in the wrong place or shape, and where it belongs.

/// For a key that stands in a map that has no such key.
pub(super) fn for_key(what: &str, key: &str) -> Option<&'static str> {
    match (what, key) {
        ("a deny rule", "deny" | "allow") => Some("a deny rule has no wrapper: write `- { method: POST, path: \"/…\" }`"),
        ("an entry of rules", "deny") => Some("what is denied stands under `deny_rules`, without a wrapper"),
        ("an entry of rules", "method" | "path" | "query" | "tool" | "operation_type" | "operation_name" | "fields") => {
            Some("it belongs inside `allow`: write `- allow: { method: GET, path: \"/…\" }`")
        }
        ("an endpoint", "binaries") => Some("it belongs one level up, beside `endpoints`"),
        ("an endpoint", "method" | "methods" | "paths" | "query") => Some("requests are matched by `rules`"),
        ("an endpoint", "deny") => Some("what is denied stands under `deny_rules`"),
        ("a rule", "host" | "port" | "ports" | "protocol" | "access" | "enforcement" | "rules" | "deny_rules" | "tls" | "allowed_ips") => {
            Some("it belongs into an entry of `endpoints`")
        }
        ("the policy", "endpoints" | "binaries" | "rules") => Some("it belongs into a rule under `network_policies`"),
        ("a middleware", "include" | "exclude") => Some("it belongs into `endpoints`"),
        ("a binary", "name" | "binary" | "exe") => Some("a binary is named by its `path`"),
        _ => None,
    }
}

/// For a value that should have been a map.
pub(super) fn for_map(what: &str) -> &'static str {
    match what {
        "a binary" => "write `- path: /usr/bin/curl`",
        "an entry of rules" => "write `- allow: { method: GET, path: \"/…\" }`",
        "a deny rule" => "write `- { method: POST, path: \"/…\" }`",
        "an endpoint" => "write `- host: api.example.com`, with `port` and the rest below it",
        "network_policies" => "write a name for each rule, and the rule below it",
        "network_middlewares" => "write a name for each middleware, and its keys below it",
        "the endpoints of a middleware" => "write `{ include: [\"**\"] }`",
        "query" => "write each key with its glob: `{ page: \"*\" }`",
        _ => "",
    }
}
