//! Rules that are the same under another key.

use super::Side;
use super::finding::{Certainty, Effect, Finding, FindingKind, Spot};
use super::words;
use crate::policy::{Endpoint, RuleId};

/// Reports keys that only one side has, where a rule of the other means the same.
pub(super) fn compare(old: &Side<'_>, new: &Side<'_>, findings: &mut Vec<Finding>) {
    let mut added = only_in(new, old);
    for gone in only_in(old, new) {
        let Some(index) = added.iter().position(|rule| rule.meaning == gone.meaning) else {
            continue;
        };
        let renamed = added.remove(index);
        findings.push(Finding {
            effect: Effect::None,
            certainty: Certainty::Known,
            kind: FindingKind::Renamed,
            text: format!("rule `{}` is called `{}` now; it means the same", gone.spot.rule, renamed.spot.rule),
            old: Some(gone.spot),
            new: Some(renamed.spot),
        });
    }
}

struct Named {
    spot: Spot,
    meaning: Vec<String>,
}

fn only_in(side: &Side<'_>, other: &Side<'_>) -> Vec<Named> {
    let taken: std::collections::HashSet<&str> = other.policy.rule_keys().collect();
    let mut named: Vec<Named> = Vec::new();
    for endpoint in side.policy.all_endpoints() {
        if taken.contains(&*endpoint.rule_key) {
            continue;
        }
        match named.last_mut().filter(|rule| rule.spot.rule == *endpoint.rule_key) {
            Some(rule) => rule.meaning.push(meaning(side, endpoint)),
            None => named.push(Named {
                spot: Spot::of(endpoint),
                meaning: vec![binaries(side, endpoint.rule), meaning(side, endpoint)],
            }),
        }
    }
    for rule in &mut named {
        rule.meaning.sort();
        rule.meaning.dedup();
    }
    named
}

fn binaries(side: &Side<'_>, rule: RuleId) -> String {
    let mut texts = side.policy.rule(rule).map(|rule| rule.binaries.texts()).unwrap_or_default();
    texts.sort();
    texts.join("\n")
}

/// The same text for the same meaning; not the other way round, which costs no more than the word.
fn meaning(side: &Side<'_>, endpoint: &Endpoint) -> String {
    format!(
        "{} {} {:?} {:?} {:?} {:?} {:?} {} {}",
        words::place(endpoint, &endpoint.ports),
        endpoint.path,
        endpoint.protocol(),
        endpoint.tls,
        endpoint.enforcement,
        endpoint.encoded_slash,
        endpoint.addresses,
        words::passes(endpoint),
        side.contents.judging(endpoint.at),
    )
}
