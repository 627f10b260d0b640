//! Policies with mistakes and what the loader says about them, word for word.
//!
//! `fixtures/broken/NAME.yaml`, or a folder of fragments `fixtures/broken/NAME/`, stands beside `NAME.expected`: the rendered
//! findings. `fixtures/warned` has policies that load all the same. Run with `UPDATE_EXPECTED=1` to write them anew, and read the
//! difference.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::judge::{Schema, loaded};
use tollgate_policy::{Code, Limits, Loaded, Severity, Source, Sources, Style, load_within};

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.retain(|path| path.is_dir() || path.extension().is_some_and(|extension| extension == "yaml"));
    entries.sort();
    entries
}

pub(crate) fn fixtures(folder: &str) -> Vec<PathBuf> {
    entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(folder))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

pub(crate) fn sources(path: &Path) -> Sources {
    if !path.is_dir() {
        return Sources::one(name(path), std::fs::read(path).unwrap());
    }
    let files = entries(path).into_iter();
    let files = files.map(|file| Source::new(format!("{}/{}", name(path), name(&file)), std::fs::read(&file).unwrap()));
    files.collect::<Vec<_>>().into()
}

pub(crate) fn rendered(path: &Path) -> (String, Loaded) {
    let sources = sources(path);
    let loaded = load_within(&sources, &Schema, Limits::default());
    (sources.render_all(&loaded.diagnostics, Style::Plain) + "\n", loaded)
}

fn compare(path: &Path, findings: &str) {
    let expected = path.with_extension("expected");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&expected, findings).unwrap();
    }
    assert_eq!(
        findings,
        std::fs::read_to_string(&expected).unwrap_or_default(),
        "{}",
        path.display()
    );
}

#[test]
fn every_broken_policy_is_explained_as_recorded() {
    let policies = fixtures("broken");
    assert!(policies.len() >= 40, "{}", policies.len());
    for path in policies {
        let (findings, loaded) = rendered(&path);
        compare(&path, &findings);
        assert!(loaded.policy.is_none(), "{} loads", path.display());
        assert!(loaded.diagnostics.is_sorted_by_key(tollgate_policy::Diagnostic::position));
    }
}

#[test]
fn every_policy_that_surprises_is_warned_of_as_recorded() {
    for path in fixtures("warned") {
        let (findings, loaded) = rendered(&path);
        compare(&path, &findings);
        assert!(loaded.policy.is_some(), "{} does not load", path.display());
        assert!(!loaded.diagnostics.is_empty(), "{} has no warning", path.display());
        assert!(loaded.diagnostics.iter().all(|diagnostic| diagnostic.severity == Severity::Warning));
    }
}

#[test]
fn every_code_is_shown_by_some_file() {
    let shown: BTreeSet<Code> = ["broken", "warned"]
        .iter()
        .flat_map(|folder| fixtures(folder))
        .flat_map(|path| rendered(&path).1.diagnostics)
        .map(|diagnostic| diagnostic.code)
        .collect();
    let missing: Vec<&str> = Code::ALL
        .iter()
        .filter(|code| !shown.contains(code))
        .map(|code| code.as_str())
        .collect();
    // A file of that size does not belong into a repository (`robustness` has it); the others are the proxy's own lints.
    assert_eq!(missing, ["file-too-large", "binary-is-link", "rail-listed", "payments-not-visible"]);
}

#[test]
fn good_files_load_without_a_word() {
    for path in fixtures("good") {
        let (findings, loaded) = rendered(&path);
        assert_eq!(findings, "\n", "{}", path.display());
        assert!(loaded.policy.is_some());
    }
}

#[test]
fn warnings_do_not_keep_a_policy_from_loading() {
    let loaded = loaded("version: 1\nnetwork_policies:\n  a:\n    endpoints: [ { host: '*.x.example', port: 443, tls: terminate } ]\n");
    assert!(loaded.policy.is_some());
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str()).collect();
    assert_eq!(codes, ["no-binaries", "apex-not-covered", "deprecated"]);
    assert!(loaded.diagnostics.iter().all(|diagnostic| diagnostic.severity == Severity::Warning));
}
