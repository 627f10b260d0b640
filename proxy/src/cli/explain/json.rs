//! The explanation for machines: the members of a denial's body, `decision` and `trace`.

use serde_json::{Map, Value, json};

use super::Explained;
use crate::flow::Pass;
use crate::gate::{Denial, Subject};

pub(super) fn document(explained: &Explained<'_>) -> Value {
    let run = &explained.run;
    let subject = Subject {
        layer: run.layer,
        method: Some(explained.method.as_str()),
        path: run.path.as_deref(),
        authority: run.authority.as_ref(),
        binary: explained.binary,
        request_id: "",
    };
    let (decision, mut members) = match &run.outcome {
        Err(denial) => ("deny", denial_members(denial, &subject)),
        Ok(pass) => (
            if pass.would_deny.is_some() { "would_deny" } else { "allow" },
            pass_members(pass, explained, &subject),
        ),
    };
    members.insert("decision".to_owned(), decision.into());
    // No request was made, so no audit line has its name.
    members.insert("request_id".to_owned(), Value::Null);
    members.insert("notes".to_owned(), json!(explained.notes));
    // Places name their file by its index here, where it is not the first.
    let files: Vec<&str> = explained.sources.iter().map(|(_, source)| source.name()).collect();
    members.insert(
        "trace".to_owned(),
        json!({ "steps": run.steps, "policy": run.policy, "files": files }),
    );
    Value::Object(members)
}

/// Exactly what the client would be told.
fn denial_members(denial: &Denial, subject: &Subject<'_>) -> Map<String, Value> {
    serde_json::from_slice(&denial.body(subject)).unwrap_or_default()
}

/// The same members where there is nothing to deny. In audit mode they say what would be.
fn pass_members(pass: &Pass, explained: &Explained<'_>, subject: &Subject<'_>) -> Map<String, Value> {
    let audited = explained.run.policy.as_ref().filter(|_| pass.would_deny.is_some());
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.to_owned(), value));
    put("error", Value::Null);
    put("reason_code", json!(pass.would_deny.map(tollgate_policy::Reason::as_str)));
    put("detail", json!(audited.and_then(|policy| policy.detail.as_deref())));
    put("layer", json!(subject.layer));
    put("policy", json!(pass.policy));
    put("rule", json!(pass.rule));
    put("method", json!(subject.method));
    put("path", json!(subject.path));
    put("host", json!(subject.authority.map(|authority| authority.host.to_string())));
    put("port", json!(subject.authority.map(|authority| authority.port)));
    put("binary", json!(subject.binary));
    put(
        "next_steps",
        json!(audited.map(|policy| policy.next_steps.as_slice()).unwrap_or_default()),
    );
    if let Some(operation) = &pass.operation {
        put("operation", json!(operation.as_str()));
    }
    if let Some(payment) = &pass.payment {
        put("payment", json!(payment));
    }
    members
}
