#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;

use super::*;

const GOOD: &str = "\
version: 1
network_policies:
  api:
    endpoints:
      - { host: api.example.com, port: 443, protocol: rest, enforcement: enforce, access: read-only }
    binaries:
      - { path: /usr/bin/curl }
";

fn check(folder: &Path, files: &[(&str, &str)]) -> (Vec<Checked>, Exit) {
    let paths: Vec<PathBuf> = files
        .iter()
        .map(|(name, content)| {
            let path = folder.join(name);
            if *content != "absent" {
                std::fs::write(&path, content).unwrap();
            }
            path
        })
        .collect();
    let operator = Operator::among(&paths).unwrap();
    let checked = super::check(&paths, &[], &operator, Style::Plain);
    let exit = worst(&checked);
    (checked, exit)
}

#[test]
fn each_file_has_its_exit_and_the_worst_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    for (files, exit) in [
        (&[("p.yaml", GOOD)][..], Exit::Yes),
        (&[("tollgate.yaml", "limits: { idle: 1m }")], Exit::Yes),
        (&[("p.yaml", "network_policies: []")], Exit::No),
        (&[("p.yaml", "version: 1\nversion: 1\n")], Exit::No),
        (&[("tollgate.yaml", "limit: {}")], Exit::No),
        (&[("p.yaml", GOOD), ("broken.yaml", "[")], Exit::No),
        (&[("gone.yaml", "absent"), ("broken.yaml", "["), ("p.yaml", GOOD)], Exit::Unusable),
        (&[("tollgate.yml", "absent")], Exit::Unusable),
    ] {
        let (checked, got) = check(folder.path(), files);
        assert_eq!(got, exit, "{}", report::document(&checked));
    }
}

#[test]
fn the_machine_form_is_stable() {
    let folder = tempfile::tempdir().unwrap();
    let (checked, _) = check(folder.path(), &[("tollgate.yaml", "limits:\n  idel: 1s\n"), ("p.yaml", GOOD)]);
    let document: serde_json::Value = serde_json::from_str(&report::document(&checked)).unwrap();
    let expected = serde_json::json!({ "files": [
        { "file": folder.path().join("tollgate.yaml").to_str().unwrap(), "diagnostics": [
            { "severity": "error", "code": "unknown-key", "line": 2, "column": 3,
              "message": "there is no `idel` here", "hint": "did you mean `idle`?" } ] },
        { "file": folder.path().join("p.yaml").to_str().unwrap(), "diagnostics": [] },
    ] });
    assert_eq!(document, expected);
}

#[test]
fn a_rail_that_a_policy_lists_is_a_loud_finding() {
    let folder = tempfile::tempdir().unwrap();
    let rail = GOOD.replace("api.example.com", "pay.rail.example");
    let (checked, exit) = check(
        folder.path(),
        &[("p.yaml", rail.as_str()), ("tollgate.yaml", "rails: { hosts: [pay.rail.example] }")],
    );
    assert_eq!(exit, Exit::Yes);
    assert_eq!(
        checked[0].diagnostics.iter().map(|finding| finding.code).collect::<Vec<_>>(),
        ["rail-listed"]
    );
    assert!(report::summary(&checked[0]).ends_with("ok, 1 warning"));
    // Without the operator's file the host is like any other.
    let (checked, _) = check(folder.path(), &[("p.yaml", rail.as_str())]);
    assert!(checked[0].diagnostics.is_empty());
}

#[test]
fn a_stanza_is_held_against_the_operators_own_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let stanza = "
network_middlewares:
  payments:
    middleware: tollgate/x402
    order: 10
    config: { max_amount: 1 }
    endpoints: { include: [\"**\"] }
";
    let (checked, exit) = check(folder.path(), &[("p.yaml", &format!("{GOOD}{stanza}"))]);
    assert_eq!(exit, Exit::No);
    let finding = &checked[0].diagnostics[0];
    assert_eq!(
        (finding.code, finding.line),
        ("invalid-middleware-config", 13),
        "{}",
        finding.printed
    );
}

#[test]
fn findings_print_with_file_line_and_column() {
    let folder = tempfile::tempdir().unwrap();
    let (checked, _) = check(folder.path(), &[("p.yaml", "version: 1\nnetwork_polices: {}\n")]);
    let path = folder.path().join("p.yaml");
    let unknown = checked[0].diagnostics.iter().find(|finding| finding.code == "unknown-key");
    let printed = &unknown.unwrap().printed;
    assert!(
        printed.starts_with(&format!("{}:2:1: error[unknown-key]: ", path.display())),
        "{printed}"
    );
}

#[test]
fn a_file_that_is_too_large_or_not_text_is_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let (checked, exit) = check(folder.path(), &[("large.yaml", &"é".repeat(1 << 20))]);
    assert_eq!((checked[0].diagnostics[0].code, exit), ("file-too-large", Exit::No));
    let path = folder.path().join("binary.yaml");
    std::fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    let checked = super::check(&[path], &[], &Operator::among(&[]).unwrap(), Style::Plain);
    assert_eq!((checked[0].diagnostics[0].code, checked[0].exit), ("not-unicode", Exit::No));
}

#[test]
fn payments_that_a_restart_forgets_are_a_finding_about_the_operators_file() {
    let folder = tempfile::tempdir().unwrap();
    for (config, expected) in [
        ("limits: { idle: 1m }", &[][..]),
        ("verdict: { backend: local, payees: p.yaml }", &["payments-in-memory"][..]),
        (
            "verdict: { backend: local, payees: p.yaml }\npayments: { store: payments.redb }",
            &[][..],
        ),
    ] {
        let (checked, exit) = check(folder.path(), &[("tollgate.yaml", config)]);
        let codes: Vec<_> = checked[0].diagnostics.iter().map(|finding| finding.code).collect();
        assert_eq!((codes.as_slice(), exit), (expected, Exit::Yes), "{config}");
    }
}
