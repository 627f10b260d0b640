#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;

use super::*;
use crate::config::ConfigError;

const HEAD: &str = "policy: policy.yaml\ncases:\n";

fn parse(source: &str) -> Result<CasesFile, ConfigError> {
    CasesFile::parse(source.to_owned(), Path::new("folder/cases.yaml"))
}

/// The error of a file that must not be usable.
fn refused(source: &str) -> ConfigError {
    match parse(source) {
        Ok(_) => panic!("accepted:\n{source}"),
        Err(error) => error,
    }
}

#[test]
fn a_case_has_all_that_a_request_has() {
    let source = "
policy: sub/policy.yaml
config: /etc/tollgate.yaml
cases:
  - name: everything
    request:
      method: POST
      url: https://api.example.com/v1
      binary: /usr/bin/curl
      ancestors: [ /bin/bash ]
      headers: { X-One: \"1\", X-Two: [ a, b ] }
      body: hello
      at: 2026-01-31T12:00:00Z
    expect: { decision: would_deny, reason_code: method_not_allowed, policy: api, rule: \"rules[0]\" }
";
    let file = parse(source).unwrap();
    assert_eq!(file.policy, Path::new("folder/sub/policy.yaml"), "beside the cases file");
    assert_eq!(file.config.as_deref(), Some(Path::new("/etc/tollgate.yaml")));
    let case = &file.cases[0];
    assert_eq!((case.name.as_str(), case.line), ("everything", Some(5)));
    let request = &case.request;
    assert_eq!(
        (request.method.as_str(), request.url.as_str()),
        ("POST", "https://api.example.com/v1")
    );
    assert_eq!(
        (request.binary(), &request.body[..], request.at),
        (Some("/usr/bin/curl"), &b"hello"[..], Some(1_769_860_800))
    );
    let headers: Vec<_> = request
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect();
    assert_eq!(headers, [("x-one", "1"), ("x-two", "a"), ("x-two", "b")]);
    let expected = &case.expected;
    assert_eq!(
        (
            expected.decision.as_str(),
            expected.reason_code.unwrap().as_str(),
            expected.policy.as_deref(),
            expected.rule.as_deref()
        ),
        ("would_deny", "method_not_allowed", Some("api"), Some("rules[0]"))
    );
}

/// A case in which one line is replaced, and the code, line, column and a part of the message and hint that must come of it.
const BROKEN: &[(&str, &str, (u32, u32), &str)] = &[
    ("polcy: p.yaml\ncases: []", "unknown-key", (1, 1), "did you mean `policy`?"),
    (
        "policy: p.yaml\npolicy: q.yaml\ncases: []",
        "duplicate-key",
        (2, 1),
        "`policy` stands twice",
    ),
    ("policy: p.yaml\ncases: []", "no-cases", (2, 8), "nothing is tested"),
    ("policy: p.yaml", "missing-key", (1, 1), "`cases` is missing"),
    ("policy: p.yaml\ncases: {}", "wrong-type", (2, 8), "expected a list"),
    (
        "cases:\n  - { name: a, request: { method: GET, url: u }, expect: { decision: allow } }",
        "missing-key",
        (1, 1),
        "`policy` is missing",
    ),
];

/// The same within the first case, which begins in line 3.
const BROKEN_CASES: &[(&str, &str, (u32, u32), &str)] = &[
    (
        "- { name: a, request: { method: GET, url: u } }",
        "missing-key",
        (3, 16),
        "`expect` is missing",
    ),
    ("- { name: a, requst: {} }", "unknown-key", (3, 16), "did you mean `request`?"),
    (
        "- { name: '', request: { method: GET, url: u }, expect: { decision: deny } }",
        "invalid-value",
        (3, 13),
        "needs a name",
    ),
    (
        "- { name: a, request: { method: G@T, url: u }, expect: { decision: deny } }",
        "invalid-value",
        (3, 35),
        "not an HTTP method",
    ),
    (
        "- { name: a, request: { methd: GET, url: u }, expect: { decision: deny } }",
        "unknown-key",
        (3, 27),
        "did you mean `method`?",
    ),
    (
        "- { name: a, request: { method: GET }, expect: { decision: deny } }",
        "missing-key",
        (3, 27),
        "`url` is missing",
    ),
    (
        "- { name: a, request: { method: GET, url: u, binary: curl }, expect: { decision: deny } }",
        "invalid-value",
        (3, 56),
        "not an absolute path",
    ),
    (
        "- { name: a, request: { method: GET, url: u, ancestors: [/bin/a] }, expect: { decision: deny } }",
        "missing-key",
        (3, 60),
        "there is none",
    ),
    (
        "- { name: a, request: { method: GET, url: u, headers: { 'a b': c } }, expect: { decision: deny } }",
        "invalid-value",
        (3, 59),
        "not a header field's name",
    ),
    (
        "- { name: a, request: { method: GET, url: u, headers: { a: \"b\\nc\" } }, expect: { decision: deny } }",
        "invalid-value",
        (3, 62),
        "no line breaks",
    ),
    (
        "- { name: a, request: { method: GET, url: u, body: a, body_file: b }, expect: { decision: deny } }",
        "contradiction",
        (3, 68),
        "two bodies",
    ),
    (
        "- { name: a, request: { method: GET, url: u, body_file: nowhere }, expect: { decision: deny } }",
        "unreadable",
        (3, 59),
        "nowhere",
    ),
    (
        "- { name: a, request: { method: GET, url: u, at: noon }, expect: { decision: deny } }",
        "invalid-value",
        (3, 52),
        "not a moment",
    ),
    (
        "- { name: a, request: { method: GET, url: u }, expect: { decision: alow } }",
        "unknown-value",
        (3, 70),
        "did you mean `allow`?",
    ),
    (
        "- { name: a, request: { method: GET, url: u }, expect: { decision: deny, reason_code: path_not_alowed } }",
        "unknown-value",
        (3, 89),
        "did you mean `path_not_allowed`?",
    ),
    (
        "- { name: a, request: { method: GET, url: u }, expect: { decision: deny, reason: path_not_allowed } }",
        "unknown-key",
        (3, 76),
        "known here: decision, reason_code",
    ),
    (
        "- { name: a, request: { method: GET, url: u }, expect: { decision: allow, reason_code: no_policy } }",
        "contradiction",
        (3, 58),
        "has no reason code",
    ),
    (
        "- { name: a, request: { method: GET, url: u }, expect: { reason_code: no_policy } }",
        "missing-key",
        (3, 60),
        "`decision` is missing",
    ),
    (
        "- { name: a, request: { method: GET, url: u }, expect: { decision: deny, policy: } }",
        "wrong-type",
        (3, 82),
        "leave the key out",
    ),
    (
        "- { name: a, request: &a { method: GET, url: u }, expect: { decision: deny } }",
        "yaml-syntax",
        (3, 28),
        "anchors",
    ),
    (
        "- { name: a, request: { method: GET, url: u, payment: { network: 'eip155:1', asset: '0x1', payee: '0x1', amount: '1' } }, expect: { decision: deny } }",
        "invalid-value",
        (3, 87),
        "address",
    ),
    (
        "- { name: a, request: { method: GET, url: u, payment: { network: 'eip155:1', asset: '0x1111111111111111111111111111111111111111', payee: '0x1111111111111111111111111111111111111111', amount: '1' } }, expect: { decision: deny } }",
        "invalid-value",
        (3, 57),
        "not an asset that Tollgate knows",
    ),
    (
        "- { name: a, request: { method: GET, url: u, payment: { scheme: exact-permit, network: 'eip155:1', asset: '0x1', payee: '0x1', amount: '1' } }, expect: { decision: deny } }",
        "unknown-value",
        (3, 67),
        "did you mean `exact-permit2`?",
    ),
    (
        "- { name: a, request: { method: GET, url: u, payment: { scheme: exact-svm, network: 'eip155:8453', asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', payee: '0x1111111111111111111111111111111111111111', amount: '1' } }, expect: { decision: deny } }",
        "invalid-value",
        (3, 57),
        "sign for by `exact-svm`",
    ),
    (
        "- { name: a, request: { method: GET, url: u, payment: { scheme: upto, network: 'eip155:8453', asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', payee: 2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4, amount: '1' } }, expect: { decision: deny } }",
        "invalid-value",
        (3, 57),
        "not an address on eip155:8453",
    ),
];

#[test]
fn mistakes_are_named_with_their_place_and_a_way_out() {
    let whole = BROKEN.iter().map(|(source, ..)| (*source).to_owned());
    let cases = BROKEN_CASES.iter().map(|(case, ..)| format!("{HEAD}  {case}\n"));
    let expected = BROKEN.iter().chain(BROKEN_CASES).map(|(_, code, place, text)| (code, place, text));
    let mut wrong = Vec::new();
    for (source, (code, place, text)) in whole.chain(cases).zip(expected) {
        let error = refused(&source);
        let printed = error.to_string();
        if (error.code, error.position) != (code, Some(*place)) || !printed.contains(text) {
            wrong.push(format!("{code} {place:?} {text:?}:\n{printed}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn two_cases_of_one_name_are_told_apart_by_nobody() {
    let case = "  - { name: twin, request: { method: GET, url: u }, expect: { decision: deny } }\n";
    let error = refused(&format!("{HEAD}{case}{case}"));
    assert_eq!((error.code, error.position), ("duplicate-name", Some((4, 13))));
    assert!(error.hint.unwrap().contains("line 3"));
}

#[test]
fn a_value_that_may_be_a_secret_is_not_repeated() {
    let error = refused(&format!(
        "{HEAD}  - name: a\n    request:\n      method: GET\n      url: u\n      headers:\n        Authorization: \"\\u0001{}\"\n    expect: {{ decision: deny }}\n",
        "hidden".repeat(4)
    ));
    assert!(!error.message.contains("hidden"), "{error}");
}

#[tokio::test]
async fn a_payment_is_written_as_the_operators_agents_write_it() {
    const WALLET: &str = "0xe36fafa443a2c47660fd4ea5bc635be9f27c8d81";
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "policy.yaml",
        "version: 1\nnetwork_policies:\n  api:\n    endpoints: [ { host: api.example.com, port: 443, protocol: rest, enforcement: enforce, access: full } ]\n    binaries: [ { path: \"/**\" } ]\n",
    );
    write(
        "payees.yaml",
        "- { payee: \"0x1111111111111111111111111111111111111111\", price: \"0.01\" }\n",
    );
    write(
        "cases.yaml",
        "policy: policy.yaml\nconfig: tollgate.yaml\ncases:\n  - name: pays\n    request:\n      method: GET\n      url: https://api.example.com/v1\n      payment: { network: \"eip155:8453\", asset: \"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913\", payee: \"0x1111111111111111111111111111111111111111\", amount: \"0.01\" }\n    expect: { decision: allow }\n",
    );
    for agent in ["placeholder", "throwaway-key"] {
        write(
            "tollgate.yaml",
            &format!(
                "verdict: {{ payees: payees.yaml }}\npayments: {{ signer: {{ wallet: \"{WALLET}\", agent: {agent}, key_file: there-is-none }} }}\n"
            ),
        );
        let suite = Suite::load(&folder.path().join("cases.yaml")).unwrap();
        let ran = suite.run().await.unwrap();
        assert!(ran[0].mismatches.is_empty(), "{agent}");
        let pass = ran[0].run.outcome.as_ref().unwrap();
        assert_eq!(pass.payment.as_ref().unwrap().payer.as_deref(), Some(WALLET), "{agent}");
    }
}

/// The schemes, and where each can move money.
const SCHEMES: [(&str, &str); 4] = [
    ("exact", EVM),
    ("exact-permit2", EVM),
    ("upto", EVM),
    (
        "exact-svm",
        "network: \"solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1\", asset: 4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU, payee: 2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4",
    ),
];
const EVM: &str = "network: \"eip155:84532\", asset: \"0x036CbD53842c5426634e7929541eC2318f3dCF7e\", payee: \"0x1111111111111111111111111111111111111111\"";

#[tokio::test]
async fn a_payment_of_every_scheme_is_signed_and_judged() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "policy.yaml",
        "version: 1\nnetwork_policies:\n  api:\n    endpoints: [ { host: api.example.com, port: 443, protocol: rest, enforcement: enforce, access: full } ]\n    binaries: [ { path: \"/**\" } ]\n",
    );
    write(
        "payees.yaml",
        "- { payee: \"0x1111111111111111111111111111111111111111\", price: \"0.01\" }\n- { payee: 2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4, price: \"0.01\" }\n",
    );
    let case = |(scheme, terms): (&str, &str)| {
        let payment = |amount: &str| {
            format!(
                "{{ method: GET, url: \"https://api.example.com/v1\", payment: {{ scheme: {scheme}, {terms}, amount: \"{amount}\" }} }}"
            )
        };
        format!(
            "  - {{ name: {scheme}, request: {}, expect: {{ decision: allow }} }}\n  - {{ name: {scheme} over the limit, request: {}, expect: {{ decision: deny, reason_code: payment_over_limit }} }}\n",
            payment("0.01"),
            payment("0.06")
        )
    };
    let cases: String = SCHEMES.into_iter().map(case).collect();
    write(
        "cases.yaml",
        &format!("policy: policy.yaml\nconfig: tollgate.yaml\ncases:\n{cases}"),
    );
    let payments =
        |schemes: &str| format!("verdict: {{ payees: payees.yaml }}\npayments: {{ max_amount: \"0.05\", schemes: {schemes} }}\n");

    write("tollgate.yaml", &payments("[exact, exact-permit2, upto, exact-svm]"));
    let suite = Suite::load(&folder.path().join("cases.yaml")).unwrap();
    let all = suite.run().await.unwrap();
    for (ran, (scheme, _)) in all.iter().zip(SCHEMES.into_iter().flat_map(|one| [one, one])) {
        assert!(ran.mismatches.is_empty(), "{}: {:?}", ran.case.name, ran.run.outcome.as_ref().err());
        assert!(ran.case.name.starts_with(scheme));
    }

    write("tollgate.yaml", &payments("[exact]"));
    let suite = Suite::load(&folder.path().join("cases.yaml")).unwrap();
    for ran in &suite.run().await.unwrap()[2..] {
        let denial = ran.run.outcome.as_ref().err().unwrap();
        assert_eq!(denial.reason.as_str(), "payment_scheme_not_allowed", "{}", ran.case.name);
    }
}
