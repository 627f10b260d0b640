//! What a change of a policy means: what may leave that could not before, and what may no longer.
//!
//! In: two loaded policies with their texts. Out: [`Finding`]s in words, each with its effect and its places. The comparison is of
//! meaning: order, keys of rules, presets against the rules they stand for and other spellings of the same are no change. It is safe
//! for those who read only what widens: a request that the old policy denies and the new one lets pass always shows in a widening
//! finding. What cannot be compared counts as one.

mod addresses;
mod bans;
mod contents;
mod enforcement;
mod finding;
mod grants;
mod middleware;
mod operations;
mod reach;
mod reading;
mod renamed;
mod sandbox;
mod words;

pub use finding::{Certainty, Effect, Finding, FindingKind, Spot};
pub use middleware::{ConfigChange, MiddlewareMeaning, Selected};

use crate::policy::Policy;
use std::collections::HashSet;

use crate::diagnostic::Position;
use crate::source::Sources;
use contents::Contents;

/// One side of the comparison.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// What it means.
    pub policy: &'a Policy,
    /// What it was loaded from: what is not known here is compared as it stands.
    pub sources: &'a Sources,
}

/// Which way a step of the comparison looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// What the new policy has and the old one lacks.
    Gained,
    /// What the old policy has and the new one lacks.
    Lost,
}

impl Direction {
    fn effect(self) -> Effect {
        match self {
            Direction::Gained => Effect::Widening,
            Direction::Lost => Effect::Narrowing,
        }
    }
}

/// A side, prepared.
struct Side<'a> {
    policy: &'a Policy,
    contents: Contents,
}

/// Compares two policies. Widening findings come first, then narrowing ones, then those without effect; each in the order of the new
/// policy, then of the old.
pub fn compare(old: Compared<'_>, new: Compared<'_>, meaning: &dyn MiddlewareMeaning) -> Vec<Finding> {
    let side = |compared: Compared<'_>| Contents::read(compared.sources);
    let old = Side {
        policy: old.policy,
        contents: side(old),
    };
    let new = Side {
        policy: new.policy,
        contents: side(new),
    };
    let mut findings = Vec::new();
    for (subject, against, direction) in [(&new, &old, Direction::Gained), (&old, &new, Direction::Lost)] {
        grants::compare(subject, against, direction, &mut findings);
        enforcement::compare(subject, against, direction, &mut findings);
        bans::compare(against, subject, direction, &mut findings);
    }
    renamed::compare(&old, &new, &mut findings);
    middleware::compare(old.policy, new.policy, meaning, &mut findings);
    sandbox::compare(old.policy.sandbox(), new.policy.sandbox(), &mut findings);
    let line = |spot: &Option<Spot>| spot.as_ref().map(|spot| spot.at);
    findings.sort_by(|a, b| (a.effect, line(&a.new), line(&a.old), &a.text).cmp(&(b.effect, line(&b.new), line(&b.old), &b.text)));
    findings.dedup();
    // Rules that are not looked into are told of once, not by what they may allow, deny and no longer allow.
    let mut told: HashSet<(Option<Position>, Option<Position>)> = HashSet::new();
    let is_told = |finding: &Finding| (finding.kind, finding.certainty) == (FindingKind::Protocol, Certainty::Assumed);
    findings.retain(|finding| !is_told(finding) || told.insert((line(&finding.old), line(&finding.new))));
    findings
}
