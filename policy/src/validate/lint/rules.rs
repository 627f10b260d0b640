//! Rules of one endpoint that never decide anything.

use super::cover::covers;
use crate::diagnostic::{Code, Diagnostics, Position};
use crate::document::{EndpointSection, GlobValue, MatcherSection};

/// Every rule is held against every other of its endpoint; longer lists are written by machines, which need no advice.
const MAX_RULES: usize = 256;

/// See the module.
pub(super) fn shadowed_or_unreachable(endpoint: &EndpointSection, found: &mut Diagnostics) {
    let allow: Vec<Rule<'_>> = endpoint
        .rules
        .iter()
        .flat_map(|rules| &rules.value)
        .filter_map(|entry| entry.allow.as_ref())
        .filter_map(Rule::of)
        .collect();
    let deny: Vec<Rule<'_>> = endpoint
        .deny_rules
        .iter()
        .flat_map(|rules| &rules.value)
        .filter_map(Rule::of)
        .collect();
    if allow.len() > MAX_RULES || deny.len() > MAX_RULES {
        return;
    }
    let path = endpoint
        .path
        .as_ref()
        .map(|path| path.value.as_str())
        .filter(|path| !path.is_empty());
    for (index, rule) in allow.iter().enumerate() {
        if let Some(deny) = deny.iter().find(|deny| deny.covers(rule)) {
            let place = found.other_place(deny.at, rule.at);
            let message = format!("the deny rule on {place} takes back all that this rule allows");
            found.warn(
                Code::RuleShadowed,
                rule.at,
                message,
                "remove one of the two, or narrow the deny rule",
            );
        } else if let Some(other) = allow.iter().take(index).find(|other| other.covers(rule)) {
            let place = found.other_place(other.at, rule.at);
            let message = format!("the rule on {place} already allows all that this rule allows");
            found.warn(Code::RuleUnreachable, rule.at, message, "remove it");
        } else {
            outside(rule, path, found);
        }
    }
    for rule in &deny {
        outside(rule, path, found);
    }
    access_shadowed(endpoint, &deny, found);
}

/// Deny rules that leave nothing of an `access` preset.
fn access_shadowed(endpoint: &EndpointSection, deny: &[Rule<'_>], found: &mut Diagnostics) {
    let Some(access) = endpoint.access.as_ref().filter(|access| !access.value.is_empty()) else {
        return;
    };
    let everything = Rule {
        at: access.at,
        method: "*",
        path: "**",
        query: None,
    };
    if let Some(deny) = deny.iter().find(|deny| deny.covers(&everything)) {
        let message = format!("the deny rule on {} takes back all of it", found.other_place(deny.at, access.at));
        found.warn(
            Code::RuleShadowed,
            access.at,
            message,
            "narrow the deny rule, or remove the endpoint",
        );
    }
}

/// A rule for paths that the endpoint's own `path` keeps away from it.
fn outside(rule: &Rule<'_>, path: Option<&str>, found: &mut Diagnostics) {
    let Some(path) = path.filter(|path| path.starts_with('/') && rule.path.starts_with('/')) else {
        return;
    };
    if apart(literal(path), literal(rule.path)) {
        let message = format!(
            "the endpoint sees only requests for its `path` `{path}`, so a rule for `{}` never decides",
            rule.path
        );
        found.warn(
            Code::RuleUnreachable,
            rule.at,
            message,
            "move the rule to an endpoint whose `path` covers it",
        );
    }
}

/// What a glob begins with, up to its first wildcard.
fn literal(glob: &str) -> &str {
    glob.split(['*', '?', '[', '{', '\\']).next().unwrap_or_default()
}

/// Neither begins with the other, so that no path begins with both. A trailing `/` may be the base of `/**`.
fn apart(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim_end_matches('/'), b.trim_end_matches('/'));
    !a.starts_with(b) && !b.starts_with(a)
}

/// A matcher of methods, paths and queries and nothing else.
struct Rule<'s> {
    at: Position,
    method: &'s str,
    path: &'s str,
    /// `None`: any query.
    query: Option<&'s MatcherSection>,
}

impl<'s> Rule<'s> {
    fn of(section: &'s MatcherSection) -> Option<Self> {
        let about_a_body = section.operation_type.is_some()
            || section.operation_name.is_some()
            || section.fields.is_some()
            || section.tool.is_some()
            || section.params.is_some()
            || section.later.is_some();
        if about_a_body {
            return None;
        }
        Some(Rule {
            at: section.at,
            method: &section.method.as_ref()?.value,
            path: &section.path.as_ref()?.value,
            query: (!section.query.is_empty()).then_some(section),
        })
    }

    /// Whether it matches all that the other matches.
    fn covers(&self, other: &Rule<'_>) -> bool {
        let method = self.method == "*"
            || self.method.eq_ignore_ascii_case(other.method)
            || (self.method.eq_ignore_ascii_case("GET") && other.method.eq_ignore_ascii_case("HEAD"));
        method && self.covers_query(other) && covers(self.path, other.path)
    }

    fn covers_query(&self, other: &Rule<'_>) -> bool {
        match (self.query, other.query) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(own), Some(other)) => texts(own) == texts(other),
        }
    }
}

fn texts(section: &MatcherSection) -> Vec<(&str, Vec<&str>)> {
    section
        .query
        .iter()
        .map(|entry| (entry.name.value.as_str(), globs(&entry.value)))
        .collect()
}

fn globs(value: &GlobValue) -> Vec<&str> {
    match value {
        GlobValue::Glob(glob) => vec![&glob.value],
        GlobValue::Map { glob, any, .. } => {
            let any = any.iter().flat_map(|any| &any.value);
            glob.iter().chain(any).map(|glob| glob.value.as_str()).collect()
        }
    }
}
