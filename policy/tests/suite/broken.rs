//! Broken files and what the loader says about them, word for word.
//!
//! `fixtures/broken/NAME.yaml` stands beside `NAME.expected`: the rendered findings. Run with `UPDATE_EXPECTED=1` to write them anew,
//! and read the difference.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::judge::loaded;
use tollgate_policy::{Code, Severity};

fn fixtures(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    files
}

fn rendered(path: &Path) -> (String, tollgate_policy::Loaded) {
    let source = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let loaded = loaded(&source);
    let findings: Vec<String> = loaded
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.render(name, &source))
        .collect();
    (findings.join("\n\n") + "\n", loaded)
}

#[test]
fn every_broken_file_is_explained_as_recorded() {
    let files = fixtures("broken");
    assert!(files.len() >= 20);
    for path in files {
        let (findings, loaded) = rendered(&path);
        let expected = path.with_extension("expected");
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            std::fs::write(&expected, &findings).unwrap();
        }
        assert_eq!(
            findings,
            std::fs::read_to_string(&expected).unwrap_or_default(),
            "{}",
            path.display()
        );
        assert!(loaded.policy.is_none(), "{} loads", path.display());
        assert!(
            loaded
                .diagnostics
                .is_sorted_by_key(|diagnostic| (diagnostic.line, diagnostic.column))
        );
    }
}

#[test]
fn every_code_is_shown_by_some_file() {
    let shown: BTreeSet<Code> = fixtures("broken")
        .iter()
        .flat_map(|path| rendered(path).1.diagnostics)
        .map(|diagnostic| diagnostic.code)
        .collect();
    let missing: Vec<&str> = Code::ALL
        .iter()
        .filter(|code| !shown.contains(code))
        .map(|code| code.as_str())
        .collect();
    // A file of that size does not belong into a repository (`robustness` has it); the other two are the proxy's own lints.
    assert_eq!(missing, ["file-too-large", "rail-listed", "payments-not-visible"]);
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
