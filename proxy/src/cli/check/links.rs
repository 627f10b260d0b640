//! Binaries that are symbolic links on the machine where a policy is checked.
//!
//! A process is known by its file and never by the link that it was started through. A gate that runs where the link is resolves it;
//! one that runs elsewhere, or another product with the same file, may not.

use std::path::Path;

use tollgate_policy::{BinaryView, Code, Diagnostic, Policy, Severity};

/// All of them.
pub(super) fn findings(policy: &Policy) -> Vec<Diagnostic> {
    policy.binaries().filter_map(|binary| link(&binary)).collect()
}

fn link(binary: &BinaryView<'_>) -> Option<Diagnostic> {
    let path = Path::new(binary.path);
    // Only the last part: what `/bin -> usr/bin` stands for is the same everywhere.
    if binary.path.contains('*') || !path.is_absolute() || !path.symlink_metadata().ok()?.is_symlink() {
        return None;
    }
    let target = path.canonicalize().ok()?;
    let message = format!(
        "`{}` is a link to `{}` here, and a running process is known by its file",
        binary.path,
        target.display()
    );
    let hint = format!(
        "list `{}` too, or a glob that covers both, if the sandbox has another image",
        target.display()
    );
    Some(Diagnostic::new(Severity::Warning, Code::BinaryIsLink, binary.at, message, hint))
}
