//! The static sections.

use crate::diagnostic::{Code, Diagnostics, Position};
use crate::document::{At, FilesystemSection, LandlockSection, ProcessSection};
use crate::policy::{FilesystemPolicy, Landlock, ProcessIdentity, Sandbox};

const MAX_PATH_CHARS: usize = 4096;
const MAX_PATHS: usize = 256;

pub(super) fn compile(
    filesystem: Option<At<FilesystemSection>>,
    landlock: Option<At<LandlockSection>>,
    process: Option<At<ProcessSection>>,
    found: &mut Diagnostics,
) -> Sandbox {
    Sandbox {
        filesystem: filesystem.map(|section| compile_filesystem(section.value, found)),
        landlock: landlock
            .and_then(|section| section.value.compatibility)
            .map_or(Landlock::BestEffort, |mode| compile_landlock(&mode, found)),
        process: process.map_or_else(ProcessIdentity::default, |At { value: section, .. }| ProcessIdentity {
            run_as_user: section.run_as_user.map(|user| compile_identity(user, found)),
            run_as_group: section.run_as_group.map(|group| compile_identity(group, found)),
        }),
    }
}

fn compile_filesystem(section: FilesystemSection, found: &mut Diagnostics) -> FilesystemPolicy {
    let total = section.read_only.len() + section.read_write.len();
    if let Some(last) = section.read_write.last().or(section.read_only.last()).filter(|_| total > MAX_PATHS) {
        found.error(
            Code::InvalidSandboxPath,
            last.at,
            format!("{total} paths; at most {MAX_PATHS} are allowed"),
            "list directories",
        );
    }
    for path in section.read_only.iter().chain(&section.read_write) {
        check_path(path, found);
    }
    for path in section.read_write.iter().filter(|path| path.value.trim_end_matches('/').is_empty()) {
        found.error(
            Code::InvalidSandboxPath,
            path.at,
            "`/` may not be writable",
            "list the directories that have to be",
        );
    }
    let texts = |list: Vec<At<String>>| list.into_iter().map(|path| path.value).collect();
    FilesystemPolicy {
        include_workdir: section.include_workdir,
        read_only: texts(section.read_only),
        read_write: texts(section.read_write),
    }
}

fn check_path(path: &At<String>, found: &mut Diagnostics) {
    let text = &path.value;
    let problem = if !text.starts_with('/') {
        "is not absolute"
    } else if text.split('/').any(|part| part == "..") {
        "climbs with `..`"
    } else if text.chars().count() > MAX_PATH_CHARS {
        "is longer than 4096 characters"
    } else if text.contains('\0') {
        "has a NUL"
    } else {
        return;
    };
    found.error(
        Code::InvalidSandboxPath,
        path.at,
        format!("the path {problem}"),
        "write an absolute path without `..`",
    );
}

fn compile_landlock(mode: &At<String>, found: &mut Diagnostics) -> Landlock {
    match mode.value.as_str() {
        "" | "best_effort" => Landlock::BestEffort,
        "hard_requirement" => Landlock::HardRequirement,
        other => {
            let message = format!("`{other}` is no landlock compatibility");
            found.error(Code::InvalidLandlock, mode.at, message, "write best_effort or hard_requirement");
            Landlock::HardRequirement
        }
    }
}

fn compile_identity(identity: At<String>, found: &mut Diagnostics) -> String {
    // 0 is root; u32::MAX is the kernel's "no change".
    let valid = identity.value == "sandbox" || identity.value.parse::<u32>().is_ok_and(|id| id != 0 && id != u32::MAX);
    if !valid {
        report_identity(identity.at, &identity.value, found);
    }
    identity.value
}

fn report_identity(at: Position, value: &str, found: &mut Diagnostics) {
    let message = format!("the workload may not run as `{value}`");
    found.error(
        Code::InvalidProcessIdentity,
        at,
        message,
        "write `sandbox` or a number from 1 to 4294967294",
    );
}
