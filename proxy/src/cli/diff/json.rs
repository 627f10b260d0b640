//! For machines: one document.

use serde::Serialize;
use serde_json::Value;
use tollgate_policy::Source;
use tollgate_policy::compare::{Certainty, Effect, Finding, FindingKind, Spot};

use super::Difference;
use crate::cli::policy_text::PolicyText;

#[derive(Serialize)]
struct Document<'a> {
    old: &'a str,
    new: &'a str,
    widening: usize,
    narrowing: usize,
    findings: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    effect: Effect,
    certainty: Certainty,
    kind: FindingKind,
    message: &'a str,
    matcher: Option<&'a Value>,
    old: Option<Place<'a>>,
    new: Option<Place<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    rule: &'a str,
}

pub(super) fn document(difference: &Difference<'_>) -> String {
    let document = Document {
        old: &difference.old.name,
        new: &difference.new.name,
        widening: difference.count(Effect::Widening),
        narrowing: difference.count(Effect::Narrowing),
        findings: difference.findings.iter().map(|finding| Entry::of(finding, difference)).collect(),
    };
    // Texts and numbers only: nothing that JSON can't hold.
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

impl<'a> Entry<'a> {
    fn of(finding: &'a Finding, difference: &'a Difference<'_>) -> Self {
        Entry {
            effect: finding.effect,
            certainty: finding.certainty,
            kind: finding.kind,
            message: &finding.text,
            matcher: finding.matcher.as_ref(),
            old: finding.old.as_ref().map(|spot| Place::of(spot, difference.old)),
            new: finding.new.as_ref().map(|spot| Place::of(spot, difference.new)),
        }
    }
}

impl<'a> Place<'a> {
    fn of(spot: &'a Spot, policy: &'a PolicyText) -> Self {
        Place {
            file: policy.sources.get(spot.at.source).map_or(&policy.name, Source::name),
            line: spot.at.line,
            column: spot.at.column,
            rule: &spot.rule,
        }
    }
}
