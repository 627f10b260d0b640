#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;

use serde_json::{Value, json};

use super::*;

const POLICY: &str = "\
version: 1
network_policies:
  api:
    endpoints:
      - host: api.example.com
        port: 443
        protocol: rest
        enforcement: enforce
        rules:
          - allow: { method: GET, path: \"/v1/**\" }
    binaries: [ { path: \"/**\" } ]
";

const CASES: &str = "\
policy: policy.yaml
cases:
  - name: reading is allowed
    request: { method: GET, url: \"https://api.example.com/v1/a\" }
    expect: { decision: allow, policy: api, rule: \"rules[0]\" }
  - name: <writing> & more is allowed
    request: { method: POST, url: \"https://api.example.com/v1/a?token=hidden\" }
    expect: { decision: allow, rule: \"rules[1]\" }
";

fn place(cases: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
    let file = folder.path().join("cases.yaml");
    std::fs::write(&file, cases).unwrap();
    (folder, file)
}

/// The three forms of what came of the cases.
async fn forms(file: &Path) -> (String, Value, String) {
    let suite = Suite::load(file).unwrap();
    let tested = [test(&suite).await.unwrap()];
    (
        human::text(&tested),
        serde_json::from_str(&json::document(&tested)).unwrap(),
        junit::document(&tested).unwrap(),
    )
}

#[tokio::test]
async fn a_wrong_case_shows_what_differs_and_why() {
    let (folder, file) = place(CASES);
    let (human, json, junit) = forms(&file).await;
    let folder = folder.path().display().to_string();

    let human = human.replace(&folder, "");
    for line in [
        "  ok    reading is allowed\n",
        "  FAIL  <writing> & more is allowed\n        /cases.yaml:6\n",
        "        - decision: allow\n        + decision: deny\n",
        "        - rule: rules[1]\n        + rule: none\n",
        "        DENY  POST api.example.com:443/v1/a\n          method_not_allowed (403 policy_denied)\n",
        "          /policy.yaml:10: rules[0]: another method\n",
        "\n2 cases, 1 as expected, 1 not\n",
    ] {
        let line = line.replace("          /policy.yaml:10: rules", "            /policy.yaml:10: rules");
        assert!(human.contains(&line), "no {line:?} in\n{human}");
    }

    assert_eq!((&json["cases"], &json["failed"]), (&json!(2), &json!(1)));
    let cases = &json["files"][0]["cases"];
    assert_eq!((&cases[0]["ok"], &cases[0]["mismatches"]), (&json!(true), &json!([])));
    assert_eq!(cases[1]["expected"], json!({ "decision": "allow", "rule": "rules[1]" }));
    assert_eq!(
        cases[1]["mismatches"],
        json!([
            { "part": "decision", "expected": "allow", "actual": "deny" },
            { "part": "rule", "expected": "rules[1]", "actual": null },
        ])
    );
    assert_eq!(cases[1]["explanation"]["reason_code"], "method_not_allowed");
    assert_eq!(cases[1]["line"], 6);

    for part in [
        "tests=\"2\" skipped=\"0\" failures=\"1\"",
        "name=\"&lt;writing&gt; &amp; more is allowed\"",
        "message=\"decision: expected allow, found deny; rule: expected rules[1], found none\"",
        "line=\"6\"",
        "method_not_allowed",
    ] {
        assert!(junit.contains(part), "no {part:?} in\n{junit}");
    }
    for form in [human, json.to_string(), junit] {
        assert!(!form.contains("hidden"), "a query value\n{form}");
    }
}

#[test]
fn the_exit_code_tells_right_wrong_and_unusable_apart() {
    let right = CASES.split("  - name: <writing>").next().unwrap();
    let (_a, right) = place(right);
    let (_b, wrong) = place(CASES);
    let (_c, broken) = place("policy: policy.yaml\ncases: []\n");
    let (_d, bodiless) = place(&CASES.replace("policy: policy.yaml", "policy: gone.yaml"));
    let (_e, no_url) = place(&CASES.replace("https://api.example.com/v1/a\"", "api.example.com\""));
    for (files, exit) in [
        (vec![&right], Some(Exit::Yes)),
        (vec![&wrong], Some(Exit::No)),
        (vec![&right, &wrong], Some(Exit::No)),
        (vec![&right, &broken], Some(Exit::Unusable)),
        (vec![&bodiless], Some(Exit::Unusable)),
        // An error, which `main` ends with 2 as well.
        (vec![&no_url], None),
    ] {
        let files: Vec<PathBuf> = files.into_iter().cloned().collect();
        let found = report(&files, Format::Json).map(|Report { exit, errors, text }| {
            assert_eq!(
                (exit == Exit::Unusable, text.is_empty()),
                (!errors.is_empty(), !errors.is_empty()),
                "{files:?}"
            );
            exit
        });
        assert_eq!(found.ok(), exit, "{files:?}");
    }
}

#[tokio::test]
async fn a_url_that_no_client_could_ask_for_is_named_with_its_place() {
    let (_folder, file) = place(&CASES.replace("https://api.example.com/v1/a?", "ftp://api.example.com/v1/a?"));
    let suite = Suite::load(&file).unwrap();
    let error = test(&suite).await.err().unwrap().to_string();
    assert!(error.contains("cases.yaml:7:35: error[invalid-value]: "), "{error}");
}
