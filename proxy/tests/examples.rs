//! The example policies do what their cases say, through the real binary: what an author would paste is what is tested.
#![allow(clippy::unwrap_used, clippy::tests_outside_test_module)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy/examples");
    let mut examples: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    examples.sort();
    examples
}

fn tollgate(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

#[test]
fn every_example_passes_its_cases() {
    let examples = examples();
    assert!(examples.len() >= 5, "{examples:?}");
    for example in examples {
        let output = tollgate(&example, &["test", "cases.yaml"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{}\n{text}{}",
            example.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        for word in ["allow", "deny"] {
            let cases = std::fs::read_to_string(example.join("cases.yaml")).unwrap();
            assert!(
                cases.contains(&format!("decision: {word}")),
                "{}: no case for {word}",
                example.display()
            );
        }
    }
}

/// What is said of an example all the same: its globs mean that, a provider's regions share a public suffix, and links are the machine's.
const EXPECTED: [&str; 3] = [
    "warning[glob-stays-in-segment]",
    "warning[public-suffix]",
    "warning[binary-is-link]",
];

#[test]
fn every_example_is_without_findings() {
    for example in examples() {
        let mut files = vec!["check", "policy.yaml"];
        if example.join("tollgate.yaml").exists() {
            files.push("tollgate.yaml");
        }
        let output = tollgate(&example, &files);
        let told = String::from_utf8_lossy(&output.stderr);
        let mut findings = told.lines().filter(|line| line.contains(": warning[") || line.contains(": error["));
        let unexpected = findings.find(|finding| !EXPECTED.iter().any(|known| finding.contains(known)));
        assert!(output.status.success() && unexpected.is_none(), "{}\n{told}", example.display());
    }
}

/// A policy that allows everything must fail the cases of every example: they are about what is denied.
#[test]
fn a_policy_without_limits_fails_every_example() {
    for example in examples() {
        let folder = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(&example).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        let open = "version: 1\nnetwork_policies:\n  all:\n    endpoints: [ { host: \"**.example.com\", port: 443 } ]\n    binaries: [ { path: \"/**\" } ]\n";
        std::fs::write(folder.path().join("policy.yaml"), open).unwrap();
        let output = tollgate(folder.path(), &["test", "cases.yaml"]);
        assert_eq!(output.status.code(), Some(1), "{}", example.display());
    }
}
