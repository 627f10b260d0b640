//! The static sections, which the supervisor enforces.

use super::finding::{Certainty, Effect, Finding, FindingKind};
use crate::policy::{FilesystemPolicy, Landlock, ProcessIdentity, Sandbox};

pub(super) fn compare(old: &Sandbox, new: &Sandbox, findings: &mut Vec<Finding>) {
    let Sandbox {
        filesystem,
        landlock,
        process,
    } = new;
    let mut report = |effect, certainty, text: String| {
        findings.push(Finding {
            effect,
            certainty,
            kind: FindingKind::Sandbox,
            text,
            matcher: None,
            old: None,
            new: None,
        });
    };
    match (&old.filesystem, filesystem) {
        (Some(old), Some(new)) => compare_files(old, new, &mut report),
        (None, None) => {}
        (old, _) => {
            let what = if old.is_none() { "replaces" } else { "gives way to" };
            let text = format!("filesystem_policy {what} the supervisor's own baseline, and cannot be compared");
            report(Effect::Widening, Certainty::Assumed, text);
        }
    }
    match (old.landlock, landlock) {
        (Landlock::HardRequirement, Landlock::BestEffort) => report(
            Effect::Widening,
            Certainty::Known,
            "the sandbox starts also where the kernel lacks Landlock".to_owned(),
        ),
        (Landlock::BestEffort, Landlock::HardRequirement) => report(
            Effect::Narrowing,
            Certainty::Known,
            "the sandbox no longer starts where the kernel lacks Landlock".to_owned(),
        ),
        _ => {}
    }
    let ProcessIdentity { run_as_user, run_as_group } = process;
    for (key, old, new) in [
        ("run_as_user", &old.process.run_as_user, run_as_user),
        ("run_as_group", &old.process.run_as_group, run_as_group),
    ] {
        if old != new {
            let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "the default".to_owned());
            let text = format!("process.{key} changes from {} to {}", shown(old), shown(new));
            report(Effect::Widening, Certainty::Assumed, text);
        }
    }
}

fn compare_files(old: &FilesystemPolicy, new: &FilesystemPolicy, report: &mut impl FnMut(Effect, Certainty, String)) {
    let FilesystemPolicy {
        include_workdir,
        read_only,
        read_write,
    } = new;
    match (old.include_workdir, include_workdir) {
        (false, true) => report(
            Effect::Widening,
            Certainty::Known,
            "the working directory may be written".to_owned(),
        ),
        (true, false) => report(
            Effect::Narrowing,
            Certainty::Known,
            "the working directory may no longer be written".to_owned(),
        ),
        _ => {}
    }
    let (old_read, new_read) = ([&*old.read_write, &*old.read_only].concat(), [&**read_write, &**read_only].concat());
    for (before, after, verb) in [(&old.read_write, read_write, "written"), (&old_read, &new_read, "read")] {
        for path in missing(after, before) {
            report(Effect::Widening, Certainty::Known, format!("{path} may be {verb}"));
        }
        for path in missing(before, after) {
            report(Effect::Narrowing, Certainty::Known, format!("{path} may no longer be {verb}"));
        }
    }
}

/// The paths of a list that no path of the other holds.
fn missing<'a>(of: &'a [String], from: &[String]) -> Vec<&'a String> {
    let holds = |outer: &String, inner: &str| {
        let rest = inner.strip_prefix(outer.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    of.iter().filter(|path| !from.iter().any(|outer| holds(outer, path))).collect()
}
