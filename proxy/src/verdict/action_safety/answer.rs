//! Reads the answer of the quick gate, strictly: anything but the contract's own shape is no answer.
//!
//! | risk | `nextRecommendedCall` | means |
//! | --- | --- | --- |
//! | `low`, no approval required | `null` | no objection |
//! | `medium` | POST to the score service | HOLD |
//! | `high`, `critical` | POST to the run service | HOLD |
//! | any, approval required | as above | HOLD |
//! | any other pairing, another action, another origin | | no answer |
//!
//! The next call is never made: what it recommends costs money, and none of its answers would be a GO.

use tollgate_policy::json::{self, Object, Value};

use super::super::unanimous::Opinion;
use super::super::{Failure, Unacceptable};
use super::action::{ActionHash, BINDING_VERSION};
use super::{RUN, SCORE};

/// Nesting that no honest answer has.
const MAX_DEPTH: u8 = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Risk {
    Low,
    Medium,
    HighOrCritical,
}

/// The opinion in the body of a 200, about the action with this hash, from the service at this origin.
pub(super) fn read(body: &[u8], hash: &ActionHash, origin: &str) -> Result<Opinion, Failure> {
    let document = json::parse(body, MAX_DEPTH).map_err(|error| match error {
        json::JsonError::DuplicateKey => Failure::Unacceptable(Unacceptable::DuplicateMember),
        _ => Failure::NotJson,
    })?;
    let answer = document.as_object().ok_or(Failure::Unacceptable(Unacceptable::NotObject))?;
    judge(answer, hash, origin).ok_or(Failure::Unacceptable(Unacceptable::Opinion))
}

fn judge(answer: &Object<'_>, hash: &ActionHash, origin: &str) -> Option<Opinion> {
    let says = |name: &str, text: &str| answer.string(name) == Some(text);
    let ours = says("status", "scored")
        && says("service", "action-safety-quick-gate")
        && says("actionBindingVersion", BINDING_VERSION)
        && says("actionHash", hash.as_str());
    if !ours || !matches!(answer.get("matchedRuleIds"), Some(Value::Array(_))) {
        return None;
    }
    let risk = match answer.string("risk")? {
        "low" => Risk::Low,
        "medium" => Risk::Medium,
        "high" | "critical" => Risk::HighOrCritical,
        _ => return None,
    };
    let Some(Value::Bool(requires_approval)) = answer.get("requiresApproval") else {
        return None;
    };
    let next = match answer.get("nextRecommendedCall") {
        Some(Value::Null) => None,
        Some(Value::Object(next)) => Some(next),
        _ => return None,
    };
    match (risk, next) {
        (Risk::Low, None) if !requires_approval => Some(Opinion::NoObjection),
        (Risk::Low, None) => Some(Opinion::Hold),
        (Risk::Medium, Some(next)) if leads_to(next, origin, SCORE) => Some(Opinion::Hold),
        (Risk::HighOrCritical, Some(next)) if leads_to(next, origin, RUN) => Some(Opinion::Hold),
        _ => None,
    }
}

/// Whether the call is a POST to this service of the same origin. Its URL may be absolute or a path.
fn leads_to(next: &Object<'_>, origin: &str, path: &str) -> bool {
    let url = next
        .string("url")
        .or_else(|| next.string("endpoint"))
        .or_else(|| next.string("path"));
    let own = url.is_some_and(|url| url.strip_prefix(origin).unwrap_or(url) == path);
    own && next.string("method").is_none_or(|method| method == "POST")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::{Value, json};

    use super::super::action::{Action, Command};
    use super::*;

    const ORIGIN: &str = "https://hermesplant.com";

    fn answer() -> Value {
        json!({
            "status": "scored", "service": "action-safety-quick-gate", "actionBindingVersion": "hermes-action-v1",
            "actionHash": action().hash().as_str(), "risk": "low", "requiresApproval": false, "matchedRuleIds": [],
            "nextRecommendedCall": null, "something": "new",
        })
    }

    fn action() -> Action {
        Action::new(Command::parse("x402 pay").unwrap())
    }

    fn read_with(changes: &Value) -> Result<Opinion, Failure> {
        let mut answer = answer();
        for (name, value) in changes.as_object().unwrap() {
            answer[name] = value.clone();
        }
        read(answer.to_string().as_bytes(), &action().hash(), ORIGIN)
    }

    #[test]
    fn only_a_low_risk_without_approval_is_no_objection() {
        let score = json!({ "method": "POST", "url": format!("{ORIGIN}{SCORE}") });
        let run = json!({ "method": "POST", "url": RUN });
        let no_answer = Err(Failure::Unacceptable(Unacceptable::Opinion));
        for (changes, expected) in [
            (json!({}), Ok(Opinion::NoObjection)),
            (json!({ "requiresApproval": true }), Ok(Opinion::Hold)),
            (json!({ "risk": "medium", "nextRecommendedCall": score }), Ok(Opinion::Hold)),
            (json!({ "risk": "high", "nextRecommendedCall": run }), Ok(Opinion::Hold)),
            (
                json!({ "risk": "critical", "nextRecommendedCall": run, "requiresApproval": true }),
                Ok(Opinion::Hold),
            ),
            // Pairings that the contract does not have.
            (json!({ "risk": "low", "nextRecommendedCall": score }), no_answer),
            (json!({ "risk": "medium" }), no_answer),
            (json!({ "risk": "medium", "nextRecommendedCall": run }), no_answer),
            (json!({ "risk": "high", "nextRecommendedCall": score }), no_answer),
            (json!({ "risk": "none" }), no_answer),
            (json!({ "risk": "LOW" }), no_answer),
            (json!({ "requiresApproval": "false" }), no_answer),
            (json!({ "matchedRuleIds": null }), no_answer),
            (json!({ "status": "ok" }), no_answer),
            (json!({ "service": "other" }), no_answer),
        ] {
            assert_eq!(read_with(&changes), expected, "{changes}");
        }
    }

    #[test]
    fn an_answer_about_another_action_is_none() {
        let other = Action::new(Command::parse("x402 pay amount=1").unwrap()).hash();
        for changes in [
            json!({ "actionHash": other.as_str() }),
            json!({ "actionHash": action().hash().as_str().to_uppercase() }),
            json!({ "actionBindingVersion": "hermes-action-v2" }),
            json!({ "actionHash": null }),
        ] {
            assert!(read_with(&changes).is_err(), "{changes}");
        }
    }

    #[test]
    fn a_next_call_to_a_stranger_is_no_answer() {
        for url in [
            "https://evil.example/api/agent-services/destructguard/score",
            "/api/agent-services/destructguard/score/../run",
            "",
        ] {
            let changes = json!({ "risk": "medium", "nextRecommendedCall": { "method": "POST", "url": url } });
            assert!(read_with(&changes).is_err(), "{url}");
        }
        let changes = json!({ "risk": "medium", "nextRecommendedCall": { "method": "GET", "url": SCORE } });
        assert!(read_with(&changes).is_err());
    }

    #[test]
    fn what_has_two_readings_is_no_answer() {
        let twice = answer().to_string().replacen('{', "{\"risk\":\"high\",", 1);
        for (body, expected) in [
            (twice.as_str(), Failure::Unacceptable(Unacceptable::DuplicateMember)),
            ("[]", Failure::Unacceptable(Unacceptable::NotObject)),
            ("<html>", Failure::NotJson),
            ("", Failure::NotJson),
        ] {
            assert_eq!(read(body.as_bytes(), &action().hash(), ORIGIN), Err(expected), "{body}");
        }
    }
}
