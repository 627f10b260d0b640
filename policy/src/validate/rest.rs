//! `access`, `rules` and `deny_rules`.

use super::endpoint::not_yet_in_matcher;
use super::pattern;
use crate::decide::{RuleLabel, RuleList};
use crate::diagnostic::{Code, Diagnostics, Position};
use crate::document::{AllowEntry, At, EndpointSection, MatcherSection, QueryEntry, QueryValue};
use crate::matcher::{MethodMatcher, SegmentedGlob};
use crate::policy::{AllowRule, DenyRule, QueryMatcher, RestRules, Tls, Traffic};

const METHODS: [&str; 12] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "REPORT", "QUERY",
];

/// Rules on an endpoint that is not read would be silently ignored, and everything allowed.
pub(super) fn refuse_without_protocol(section: &EndpointSection, found: &mut Diagnostics) -> Option<Traffic> {
    let access = section
        .access
        .as_ref()
        .filter(|text| !text.value.is_empty())
        .map(|access| (access.at, "access"));
    let rules = section.rules.as_ref().map(|rules| (rules.at, "rules"));
    let deny = section.deny_rules.as_ref().map(|rules| (rules.at, "deny_rules"));
    let mut accepted = true;
    for (at, key) in [access, rules, deny].into_iter().flatten() {
        let message = format!("`{key}` needs a protocol: without one, requests are not read");
        found.error(Code::RulesWithoutProtocol, at, message, "write `protocol: rest`");
        accepted = false;
    }
    accepted.then_some(Traffic::L4)
}

pub(super) fn compile(section: &mut EndpointSection, tls: Tls, found: &mut Diagnostics) -> Option<Traffic> {
    if tls == Tls::Skip {
        found.error(
            Code::TlsSkipWithRules,
            section.tls.as_ref().map_or(section.at, |tls| tls.at),
            "`tls: skip` leaves nothing to hold rules against",
            "leave `tls` out, or leave `protocol` and the rules out",
        );
    }
    let access = section.access.take().filter(|text| !text.value.is_empty());
    let allow = match (access, section.rules.take()) {
        (Some(access), Some(_)) => {
            found.error(
                Code::AccessWithRules,
                access.at,
                "`access` and `rules` together",
                "write one of them",
            );
            None
        }
        (Some(access), None) => preset(&access, found),
        (None, Some(rules)) => allow_rules(rules, found),
        (None, None) => {
            let (at, message) = match &section.deny_rules {
                Some(rules) => (rules.at, "`deny_rules` need `access` or `rules` to take from"),
                None => (section.at, "an endpoint with `protocol: rest` needs `access` or `rules`"),
            };
            found.error(
                Code::NoRules,
                at,
                message,
                "write `access: read-only`, or list what may be sent under `rules`",
            );
            None
        }
    };
    let deny = section.deny_rules.take().map_or(Some(Vec::new()), |rules| deny_rules(rules, found));
    Some(Traffic::Rest(RestRules {
        allow: allow?.into_boxed_slice(),
        deny: deny?.into_boxed_slice(),
    }))
}

fn preset(access: &At<String>, found: &mut Diagnostics) -> Option<Vec<AllowRule>> {
    let methods: &[&str] = match access.value.as_str() {
        "read-only" => &["GET", "HEAD", "OPTIONS"],
        "read-write" => &["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH"],
        "full" => &["*"],
        other => {
            let message = format!("`{other}` is no access preset");
            found.error(
                Code::UnknownAccess,
                access.at,
                message,
                "write read-only, read-write (without DELETE) or full",
            );
            return None;
        }
    };
    let everything = SegmentedGlob::parse("**", b'/').ok()?;
    let rule = |method: &&str| AllowRule {
        label: RuleLabel {
            list: RuleList::Access,
            index: 0,
            at: access.at,
        },
        method: MethodMatcher::parse(method),
        path: everything.clone(),
        query: Box::default(),
    };
    Some(methods.iter().map(rule).collect())
}

fn allow_rules(rules: At<Vec<AllowEntry>>, found: &mut Diagnostics) -> Option<Vec<AllowRule>> {
    if rules.value.is_empty() {
        found.error(
            Code::EmptyRules,
            rules.at,
            "`rules` is empty, so everything would be denied",
            "list what may be sent",
        );
        return None;
    }
    let mut compiled = Vec::with_capacity(rules.value.len());
    let mut complete = true;
    for (index, entry) in rules.value.into_iter().enumerate() {
        let parts = entry.allow.and_then(|matcher| Parts::compile(matcher, pattern::canonical, found));
        match parts {
            Some(Parts { method, path, query }) => compiled.push(AllowRule {
                label: label(RuleList::Rules, index, entry.at),
                method,
                path,
                query,
            }),
            None => complete = false,
        }
    }
    complete.then_some(compiled)
}

