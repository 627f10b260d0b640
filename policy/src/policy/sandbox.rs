//! The static sections: checked for shape and carried, for the supervisor to enforce.

use serde::Serialize;

/// `filesystem_policy`, `landlock` and `process`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Sandbox {
    /// `filesystem_policy`; `None` means the supervisor's baseline.
    pub filesystem: Option<FilesystemPolicy>,
    /// `landlock.compatibility`.
    pub landlock: Landlock,
    /// `process`.
    pub process: ProcessIdentity,
}

/// Which paths the workload may see.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FilesystemPolicy {
    /// Whether the working directory is added.
    pub include_workdir: bool,
    /// Absolute paths.
    pub read_only: Vec<String>,
    /// Absolute paths, never `/`.
    pub read_write: Vec<String>,
}

/// What happens where the kernel lacks Landlock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Landlock {
    /// As much as the kernel can do.
    #[default]
    BestEffort,
    /// Refuse to start.
    HardRequirement,
}

/// Whom the workload runs as; each is `sandbox` or a number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ProcessIdentity {
    /// The user.
    pub run_as_user: Option<String>,
    /// The group.
    pub run_as_group: Option<String>,
}
