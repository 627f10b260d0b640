//! The whole policy, and its network rules.

use super::endpoint::ENDPOINT;
use super::middleware::MIDDLEWARE;
use super::sandbox::{FILESYSTEM, LANDLOCK, PROCESS};
use super::shape::{Kind, Shape, defaulted, optional, required};

pub(crate) const POLICY: Shape = Shape {
    what: "the policy",
    name: "policy",
    description: "What a sandbox may reach. Whatever is not listed is denied.",
    fields: &[
        required(
            "version",
            Kind::Integer { least: 1, most: 1 },
            "The version of this format; always 1.",
        ),
        optional(
            "filesystem_policy",
            Kind::Map(&FILESYSTEM),
            "Which paths the workload may see. Enforced by the sandbox's supervisor, fixed when the sandbox is created.",
        ),
        optional(
            "landlock",
            Kind::Map(&LANDLOCK),
            "What happens where the kernel lacks Landlock. Enforced by the sandbox's supervisor.",
        ),
        optional(
            "process",
            Kind::Map(&PROCESS),
            "Whom the workload runs as. Enforced by the sandbox's supervisor.",
        ),
        optional(
            "network_policies",
            Kind::Named(&Kind::Map(&RULE)),
            "Network rules by name. The name stands in denials, audit lines and explanations. With no rule every connection is denied.",
        ),
        optional(
            "network_middlewares",
            Kind::Named(&Kind::Map(&MIDDLEWARE)),
            "Middlewares by name: they look at requests that the rules let pass. `tollgate/x402` judges payments. At most 10.",
        ),
    ],
};

pub(crate) const RULE: Shape = Shape {
    what: "a rule",
    name: "rule",
    description: "Lets some programs reach some endpoints: any of its endpoints must match, and any of its binaries.",
    fields: &[
        optional("name", Kind::Text, "A name for people; the key names the rule everywhere."),
        defaulted(
            "endpoints",
            Kind::List(&Kind::Map(&ENDPOINT)),
            "[]",
            "Hosts and ports. Without any, the rule never matches.",
        ),
        defaulted(
            "binaries",
            Kind::List(&Kind::Map(&BINARY)),
            "[]",
            "The programs that the rule is for: the calling process or one of its ancestors. Without any, the rule never matches.",
        ),
    ],
};

const BINARY: Shape = Shape {
    what: "a binary",
    name: "binary",
    description: "A program, by the path of its executable.",
    fields: &[
        required(
            "path",
            Kind::Text,
            "The resolved path of the executable, not of a link to it. `*` is one segment, `**` any number; `/**` is any program.",
        ),
        optional("harness", Kind::Boolean, "Deprecated; has no effect."),
    ],
};
