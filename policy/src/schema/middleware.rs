//! Middleware stanzas.

use super::shape::{Kind, Shape, choice, defaulted, optional, required};

pub(crate) const MIDDLEWARE: Shape = Shape {
    what: "a middleware",
    name: "middleware",
    description: "Something that looks at requests which the rules let pass.",
    fields: &[
        optional("name", Kind::Text, "The name in denials; the key unless given."),
        required("middleware", Kind::Text, "The registered service, such as `tollgate/x402`."),
        defaulted(
            "order",
            Kind::Integer {
                least: -2_147_483_648,
                most: 2_147_483_647,
            },
            "0",
            "Middlewares run in ascending order; no two may have the same.",
        ),
        defaulted("config", Kind::Free, "{}", "The middleware's own settings, at most 64 KiB."),
        defaulted(
            "on_error",
            Kind::OneOf(&[
                choice("fail_closed", "A request that could not be judged is refused."),
                choice("fail_open", "It goes on; refused for `tollgate/x402`."),
                choice("", "As fail_closed."),
            ]),
            "fail_closed",
            "What happens where the middleware fails.",
        ),
        defaulted(
            "on_uninspectable",
            Kind::OneOf(&[
                choice("deny", "It is refused."),
                choice("allow", "Not supported yet."),
                choice("", "As deny."),
            ]),
            "deny",
            "What happens to traffic that can't be read.",
        ),
        required("endpoints", Kind::Map(&SELECTORS), "The hosts that it looks at."),
    ],
};

const SELECTORS: Shape = Shape {
    what: "the endpoints of a middleware",
    name: "selectors",
    description: "Host patterns, at most 32 in all; for every port.",
    fields: &[
        required(
            "include",
            Kind::NonEmpty(&Kind::Text),
            "Hosts that it looks at; `**` is every host.",
        ),
        defaulted("exclude", Kind::List(&Kind::Text), "[]", "Hosts that it leaves out all the same."),
    ],
};
