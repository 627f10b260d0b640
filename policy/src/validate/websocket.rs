//! Rules of `websocket` endpoints: about the handshake and text messages by method, path and query, or about the GraphQL operations in
//! messages.

use super::lists::{self, Base};
use super::rest::{self, Requests};
use super::{body, graphql};
use crate::decide::{RuleLabel, WEBSOCKET_TEXT};
use crate::diagnostic::{Code, Diagnostics};
use crate::document::{EndpointSection, MatcherSection};
use crate::policy::{AllowRule, DenyRule, GraphqlRule, GraphqlRules, RestRules, SocketRules, Tls};

/// One rule.
enum Rule<H> {
    Head(H),
    Operation(GraphqlRule),
}

pub(super) fn compile(section: &mut EndpointSection, tls: Tls, found: &mut Diagnostics) -> Option<SocketRules> {
    lists::refuse_tls_skip(section, tls, found);
    let allow = lists::base(section, found).and_then(|base| match base {
        Base::Access(access) => Some(
            rest::preset(&access, Requests::WebSocket, found)?
                .into_iter()
                .map(Rule::Head)
                .collect(),
        ),
        Base::Rules(rules) => lists::allow_rules(rules, found, |matcher, label, found| {
            rule(matcher, label, found, |matcher, label, found| {
                rest::allow_rule(matcher, label, Requests::WebSocket, found)
            })
        }),
        Base::Nothing => {
            let hint = "write `access: read-only`, or list what may be sent under `rules`";
            lists::missing_base(section, "websocket", "`access` or `rules`", hint, found)
        }
    });
    let deny = section.deny_rules.take();
    let deny_at = deny.as_ref().map_or(section.at, |rules| rules.at);
    let deny = lists::deny_rules(deny, found, |matcher, label, found| {
        rule(matcher, label, found, |matcher, label, found| {
            rest::deny_rule(matcher, label, Requests::WebSocket, found)
        })
    });
    let (allow, allow_operations): (Vec<AllowRule>, _) = split(allow?);
    let (deny, deny_operations): (Vec<DenyRule>, _) = split(deny?);
    let about_operations = !allow_operations.is_empty() || !deny_operations.is_empty();
    if !about_operations {
        body::refuse_persisted_queries(&section.body, found);
    } else if allow_operations.is_empty() {
        let message = "`deny_rules` about operations need `rules` about operations to take from";
        found.error(
            Code::NoRules,
            deny_at,
            message,
            "allow some: `- allow: { operation_type: subscription }`",
        );
        return None;
    } else if let Some(open) = allow.iter().find(|rule| rule.method.matches(WEBSOCKET_TEXT)) {
        let message = "a rule that lets every text message pass, beside rules about the operations in them";
        let hint = "write `method: GET` for the handshake; the rules about operations let messages pass";
        found.error(Code::MatcherNotForProtocol, open.label.at, message, hint);
        return None;
    }
    let persisted = graphql::persisted(&section.body.graphql, found)?;
    Some(SocketRules {
        head: RestRules {
            allow: allow.into(),
            deny: deny.into(),
        },
        operations: about_operations.then(|| GraphqlRules {
            allow: allow_operations.into(),
            deny: deny_operations.into(),
            persisted,
        }),
    })
}

fn rule<H>(
    mut matcher: MatcherSection,
    label: RuleLabel,
    found: &mut Diagnostics,
    head: impl FnOnce(MatcherSection, RuleLabel, &mut Diagnostics) -> Option<H>,
) -> Option<Rule<H>> {
    let about_operations = matcher.operation_type.is_some() || matcher.operation_name.is_some() || matcher.fields.is_some();
    if !about_operations {
        return head(matcher, label, found).map(Rule::Head);
    }
    let by_head = [
        ("method", matcher.method.take().map(|method| method.at)),
        ("path", matcher.path.take().map(|path| path.at)),
        ("query", matcher.query.first().map(|query| query.name.at)),
    ];
    matcher.query.clear();
    let mut accepted = true;
    for (name, at) in by_head {
        let Some(at) = at else { continue };
        let message = format!("`{name}` in a rule about operations");
        let hint = "write two rules: one for the handshake by method and path, one for operations";
        found.error(Code::MatcherNotForProtocol, at, message, hint);
        accepted = false;
    }
    let rule = graphql::rule(matcher, label, found)?;
    accepted.then_some(Rule::Operation(rule))
}

fn split<H>(rules: Vec<Rule<H>>) -> (Vec<H>, Vec<GraphqlRule>) {
    let (mut heads, mut operations) = (Vec::new(), Vec::new());
    for rule in rules {
        match rule {
            Rule::Head(rule) => heads.push(rule),
            Rule::Operation(rule) => operations.push(rule),
        }
    }
    (heads, operations)
}
