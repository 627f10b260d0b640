//! For machines: one document with every case, and the whole of `explain --format json` for each.

use serde_json::{Map, Value, json};

use super::{Tested, Tried};
use crate::cases::Expected;

pub(super) fn document(all: &[Tested<'_>]) -> String {
    let failed: usize = all.iter().map(Tested::failed).sum();
    let cases: usize = all.iter().map(|tested| tested.results.len()).sum();
    let files: Vec<Value> = all
        .iter()
        .map(|tested| {
            json!({
                "file": tested.file(),
                "policy": tested.suite.file.policy,
                "config": tested.suite.file.config,
                "cases": tested.results.iter().map(case).collect::<Vec<_>>(),
            })
        })
        .collect();
    let document = json!({ "cases": cases, "failed": failed, "files": files });
    format!("{document:#}\n")
}

fn case(
    Tried {
        case,
        mismatches,
        explained,
    }: &Tried<'_>,
) -> Value {
    json!({
        "name": case.name,
        "line": case.line,
        "ok": mismatches.is_empty(),
        "expected": expected(&case.expected),
        "mismatches": mismatches,
        "explanation": explained.document(),
    })
}

/// As it stands in the file.
fn expected(expected: &Expected) -> Value {
    let mut members = Map::new();
    let mut put = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            members.insert(name.to_owned(), value.into());
        }
    };
    put("decision", Some(expected.decision.as_str()));
    put("reason_code", expected.reason_code.map(tollgate_policy::Reason::as_str));
    put("policy", expected.policy.as_deref());
    put("rule", expected.rule.as_deref());
    Value::Object(members)
}
