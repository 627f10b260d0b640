//! The example policies do what their cases say, through the real binary: what an author would paste is what is tested.
#![allow(clippy::unwrap_used, clippy::tests_outside_test_module)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// What stands in an example for an address that its reader has to fill in.
const UNFILLED: &str = "FILL_IN_PAYEE";

/// An example, with what is left open in it filled in.
struct Example {
    name: PathBuf,
    folder: TempDir,
}

impl Example {
    fn copy_of(name: PathBuf) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(&name).unwrap() {
            let entry = entry.unwrap();
            let text = std::fs::read_to_string(entry.path()).unwrap();
            let filled = text.replace(UNFILLED, &format!("0x{}", "1".repeat(40)));
            std::fs::write(folder.path().join(entry.file_name()), filled).unwrap();
        }
        Example { name, folder }
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(file)).unwrap()
    }
}

fn folders() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy/examples");
    let mut examples: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    examples.sort();
    examples
}

fn examples() -> Vec<Example> {
    folders().into_iter().map(Example::copy_of).collect()
}

fn tollgate(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

#[test]
fn every_example_passes_its_cases() {
    let examples = examples();
    assert!(examples.len() >= 5);
    for example in examples {
        let output = tollgate(example.folder.path(), &["test", "cases.yaml"]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{}\n{text}{}",
            example.name.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        for word in ["allow", "deny"] {
            assert!(
                example.read("cases.yaml").contains(&format!("decision: {word}")),
                "{}: no case for {word}",
                example.name.display()
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
        if example.folder.path().join("tollgate.yaml").exists() {
            files.push("tollgate.yaml");
        }
        let output = tollgate(example.folder.path(), &files);
        let told = String::from_utf8_lossy(&output.stderr);
        let mut findings = told.lines().filter(|line| line.contains(": warning[") || line.contains(": error["));
        let unexpected = findings.find(|finding| !EXPECTED.iter().any(|known| finding.contains(known)));
        assert!(
            output.status.success() && unexpected.is_none(),
            "{}\n{told}",
            example.name.display()
        );
    }
}

/// A policy that allows everything must fail the cases of every example: they are about what is denied.
#[test]
fn a_policy_without_limits_fails_every_example() {
    for example in examples() {
        let open = "version: 1\nnetwork_policies:\n  all:\n    endpoints: [ { host: \"**.example.com\", port: 443 } ]\n    binaries: [ { path: \"/**\" } ]\n";
        std::fs::write(example.folder.path().join("policy.yaml"), open).unwrap();
        let output = tollgate(example.folder.path(), &["test", "cases.yaml"]);
        assert_eq!(output.status.code(), Some(1), "{}", example.name.display());
    }
}

/// A payee that nobody has filled in is nobody: such a policy must not be taken for a finished one.
#[test]
fn an_example_with_a_payee_to_fill_in_is_refused_and_says_where_to_find_it() {
    let unfilled = |folder: &PathBuf| {
        let policy = std::fs::read_to_string(folder.join("policy.yaml")).unwrap();
        policy.matches(&format!("\"{UNFILLED}\"")).count()
    };
    let left_open: Vec<PathBuf> = folders().into_iter().filter(|folder| unfilled(folder) > 0).collect();
    assert_eq!(left_open.len(), 1, "{left_open:?}");
    for folder in left_open {
        let output = tollgate(&folder, &["check", "policy.yaml"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert_eq!(
            told.matches("`FILL_IN_PAYEE` is not filled in yet").count(),
            unfilled(&folder),
            "{told}"
        );
        assert!(told.contains("policy.yaml:37:") && told.contains("/.well-known/x402"), "{told}");
        let output = tollgate(&folder, &["test", "cases.yaml"]);
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
        let run = [
            "run",
            "--policy",
            "policy.yaml",
            "--config",
            "tollgate.yaml",
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "127.0.0.1:0",
        ];
        let output = tollgate(&folder, &run);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && told.contains("payees.yaml:1:") && told.contains("not filled in yet"),
            "{told}"
        );
    }
}
