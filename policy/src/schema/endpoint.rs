//! An endpoint: where, how its traffic is read, and what may be sent.

use super::matcher::{ALLOW_ENTRY, DENY_RULE};
use super::shape::{Choice, Kind, Shape, choice, defaulted, optional, required};

const PORT: Kind = Kind::Integer { least: 1, most: 65_535 };
const BODY_BYTES: Kind = Kind::Integer {
    least: 1,
    most: 4_294_967_295,
};

pub(crate) const ENDPOINT: Shape = Shape {
    what: "an endpoint",
    name: "endpoint",
    description: "A host with ports, how its traffic is read, and what may be sent there.",
    fields: &[
        optional(
            "host",
            Kind::Text,
            "A name, an address, or a pattern: `*` is one label or a part of the first, `**.` one label or more. A pattern never covers \
             the name itself (`*.example.com` is not `example.com`). May be left out only with `allowed_ips`.",
        ),
        optional("port", PORT, "The port; `ports` for several."),
        optional("ports", Kind::NonEmpty(&PORT), "The ports; instead of `port`."),
        defaulted(
            "path",
            Kind::Text,
            "/**",
            "Which requests this endpoint is for, where several share host and port: a glob in which `*` also crosses `/`. The most \
             specific endpoint decides how a request is read. Needs a protocol.",
        ),
        defaulted("protocol", Kind::OneOfAnyCase(PROTOCOLS), "\"\"", "How the traffic is read."),
        defaulted(
            "tls",
            Kind::OneOf(&[
                choice("", "TLS is terminated wherever it is spoken."),
                choice("skip", "TLS is never terminated: nothing can be read, and no payment can be made."),
                choice("terminate", "Deprecated; has no effect."),
                choice("passthrough", "Deprecated; has no effect."),
            ]),
            "\"\"",
            "What happens to TLS.",
        ),
        defaulted(
            "enforcement",
            Kind::OneOf(&[
                choice("enforce", "What no rule allows is refused."),
                choice("audit", "What no rule allows is forwarded and logged as `would_deny`."),
                choice("", "As audit."),
            ]),
            "audit",
            "What becomes of requests that no rule allows. Left out, it is `audit`: nothing is refused.",
        ),
        optional(
            "access",
            Kind::OneOf(&[
                choice(
                    "read-only",
                    "GET, HEAD and OPTIONS on every path; no git clone, which fetches by POST.",
                ),
                choice("read-write", "Also POST, PUT and PATCH; not DELETE."),
                choice("full", "Every method."),
                choice("", "No preset."),
            ]),
            "A preset instead of `rules`.",
        ),
        optional(
            "rules",
            Kind::NonEmpty(&Kind::Map(&ALLOW_ENTRY)),
            "What may be sent; one matching entry is enough. Instead of `access`.",
        ),
        optional(
            "deny_rules",
            Kind::NonEmpty(&Kind::Map(&DENY_RULE)),
            "What may not be sent all the same: beats every allow rule, in every endpoint of the same host and port.",
        ),
        optional(
            "allowed_ips",
            Kind::NonEmpty(&Kind::Text),
            "Addresses and networks that the host may resolve to, private ones included, and no others. Loopback and link-local \
             addresses can't be listed.",
        ),
        defaulted(
            "allow_encoded_slash",
            Kind::Boolean,
            "false",
            "Whether a path may hold `%2F`; otherwise such a request is refused as having no single meaning.",
        ),
        defaulted(
            "websocket_credential_rewrite",
            Kind::Boolean,
            "false",
            "OpenShell's; not enforced by Tollgate, refused when set.",
        ),
        defaulted(
            "request_body_credential_rewrite",
            Kind::Boolean,
            "false",
            "OpenShell's; not enforced by Tollgate, refused when set.",
        ),
        defaulted(
            "allow_uninspected_credentials",
            Kind::Boolean,
            "false",
            "OpenShell's; not enforced by Tollgate, refused when set.",
        ),
        defaulted(
            "persisted_queries",
            Kind::OneOf(&[
                choice("deny", "A GraphQL request that names a persisted query is refused."),
                choice(
                    "allow_registered",
                    "One that names a query of `graphql_persisted_queries` is judged as that query.",
                ),
                choice("", "As deny."),
            ]),
            "deny",
            "GraphQL: what becomes of persisted queries.",
        ),
        optional(
            "graphql_persisted_queries",
            Kind::Named(&Kind::Map(&PERSISTED_QUERY)),
            "GraphQL: trusted persisted queries by hash.",
        ),
        defaulted(
            "graphql_max_body_bytes",
            BODY_BYTES,
            "65536",
            "GraphQL: the largest body that is read; a larger one is refused.",
        ),
        optional(
            "credential_signing",
            Kind::Text,
            "OpenShell's AWS request signing; not done by Tollgate, refused when set.",
        ),
        optional("signing_service", Kind::Text, "Belongs to `credential_signing`."),
        optional("signing_region", Kind::Text, "Belongs to `credential_signing`."),
        optional(
            "credential_binding",
            Kind::Map(&CREDENTIAL_BINDING),
            "OpenShell's binding of a provider's credentials; not done by Tollgate, refused when set.",
        ),
        optional("json_rpc", Kind::Map(&JSON_RPC), "Options of `protocol: json-rpc`."),
        optional("mcp", Kind::Map(&MCP), "Options of `protocol: mcp`."),
    ],
};

