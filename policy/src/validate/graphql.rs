//! Rules of GraphQL operations, and the registry of persisted queries.

use std::collections::HashMap;

use super::lists::{self, Base, Fields, label, required};
use crate::decide::{RuleLabel, RuleList};
use crate::diagnostic::{Code, Diagnostics};
use crate::document::{At, EndpointSection, GraphqlSection, MatcherSection, PersistedSection};
use crate::matcher::SegmentedGlob;
use crate::operation::{OperationKind, RootSelection};
use crate::policy::{GraphqlRule, GraphqlRules};

const FIELDS: Fields = Fields {
    protocol: "graphql",
    own: &["operation_type", "operation_name", "fields"],
    hint: "match operations by operation_type, operation_name and fields; `path` on the endpoint says where they are served",
};

const TYPE_HINT: &str = "write query, mutation, subscription or \"*\"";

pub(super) fn compile(section: &mut EndpointSection, found: &mut Diagnostics) -> Option<GraphqlRules> {
    let allow = lists::base(section, found).and_then(|base| match base {
        Base::Access(access) => preset(&access, found),
        Base::Rules(rules) => lists::allow_rules(rules, found, rule),
        Base::Nothing => {
            let hint = "write `access: read-only`, or list what may be asked for under `rules`";
            lists::missing_base(section, "graphql", "`access` or `rules`", hint, found)
        }
    });
    let deny = lists::deny_rules(section.deny_rules.take(), found, rule);
    let persisted = persisted(&section.body.graphql, found);
    Some(GraphqlRules {
        allow: allow?.into_boxed_slice(),
        deny: deny?.into_boxed_slice(),
        persisted: persisted?,
    })
}

fn preset(access: &At<String>, found: &mut Diagnostics) -> Option<Vec<GraphqlRule>> {
    let kinds: &[Option<OperationKind>] = match access.value.as_str() {
        "read-only" => &[Some(OperationKind::Query)],
        "read-write" => &[Some(OperationKind::Query), Some(OperationKind::Mutation)],
        "full" => &[None],
        _ => return lists::unknown_access(access, "write read-only (queries), read-write (mutations too) or full", found),
    };
    let rule = |kind: &Option<OperationKind>| GraphqlRule {
        label: label(RuleList::Access, 0, access.at),
        kind: *kind,
        name: None,
        fields: Box::default(),
    };
    Some(kinds.iter().map(rule).collect())
}

/// An allow or a deny rule.
pub(super) fn rule(matcher: MatcherSection, label: RuleLabel, found: &mut Diagnostics) -> Option<GraphqlRule> {
    FIELDS.check(&matcher, found);
    let kind = required(matcher.operation_type, "operation_type", matcher.at, TYPE_HINT.to_owned(), found);
    let kind = kind.and_then(|kind| {
        if kind.value == "*" {
            Some(None)
        } else {
            operation_kind(&kind, found).map(Some)
        }
    });
    let name = match &matcher.operation_name {
        None => Some(None),
        Some(name) => lists::value_glob(name, "operation_name", found).map(Some),
    };
    let fields = matcher.fields.map_or(Some(Box::default()), |fields| field_globs(&fields, found));
    Some(GraphqlRule {
        label,
        kind: kind?,
        name: name?,
        fields: fields?,
    })
}

fn operation_kind(kind: &At<String>, found: &mut Diagnostics) -> Option<OperationKind> {
    match kind.value.to_ascii_lowercase().as_str() {
        "query" => Some(OperationKind::Query),
        "mutation" => Some(OperationKind::Mutation),
        "subscription" => Some(OperationKind::Subscription),
        other => {
            let message = format!("`{other}` is no operation type");
            found.error(Code::UnknownOperationType, kind.at, message, TYPE_HINT);
            None
        }
    }
}

fn field_globs(fields: &At<Vec<At<String>>>, found: &mut Diagnostics) -> Option<Box<[SegmentedGlob]>> {
    names(fields, found)?
        .iter()
        .map(|field| lists::value_glob(field, "fields", found))
        .collect()
}

fn names<'a>(fields: &'a At<Vec<At<String>>>, found: &mut Diagnostics) -> Option<&'a [At<String>]> {
    let empty = fields.value.iter().find(|field| field.value.is_empty());
    if fields.value.is_empty() || empty.is_some() {
        let at = empty.map_or(fields.at, |field| field.at);
        let hint = "list the root fields, or leave `fields` out for any";
        found.error(Code::InvalidFields, at, "`fields` needs names or globs of root fields", hint);
        return None;
    }
    Some(&fields.value)
}

/// What stands behind each name; nothing where persisted queries are denied.
pub(super) fn persisted(options: &GraphqlSection, found: &mut Diagnostics) -> Option<HashMap<Box<str>, RootSelection>> {
    let queries = options
        .registry
        .as_ref()
        .map(|registry| registry.queries.as_slice())
        .unwrap_or_default();
    let known: Vec<Option<(Box<str>, RootSelection)>> = queries.iter().map(|query| registered(query, found)).collect();
    let known: Option<HashMap<_, _>> = known.into_iter().collect();
    let (code, none) = (Code::InvalidPersistedQueries, Some(HashMap::new()));
    match (
        options.persisted_queries.as_ref().map(|mode| (mode.value.as_str(), mode.at)),
        &options.registry,
    ) {
        (Some(("allow_registered", _)), Some(_)) => return known,
        (Some(("allow_registered", at)), None) => {
            let hint = "list them under `graphql_persisted_queries`";
            found.warn(code, at, "no persisted query is registered, so none is allowed", hint);
        }
        (None | Some(("deny", _)), None) => {}
        (None | Some(("deny", _)), Some(registry)) => {
            let message = "the registry is of no effect: persisted queries are denied";
            found.warn(code, registry.at, message, "write `persisted_queries: allow_registered`");
        }
        (Some((other, at)), _) => {
            let message = format!("`{other}` is no way to treat persisted queries");
            found.error(code, at, message, "write `deny` or `allow_registered`");
            return None;
        }
    }
    known.and(none)
}

fn registered(query: &PersistedSection, found: &mut Diagnostics) -> Option<(Box<str>, RootSelection)> {
    let hint = "write query, mutation or subscription".to_owned();
    let kind = required(query.operation_type.clone(), "operation_type", query.at, hint, found)?;
    let kind = operation_kind(&kind, found)?;
    let fields = match &query.fields {
        None => Vec::new(),
        Some(fields) => names(fields, found)?.iter().map(|field| field.value.as_str().into()).collect(),
    };
    let name = query.operation_name.as_ref().filter(|name| !name.value.is_empty());
    let root = RootSelection {
        kind,
        name: name.map(|name| name.value.as_str().into()),
        fields: fields.into(),
    };
    Some((query.key.value.as_str().into(), root))
}
