//! What `access`, `rules` and `deny_rules` have in common for all protocols that have them.

use crate::decide::{RuleLabel, RuleList};
use crate::diagnostic::{Code, Diagnostics, Position};
use crate::document::{AllowEntry, At, EndpointSection, GlobValue, MatcherSection};
use crate::matcher::SegmentedGlob;
use crate::policy::Tls;

/// What an endpoint allows before its deny rules take from it.
pub(super) enum Base {
    Access(At<String>),
    Rules(At<Vec<AllowEntry>>),
    /// Neither is written.
    Nothing,
}

/// Takes the base out of the section; `None` after an error.
pub(super) fn base(section: &mut EndpointSection, found: &mut Diagnostics) -> Option<Base> {
    let access = section.access.take().filter(|text| !text.value.is_empty());
    match (access, section.rules.take()) {
        (Some(access), Some(_)) => {
            found.error(
                Code::AccessWithRules,
                access.at,
                "`access` and `rules` together",
                "write one of them",
            );
            None
        }
        (Some(access), None) => Some(Base::Access(access)),
        (None, Some(rules)) => Some(Base::Rules(rules)),
        (None, None) => Some(Base::Nothing),
    }
}

/// Reports that nothing is allowed. Always `None`.
pub(super) fn missing_base<T>(section: &EndpointSection, protocol: &str, what: &str, hint: &str, found: &mut Diagnostics) -> Option<T> {
    let (at, message) = match &section.deny_rules {
        Some(rules) => (rules.at, format!("`deny_rules` need {what} to take from")),
        None => (section.at, format!("an endpoint with `protocol: {protocol}` needs {what}")),
    };
    found.error(Code::NoRules, at, message, hint);
    None
}

/// Reports a preset that does not exist. Always `None`.
pub(super) fn unknown_access<T>(access: &At<String>, hint: &str, found: &mut Diagnostics) -> Option<T> {
    let message = format!("`{}` is no access preset", access.value);
    found.error(Code::UnknownAccess, access.at, message, hint);
    None
}

pub(super) fn refuse_tls_skip(section: &EndpointSection, tls: Tls, found: &mut Diagnostics) {
    if tls == Tls::Skip {
        found.error(
            Code::TlsSkipWithRules,
            section.tls.as_ref().map_or(section.at, |tls| tls.at),
            "`tls: skip` leaves nothing to hold rules against",
            "leave `tls` out, or leave `protocol` and the rules out",
        );
    }
}

/// `rules`, each made by `compile`; `None` after an error.
pub(super) fn allow_rules<R>(
    rules: At<Vec<AllowEntry>>,
    found: &mut Diagnostics,
    mut compile: impl FnMut(MatcherSection, RuleLabel, &mut Diagnostics) -> Option<R>,
) -> Option<Vec<R>> {
    if rules.value.is_empty() {
        found.error(
            Code::EmptyRules,
            rules.at,
            "`rules` is empty, so everything would be denied",
            "list what may be sent",
        );
        return None;
    }
    let compiled: Vec<Option<R>> = rules
        .value
        .into_iter()
        .enumerate()
        .map(|(index, entry)| compile(entry.allow?, label(RuleList::Rules, index, entry.at), found))
        .collect();
    compiled.into_iter().collect()
}

/// `deny_rules`, each made by `compile`; `None` after an error.
pub(super) fn deny_rules<R>(
    rules: Option<At<Vec<MatcherSection>>>,
    found: &mut Diagnostics,
    mut compile: impl FnMut(MatcherSection, RuleLabel, &mut Diagnostics) -> Option<R>,
) -> Option<Vec<R>> {
    let Some(rules) = rules else { return Some(Vec::new()) };
    if rules.value.is_empty() {
        found.error(Code::EmptyRules, rules.at, "`deny_rules` is empty", "leave the key out");
        return None;
    }
    let compiled: Vec<Option<R>> = rules
        .value
        .into_iter()
        .enumerate()
        .map(|(index, matcher)| {
            let label = label(RuleList::DenyRules, index, matcher.at);
            compile(matcher, label, found)
        })
        .collect();
    compiled.into_iter().collect()
}

