//! Rules about what bodies and messages ask for: whether all that one of them is about is what others are about.

use crate::matcher::{Inclusion, Language, SegmentedGlob, included};
use crate::operation::OperationKind;
use crate::policy::{GraphqlRule, JsonRpcRule, McpRule, OtherMethods};

/// What may be any name of GraphQL.
const ANY_NAME: Language<'_> = Language::Without(b'.');

const TOOLS_CALL: &str = "tools/call";

/// Whether each operation that the rule allows is allowed by one of these. An operation has one name and several fields, all of which
/// have to be allowed by the same rule: so for those rules that have all of its fields, the names are looked at together.
pub(super) fn allowed(rule: &GraphqlRule, by: &[&GraphqlRule]) -> Inclusion {
    all(kinds(rule).into_iter().map(|kind| {
        let mut names = Vec::new();
        let mut doubtful = false;
        for theirs in by.iter().filter(|theirs| is_about(theirs, kind)) {
            match fields_within(&rule.fields, &theirs.fields) {
                Inclusion::Included => names.push(theirs.name.as_ref()),
                Inclusion::NotIncluded => {}
                Inclusion::Unknown => doubtful = true,
            }
        }
        let within = if names.contains(&None) {
            Inclusion::Included
        } else {
            let names: Vec<_> = names.into_iter().flatten().map(|name| vec![Language::Segmented(name)]).collect();
            included(&[rule.name.as_ref().map_or(ANY_NAME, Language::Segmented)], &names, None)
        };
        doubt(within, doubtful)
    }))
}

/// Whether each operation that the rule denies is denied by one of these. One field is enough to be denied, so the fields of all rules for
/// its names are looked at together.
pub(super) fn denied(rule: &GraphqlRule, by: &[&GraphqlRule]) -> Inclusion {
    all(kinds(rule).into_iter().map(|kind| {
        let mut fields: Vec<Vec<Language<'_>>> = Vec::new();
        let mut doubtful = false;
        for theirs in by.iter().filter(|theirs| is_about(theirs, kind)) {
            let for_all_names = match (&rule.name, &theirs.name) {
                (_, None) => true,
                (None, Some(name)) => included(&[ANY_NAME], &[vec![Language::Segmented(name)]], None) == Inclusion::Included,
                (Some(own), Some(name)) => {
                    own == name || included(&[Language::Segmented(own)], &[vec![Language::Segmented(name)]], None) == Inclusion::Included
                }
            };
            match (for_all_names, theirs.fields.is_empty()) {
                (true, true) => return Inclusion::Included,
                (true, false) => fields.extend(theirs.fields.iter().map(|glob| vec![Language::Segmented(glob)])),
                (false, _) => doubtful = true,
            }
        }
        let within = if rule.fields.is_empty() {
            all_names_of(&fields)
        } else {
            all(rule.fields.iter().map(|glob| included(&[Language::Segmented(glob)], &fields, None)))
        };
        doubt(within, doubtful)
    }))
}

fn kinds(rule: &GraphqlRule) -> Vec<OperationKind> {
    match rule.kind {
        Some(kind) => vec![kind],
        None => vec![OperationKind::Query, OperationKind::Mutation, OperationKind::Subscription],
    }
}

fn is_about(rule: &GraphqlRule, kind: OperationKind) -> bool {
    rule.kind.is_none_or(|own| own == kind)
}

/// None is any.
fn fields_within(inner: &[SegmentedGlob], outer: &[SegmentedGlob]) -> Inclusion {
    if outer.is_empty() {
        return Inclusion::Included;
    }
    let outer: Vec<_> = outer.iter().map(|glob| vec![Language::Segmented(glob)]).collect();
    if inner.is_empty() {
        return all_names_of(&outer);
    }
    all(inner.iter().map(|glob| included(&[Language::Segmented(glob)], &outer, None)))
}

/// Whether these are all fields that there are: never for certain, as there may be operations without any.
fn all_names_of(fields: &[Vec<Language<'_>>]) -> Inclusion {
    match included(&[ANY_NAME], fields, None) {
        Inclusion::NotIncluded => Inclusion::NotIncluded,
        Inclusion::Included | Inclusion::Unknown => Inclusion::Unknown,
    }
}

/// Whether each call that the rule is about is one of these.
pub(super) fn called(rule: &JsonRpcRule, by: &[&JsonRpcRule]) -> Inclusion {
    if by.iter().any(|theirs| theirs.method.is_none() || theirs.method == rule.method) {
        Inclusion::Included
    } else {
        Inclusion::NotIncluded
    }
}

/// Calls of an MCP server: methods, and the tools of `tools/call`.
#[derive(Debug, Default)]
pub(super) struct Calls<'a> {
    methods: Vec<Language<'a>>,
    /// Only where `tools/call` is among the methods.
    tools: Vec<Language<'a>>,
}

impl<'a> Calls<'a> {
    /// What a rule is about.
    pub(super) fn of_rule(rule: &'a McpRule) -> Self {
        let calls_tools = rule.method.matches(TOOLS_CALL.as_bytes());
        Calls {
            methods: vec![Language::Segmented(&rule.method)],
            tools: match &*rule.tools {
                _ if !calls_tools => Vec::new(),
                [] => vec![Language::Anything],
                tools => tools.iter().map(Language::Segmented).collect(),
            },
        }
    }

    /// What needs no rule.
    pub(super) fn of_others(other: OtherMethods) -> Self {
        let anything = || vec![Language::Anything];
        match other {
            OtherMethods::NeedRule => Calls::default(),
            OtherMethods::Pass => Calls {
                methods: anything(),
                tools: anything(),
            },
            OtherMethods::PassWithoutTools => Calls {
                methods: anything(),
                tools: Vec::new(),
            },
        }
    }

    /// Whether all of them are among these.
    pub(super) fn within(&self, all_of: &[Calls<'_>]) -> Inclusion {
        let each = |languages: &mut dyn Iterator<Item = Language<'_>>, outer: &[Vec<Language<'_>>]| {
            all(languages.map(|language| included(&[language], outer, None)))
        };
        // That tools may be called at all is told by the tools.
        let methods = all_of.iter().flat_map(|calls| &calls.methods).map(|method| vec![*method]);
        let methods: Vec<_> = methods.chain([vec![Language::Text(TOOLS_CALL)]]).collect();
        let tools: Vec<_> = all_of.iter().flat_map(|calls| &calls.tools).map(|tool| vec![*tool]).collect();
        all([
            each(&mut self.methods.iter().copied(), &methods),
            each(&mut self.tools.iter().copied(), &tools),
        ])
    }
}

/// Included only where each is; not, if one is not.
fn all(each: impl IntoIterator<Item = Inclusion>) -> Inclusion {
    let mut whole = Inclusion::Included;
    for one in each {
        match one {
            Inclusion::Included => {}
            Inclusion::Unknown => whole = Inclusion::Unknown,
            Inclusion::NotIncluded => return Inclusion::NotIncluded,
        }
    }
    whole
}

fn doubt(found: Inclusion, doubtful: bool) -> Inclusion {
    match found {
        Inclusion::NotIncluded if doubtful => Inclusion::Unknown,
        found => found,
    }
}