const PROTOCOLS: &[Choice] = &[
    choice("", "Not read: host, port and binary decide. Payments can't be seen."),
    choice("rest", "HTTP requests, by method, path and query."),
    choice("graphql", "GraphQL over HTTP, by operation and root fields."),
    choice("websocket", "The upgrade, and the client's text messages."),
    choice("json-rpc", "JSON-RPC over HTTP, by method."),
    choice("mcp", "The Model Context Protocol over HTTP, by method and tool."),
    choice("tcp", "OpenShell's transparent TCP; not enforced by Tollgate, refused."),
    choice("sql", "OpenShell's; not enforced by Tollgate, refused."),
];

const PERSISTED_QUERY: Shape = Shape {
    what: "a persisted query",
    name: "persistedQuery",
    description: "What a persisted query does.",
    fields: &[
        optional("operation_type", Kind::Text, "`query`, `mutation` or `subscription`."),
        optional("operation_name", Kind::Text, "The name of its operation."),
        optional("fields", Kind::List(&Kind::Text), "The root fields that it selects."),
    ],
};

const CREDENTIAL_BINDING: Shape = Shape {
    what: "credential_binding",
    name: "credentialBinding",
    description: "Binds a provider's credentials to the endpoint.",
    fields: &[optional("provider", Kind::Text, "The name of the provider.")],
};

const JSON_RPC: Shape = Shape {
    what: "json_rpc",
    name: "jsonRpc",
    description: "Options of `protocol: json-rpc`.",
    fields: &[defaulted(
        "max_body_bytes",
        BODY_BYTES,
        "65536",
        "The largest body that is read; a larger one is refused.",
    )],
};

const MCP: Shape = Shape {
    what: "mcp",
    name: "mcp",
    description: "Options of `protocol: mcp`.",
    fields: &[
        defaulted(
            "max_body_bytes",
            BODY_BYTES,
            "65536",
            "The largest body that is read; a larger one is refused.",
        ),
        defaulted(
            "strict_tool_names",
            Kind::Boolean,
            "true",
            "Whether tool names must be letters, digits, `_`, `.` and `-`, at most 128 of them.",
        ),
        defaulted(
            "allow_all_known_mcp_methods",
            Kind::Boolean,
            "false",
            "Whether every known method is allowed without rules; deny rules still count.",
        ),
    ],
};

/// What `allow` of an entry of `rules` must be.
pub(super) const fn allow(kind: Kind) -> super::shape::Field {
    required("allow", kind, "What may be sent.")
}