pub(super) fn label(list: RuleList, index: usize, at: Position) -> RuleLabel {
    RuleLabel {
        list,
        index: u32::try_from(index).unwrap_or(u32::MAX),
        at,
    }
}

/// Which fields of a matcher a protocol has, and what to write instead of others.
pub(super) struct Fields {
    pub(super) protocol: &'static str,
    pub(super) own: &'static [&'static str],
    pub(super) hint: &'static str,
}

impl Fields {
    /// Reports fields of other protocols: they would silently match nothing.
    pub(super) fn check(&self, matcher: &MatcherSection, found: &mut Diagnostics) {
        for (name, at) in set_fields(matcher) {
            if !self.own.contains(&name) {
                let message = format!("`{name}` means nothing for `protocol: {}`", self.protocol);
                found.error(Code::MatcherNotForProtocol, at, message, self.hint);
            }
        }
    }
}

fn set_fields(matcher: &MatcherSection) -> impl Iterator<Item = (&'static str, Position)> {
    let text = |text: &Option<At<String>>| text.as_ref().filter(|text| !text.value.is_empty()).map(|text| text.at);
    [
        ("method", text(&matcher.method)),
        ("path", text(&matcher.path)),
        ("query", matcher.query.first().map(|entry| entry.name.at)),
        ("operation_type", text(&matcher.operation_type)),
        ("operation_name", text(&matcher.operation_name)),
        ("fields", matcher.fields.as_ref().map(|fields| fields.at)),
        ("tool", matcher.tool.as_ref().map(|tool| tool.at)),
        ("params", matcher.params.as_ref().map(|params| params.at)),
        ("command", matcher.later.as_ref().map(|field| field.at)),
    ]
    .into_iter()
    .filter_map(|(name, at)| Some((name, at?)))
}

/// A matcher without one of them never matches: as a deny rule it would silently deny nothing.
pub(super) fn required(text: Option<At<String>>, key: &str, at: Position, hint: String, found: &mut Diagnostics) -> Option<At<String>> {
    let text = text.filter(|text| !text.value.is_empty());
    if text.is_none() {
        found.error(Code::IncompleteMatcher, at, format!("a matcher needs `{key}`"), hint);
    }
    text
}

/// The globs of a matcher of values, none of them empty.
pub(super) fn globs(value: GlobValue, what: &str, code: Code, found: &mut Diagnostics) -> Option<Vec<At<String>>> {
    let globs = match value {
        GlobValue::Glob(glob)
        | GlobValue::Map {
            glob: Some(glob),
            any: None,
            ..
        } => vec![glob],
        GlobValue::Map {
            glob: None,
            any: Some(any),
            ..
        } if !any.value.is_empty() => any.value,
        GlobValue::Map { at, .. } => {
            let message = format!("the matcher of `{what}` needs exactly one of `glob` and a non-empty `any`");
            found.error(code, at, message, "write a glob, or `{ any: [glob, …] }`");
            return None;
        }
    };
    if let Some(empty) = globs.iter().find(|glob| glob.value.is_empty()) {
        let message = format!("the matcher of `{what}` has an empty glob");
        found.error(code, empty.at, message, "write the value, or `**` for any");
        return None;
    }
    Some(globs)
}

/// A glob over a value; its separator is `.`.
pub(super) fn value_glob(glob: &At<String>, what: &str, found: &mut Diagnostics) -> Option<SegmentedGlob> {
    match SegmentedGlob::parse(&glob.value, b'.') {
        Ok(glob) => Some(glob),
        Err(error) => {
            found.error(Code::InvalidGlob, glob.at, format!("the matcher of `{what}`: {error}"), "");
            None
        }
    }
}
