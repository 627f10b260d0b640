//! For machines: one document.

use serde::Serialize;
use tollgate_policy::compare::{Certainty, Effect, Finding, FindingKind, Spot};

use super::Difference;

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
    let (old, new) = (difference.old.file.as_str(), difference.new.file.as_str());
    let document = Document {
        old,
        new,
        widening: difference.count(Effect::Widening),
        narrowing: difference.count(Effect::Narrowing),
        findings: difference.findings.iter().map(|finding| Entry::of(finding, old, new)).collect(),
    };
    // Texts and numbers only: nothing that JSON can't hold.
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

impl<'a> Entry<'a> {
    fn of(finding: &'a Finding, old: &'a str, new: &'a str) -> Self {
        Entry {
            effect: finding.effect,
            certainty: finding.certainty,
            kind: finding.kind,
            message: &finding.text,
            old: finding.old.as_ref().map(|spot| Place::of(spot, old)),
            new: finding.new.as_ref().map(|spot| Place::of(spot, new)),
        }
    }
}

impl<'a> Place<'a> {
    fn of(spot: &'a Spot, file: &'a str) -> Self {
        Place {
            file,
            line: spot.at.line,
            column: spot.at.column,
            rule: &spot.rule,
        }
    }
}
