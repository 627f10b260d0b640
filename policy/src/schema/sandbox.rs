//! The static sections, which the supervisor enforces.

use super::shape::{Kind, Shape, choice, defaulted, optional};

pub(crate) const FILESYSTEM: Shape = Shape {
    what: "filesystem_policy",
    name: "filesystem",
    description: "Which paths the workload may see; absolute, without `..`, at most 256 in all.",
    fields: &[
        defaulted(
            "include_workdir",
            Kind::Boolean,
            "false",
            "Whether the working directory may be read and written.",
        ),
        defaulted("read_only", Kind::List(&Kind::Text), "[]", "Paths that may be read."),
        defaulted(
            "read_write",
            Kind::List(&Kind::Text),
            "[]",
            "Paths that may be read and written; never `/`.",
        ),
    ],
};

pub(crate) const LANDLOCK: Shape = Shape {
    what: "landlock",
    name: "landlock",
    description: "Landlock, by which the kernel enforces `filesystem_policy`.",
    fields: &[defaulted(
        "compatibility",
        Kind::OneOf(&[
            choice("best_effort", "As much as the kernel can do."),
            choice("hard_requirement", "Refuse to start where the kernel can't do all of it."),
            choice("", "As best_effort."),
        ]),
        "best_effort",
        "What happens where the kernel lacks a part of it.",
    )],
};

pub(crate) const PROCESS: Shape = Shape {
    what: "process",
    name: "process",
    description: "Whom the workload runs as; never root.",
    fields: &[
        optional(
            "run_as_user",
            Kind::TextOrInteger,
            "`sandbox`, or a user number from 1 to 4294967294.",
        ),
        optional(
            "run_as_group",
            Kind::TextOrInteger,
            "`sandbox`, or a group number from 1 to 4294967294.",
        ),
    ],
};
