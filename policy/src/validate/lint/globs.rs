//! Globs that match less than their author may think. OpenShell's documentation and its code disagree about them; the code is what
//! decides there, and here.

use std::collections::HashSet;

use crate::diagnostic::{Code, Diagnostics};
use crate::document::{At, EndpointSection, GlobValue, MatcherSection};

/// See the module.
pub(super) fn surprises(endpoint: &EndpointSection, found: &mut Diagnostics) {
    let allow = endpoint
        .rules
        .iter()
        .flat_map(|rules| &rules.value)
        .filter_map(|entry| entry.allow.as_ref());
    let allow: Vec<&MatcherSection> = allow.collect();
    let deny: Vec<&MatcherSection> = endpoint.deny_rules.iter().flat_map(|rules| &rules.value).collect();
    for matcher in allow.iter().chain(&deny) {
        last_segment(matcher, found);
    }
    for matcher in &allow {
        query_dots(matcher, Kind::Allow, found);
    }
    for matcher in &deny {
        query_dots(matcher, Kind::Deny, found);
    }
    deny_misses_base(&deny, found);
    allow_misses_base(endpoint.path.as_ref(), &allow, found);
}

/// `/v1/*` is one segment below `/v1`; the documentation says that it is everything below.
fn last_segment(matcher: &MatcherSection, found: &mut Diagnostics) {
    let Some(path) = &matcher.path else { return };
    if let Some(base) = path.value.strip_suffix("/*") {
        let message = format!(
            "`{}` matches `{base}/a`, not `{base}/a/b`: `*` stays inside one segment",
            path.value
        );
        found.warn(
            Code::GlobStaysInSegment,
            path.at,
            message,
            format!("write `{base}/**` for everything below"),
        );
    }
}

/// What a glob that matches too little leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A denial, which its author will notice.
    Allow,
    /// A request that gets out, which nobody will.
    Deny,
}

/// `1.*` matches `1.2`, not `1.2.3`; `key*` matches `keys`, not `key.s`.
fn query_dots(matcher: &MatcherSection, kind: Kind, found: &mut Diagnostics) {
    for entry in &matcher.query {
        let globs: Vec<&At<String>> = match &entry.value {
            GlobValue::Glob(glob) => vec![glob],
            GlobValue::Map { glob, any, .. } => glob.iter().chain(any.iter().flat_map(|any| &any.value)).collect(),
        };
        let texts: HashSet<&str> = globs.iter().map(|glob| glob.value.as_str()).collect();
        for glob in &globs {
            let text = glob.value.as_str();
            let stops = text.ends_with('*') && !text.ends_with("**");
            let matters = kind == Kind::Deny || text.contains('.');
            let beyond = format!("{text}.**");
            if stops && matters && !texts.contains(beyond.as_str()) && !texts.contains("**") {
                let message = format!("`{text}` matches no value with a further `.`: in a query `*` stops there");
                let hint = format!("write `any: [\"{text}\", \"{beyond}\"]` for those too");
                found.warn(Code::QueryGlobStopsAtDot, glob.at, message, hint);
            }
        }
    }
}

/// A deny rule for `/admin/**` leaves `/admin` open.
fn deny_misses_base(rules: &[&MatcherSection], found: &mut Diagnostics) {
    let paths = texts(rules);
    for path in rules.iter().filter_map(|rule| rule.path.as_ref()) {
        let Some(base) = uncovered_base(&path.value, &paths) else {
            continue;
        };
        let message = format!("the deny rule for `{}` does not cover `{base}` itself", path.value);
        found.warn(Code::DenyMissesBase, path.at, message, format!("add a deny rule for `{base}`"));
    }
}

/// The endpoint's `path` `/mcp/**` has `/mcp`; a rule's path `/mcp/**` has not.
fn allow_misses_base(path: Option<&At<String>>, rules: &[&MatcherSection], found: &mut Diagnostics) {
    let Some(path) = path else { return };
    let paths = texts(rules);
    for own in rules
        .iter()
        .filter_map(|rule| rule.path.as_ref())
        .filter(|own| own.value == path.value)
    {
        let Some(base) = uncovered_base(&own.value, &paths) else { continue };
        let message = format!(
            "in the endpoint's `path`, `{}` also covers `{base}` itself; in a rule it does not",
            own.value
        );
        found.warn(
            Code::AllowMissesBase,
            own.at,
            message,
            format!("add a rule for `{base}` if it is meant"),
        );
    }
}

fn texts<'s>(rules: &[&'s MatcherSection]) -> HashSet<&'s str> {
    rules
        .iter()
        .filter_map(|rule| rule.path.as_ref())
        .map(|path| path.value.as_str())
        .collect()
}

/// The base of `base/**`, unless another path covers it.
fn uncovered_base<'p>(path: &'p str, paths: &HashSet<&str>) -> Option<&'p str> {
    let base = path.strip_suffix("/**").filter(|base| !base.is_empty())?;
    let covered = [base, "**", "/**", &format!("{base}**")].iter().any(|other| paths.contains(other));
    (!covered).then_some(base)
}
