//! Rules of JSON-RPC calls.

use super::lists::{self, Base, Fields, required};
use crate::decide::RuleLabel;
use crate::diagnostic::{Code, Diagnostics};
use crate::document::{At, EndpointSection, MatcherSection};
use crate::policy::{JsonRpcRule, JsonRpcRules};

const FIELDS: Fields = Fields {
    protocol: "json-rpc",
    own: &["method"],
    hint: "match calls by method; `path` on the endpoint says where they are served",
};

pub(super) fn compile(section: &mut EndpointSection, found: &mut Diagnostics) -> Option<JsonRpcRules> {
    let allow = lists::base(section, found).and_then(|base| match base {
        Base::Access(access) => refuse_access(&access, "json-rpc", found),
        Base::Rules(rules) => lists::allow_rules(rules, found, rule),
        Base::Nothing => {
            let hint = "list the methods that may be called under `rules`";
            lists::missing_base(section, "json-rpc", "`rules`", hint, found)
        }
    });
    let deny = lists::deny_rules(section.deny_rules.take(), found, rule);
    Some(JsonRpcRules {
        allow: allow?.into_boxed_slice(),
        deny: deny?.into_boxed_slice(),
    })
}

/// No preset could know which methods read and which write. Always `None`.
pub(super) fn refuse_access<T>(access: &At<String>, protocol: &str, found: &mut Diagnostics) -> Option<T> {
    let message = format!("`protocol: {protocol}` has no access presets");
    let hint = "list the methods that may be called under `rules`";
    found.error(Code::UnknownAccess, access.at, message, hint);
    None
}

fn rule(matcher: MatcherSection, label: RuleLabel, found: &mut Diagnostics) -> Option<JsonRpcRule> {
    FIELDS.check(&matcher, found);
    let hint = "write `method: \"*\"` for any".to_owned();
    let method = required(matcher.method, "method", matcher.at, hint, found)?;
    if method.value == "*" {
        return Some(JsonRpcRule { label, method: None });
    }
    if has_wildcard(&method.value) {
        let message = format!("`{}`: methods of json-rpc are matched as they stand", method.value);
        found.error(Code::MethodGlob, method.at, message, "list the methods, or write `\"*\"` for any");
        return None;
    }
    Some(JsonRpcRule {
        label,
        method: Some(method.value.into()),
    })
}

pub(super) fn has_wildcard(glob: &str) -> bool {
    glob.contains(['*', '?', '[', ']', '{', '}'])
}