fn deny_rules(rules: At<Vec<MatcherSection>>, found: &mut Diagnostics) -> Option<Vec<DenyRule>> {
    if rules.value.is_empty() {
        found.error(Code::EmptyRules, rules.at, "`deny_rules` is empty", "leave the key out");
        return None;
    }
    let mut compiled = Vec::with_capacity(rules.value.len());
    let mut complete = true;
    for (index, matcher) in rules.value.into_iter().enumerate() {
        let at = matcher.at;
        match Parts::compile(matcher, pattern::loosened, found) {
            Some(Parts { method, path, query }) => compiled.push(DenyRule {
                label: label(RuleList::DenyRules, index, at),
                method,
                path,
                query,
            }),
            None => complete = false,
        }
    }
    complete.then_some(compiled)
}

fn label(list: RuleList, index: usize, at: Position) -> RuleLabel {
    RuleLabel {
        list,
        index: u32::try_from(index).unwrap_or(u32::MAX),
        at,
    }
}

struct Parts {
    method: MethodMatcher,
    path: SegmentedGlob,
    query: Box<[QueryMatcher]>,
}

impl Parts {
    fn compile(matcher: MatcherSection, spelling: fn(&str) -> String, found: &mut Diagnostics) -> Option<Self> {
        for field in &matcher.later {
            not_yet_in_matcher(field, found);
        }
        let method = required(matcher.method, "method", matcher.at, "*", found).map(|method| method_matcher(&method, found));
        let path = required(matcher.path, "path", matcher.at, "**", found).and_then(|path| path_glob(&path, spelling, found));
        let query: Option<Vec<QueryMatcher>> = matcher.query.into_iter().map(|entry| query_matcher(entry, found)).collect();
        Some(Parts {
            method: method?,
            path: path?,
            query: query?.into_boxed_slice(),
        })
    }
}

/// A matcher without one of them never matches: as a deny rule it would silently deny nothing.
fn required(text: Option<At<String>>, key: &str, at: Position, any: &str, found: &mut Diagnostics) -> Option<At<String>> {
    let text = text.filter(|text| !text.value.is_empty());
    if text.is_none() {
        found.error(
            Code::IncompleteMatcher,
            at,
            format!("a matcher needs `{key}`"),
            format!("write `{key}: \"{any}\"` for any"),
        );
    }
    text
}

fn method_matcher(method: &At<String>, found: &mut Diagnostics) -> MethodMatcher {
    let matcher = MethodMatcher::parse(&method.value);
    if let MethodMatcher::One(name) = &matcher
        && !METHODS.contains(&&**name)
    {
        let message = format!("`{}` is no method that HTTP knows", method.value);
        let hint = if method.value.contains('*') {
            "a method is matched whole; write `*` for any"
        } else {
            "check the spelling"
        };
        found.warn(Code::UnknownMethod, method.at, message, hint);
    }
    matcher
}

fn path_glob(path: &At<String>, spelling: fn(&str) -> String, found: &mut Diagnostics) -> Option<SegmentedGlob> {
    let text = &path.value;
    if let Some(why) = pattern::unreachable(text) {
        let hint = if text.starts_with(['/', '*']) {
            String::new()
        } else {
            format!("write `/{text}`")
        };
        found.error(
            Code::UnreachablePath,
            path.at,
            format!("the path `{text}` {why}, so the rule would never match"),
            hint,
        );
        return None;
    }
    match SegmentedGlob::parse(&spelling(text), b'/') {
        Ok(glob) => Some(glob),
        Err(error) => {
            found.error(
                Code::InvalidGlob,
                path.at,
                format!("`{text}`: {error}"),
                "put a backslash before a wildcard that is meant as itself",
            );
            None
        }
    }
}

fn query_matcher(entry: QueryEntry, found: &mut Diagnostics) -> Option<QueryMatcher> {
    let name = entry.name.value;
    let globs = match entry.value {
        QueryValue::Glob(glob)
        | QueryValue::Map {
            glob: Some(glob),
            any: None,
            ..
        } => vec![glob],
        QueryValue::Map {
            glob: None,
            any: Some(any),
            ..
        } if !any.value.is_empty() => any.value,
        QueryValue::Map { at, .. } => {
            let message = format!("the matcher of `{name}` needs exactly one of `glob` and a non-empty `any`");
            found.error(Code::InvalidQuery, at, message, "write a glob, or `{ any: [glob, …] }`");
            return None;
        }
    };
    let compiled: Option<Box<[SegmentedGlob]>> = globs.iter().map(|glob| query_glob(glob, &name, found)).collect();
    Some(QueryMatcher {
        name: name.into(),
        globs: compiled?,
    })
}

fn query_glob(glob: &At<String>, name: &str, found: &mut Diagnostics) -> Option<SegmentedGlob> {
    if glob.value.is_empty() {
        let message = format!("the matcher of `{name}` has an empty glob");
        found.error(Code::InvalidQuery, glob.at, message, "write the value, or `**` for any");
        return None;
    }
    match SegmentedGlob::parse(&glob.value, b'.') {
        Ok(glob) => Some(glob),
        Err(error) => {
            found.error(Code::InvalidGlob, glob.at, format!("the matcher of `{name}`: {error}"), "");
            None
        }
    }
}
