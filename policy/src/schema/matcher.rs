//! Allow and deny matchers.

use super::endpoint::allow;
use super::shape::{Field, Kind, Shape, choice, optional};

pub(super) const ALLOW_ENTRY: Shape = Shape {
    what: "an entry of rules",
    name: "allowEntry",
    description: "One thing that may be sent.",
    fields: &[allow(Kind::Map(&ALLOW_RULE))],
};

const ALLOW_RULE: Shape = Shape {
    what: "an allow rule",
    name: "allowRule",
    description: "Matches requests; every part that is given must match.",
    fields: MATCHER,
};

pub(super) const DENY_RULE: Shape = Shape {
    what: "a deny rule",
    name: "denyRule",
    description: "Matches requests that may not be sent; every part that is given must match. Without the `allow:` or `deny:` wrapper.",
    fields: MATCHER,
};

const GLOB: Kind = Kind::Either(&[Kind::Text, Kind::Map(&GLOBS)]);

const MATCHER: &[Field] = &[
    optional(
        "method",
        Kind::Text,
        "rest: an HTTP method, `*` for any; GET covers HEAD. websocket: GET is the upgrade, WEBSOCKET_TEXT a text message. json-rpc and \
         mcp: the method in the body.",
    ),
    optional(
        "path",
        Kind::Text,
        "A glob over the canonical path: `*` stays inside a segment, `**` crosses segments (`/v1/**` is all below `/v1`, not `/v1` \
         itself), `?` is one character, `[0-9]` a class.",
    ),
    optional("command", Kind::Text, "sql: the statement's command."),
    optional(
        "query",
        Kind::Named(&GLOB),
        "Globs by query key. An allow rule needs every key to be there and all its values to match; a deny rule takes any value. `*` does \
         not cross a `.`.",
    ),
    optional(
        "operation_type",
        Kind::OneOf(&[
            choice("query", "It reads."),
            choice("mutation", "It writes."),
            choice("subscription", "It listens."),
            choice("*", "Any."),
        ]),
        "graphql: the kind of operation.",
    ),
    optional("operation_name", Kind::Text, "graphql: a glob over the operation's name."),
    optional(
        "fields",
        Kind::List(&Kind::Text),
        "graphql: globs over root fields. An allow rule needs every selected root field to match one; a deny rule takes any.",
    ),
    optional("tool", GLOB, "mcp: a glob over the tool's name; needs `method: tools/call`."),
    optional("params", Kind::Free, "mcp: `name` under `params`, another spelling of `tool`."),
];

const GLOBS: Shape = Shape {
    what: "a matcher of values",
    name: "globs",
    description: "Either one glob or several.",
    fields: &[
        optional("glob", Kind::Text, "The glob that a value must match."),
        optional("any", Kind::NonEmpty(&Kind::Text), "Globs of which one must match."),
    ],
};
