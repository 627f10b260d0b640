//! The route rule: the policy's decision, put into the words of a denial.

use std::net::IpAddr;

use http::header;
use tollgate_policy::{
    Action, Authority, BodyReading, Decision, EncodedSlash, Facts, HttpFacts, Inspection, LoopbackDial, Media, Messages, Operation, Reason,
    Sent, Treatment,
};

use super::{Asked, Caller, Denial, Request, Ruleset};

/// A way that the policy lists.
#[derive(Debug, Clone)]
pub struct Route<'r> {
    /// The key of the rule that matched.
    pub policy: Option<&'r str>,
    /// The allow rule that matched.
    pub rule: Option<String>,
    /// What it would have been denied for, if the endpoint were enforced.
    pub would_deny: Option<Reason>,
    /// The operation that the body was judged by: the one that is audited, or all of them.
    pub operation: Option<Box<Asked>>,
    /// How deep it is read, and where it may be dialled.
    pub treatment: Treatment<'r>,
}

impl Route<'_> {
    /// How deep traffic is read.
    pub fn inspection(&self) -> Inspection {
        self.treatment.inspection
    }

    /// How its body has to be read before the route is good for it.
    pub fn reading(&self) -> Option<BodyReading> {
        self.treatment.body
    }

    /// What becomes of a client's messages if the request upgrades to a WebSocket.
    pub fn messages(&self) -> Messages {
        self.treatment.messages
    }

    /// Whether the endpoint tolerates every one of the addresses.
    pub fn check_addresses(&self, authority: &Authority, addresses: &[IpAddr], loopback: LoopbackDial) -> Result<(), Denial> {
        tollgate_policy::check_addresses(addresses, &self.treatment.addresses, authority.port, loopback).map_err(|refusal| {
            let detail = match refusal.address {
                Some(address) => format!("{authority} blocked: {} ({address})", refusal.detail),
                None => format!("{authority} blocked: {}", refusal.detail),
            };
            Denial {
                policy: self.policy.map(str::to_owned),
                ..Denial::new(refusal.reason, detail)
            }
        })
    }
}

pub(super) fn connection<'r>(rules: &'r Ruleset, authority: &Authority, caller: &Caller) -> Result<Route<'r>, Denial> {
    let facts = Facts {
        host: &authority.host,
        port: authority.port,
        caller: caller.facts(),
        request: None,
    };
    route(rules.policy.decide(&facts), &facts, caller)
}

pub(super) fn request<'r>(rules: &'r Ruleset, request: &Request<'_>) -> Result<Route<'r>, Denial> {
    let facts = facts(request);
    route(rules.policy.decide(&facts), &facts, request.caller)
}

/// What a request asks for in its body, in the words of the endpoint's protocol.
pub(super) fn read(request: &Request<'_>, route: &Route<'_>, reading: BodyReading, body: &[u8]) -> Result<Vec<Operation>, Denial> {
    let content_types = request.headers.get_all(header::CONTENT_TYPE).iter();
    let sent = Sent {
        method: request.method.as_str(),
        query: request.query,
        media: Media::of(content_types.map(http::HeaderValue::as_bytes)),
        body,
    };
    reading.read(&sent).map_err(|error| Denial {
        policy: route.policy.map(str::to_owned),
        ..Denial::new(error.reason(), format!("{}: {error}", reading.protocol))
    })
}

pub(super) fn operations<'r>(rules: &'r Ruleset, request: &Request<'_>, operations: &[Operation]) -> Result<Route<'r>, Denial> {
    let facts = facts(request);
    let (decision, facts) = rules.policy.decide_each(&facts, operations);
    let asked = match (decision.reason(), facts.request.and_then(|request| request.operation)) {
        (Some(_), Some(decisive)) => Asked::deciding(decisive, operations),
        _ => Asked::of(operations),
    };
    match route(decision, &facts, request.caller) {
        Ok(route) => Ok(Route {
            operation: Some(Box::new(asked)),
            ..route
        }),
        Err(denial) => Err(Denial {
            operation: Some(Box::new(asked)),
            ..denial
        }),
    }
}

/// What the policy is asked about a request, as far as its head says.
pub(super) fn facts<'f>(request: &Request<'f>) -> Facts<'f> {
    let authority = request.destination.authority();
    Facts {
        host: &authority.host,
        port: authority.port,
        caller: request.caller.facts(),
        request: Some(HttpFacts {
            method: request.method.as_str(),
            path: request.path,
            query: request.query,
            operation: None,
        }),
    }
}

fn route<'r>(decision: Decision<'r>, facts: &Facts<'_>, caller: &Caller) -> Result<Route<'r>, Denial> {
    let Decision {
        action,
        policy,
        rule,
        treatment,
    } = decision;
    if let (Some(http), Some(treatment)) = (&facts.request, &treatment)
        && treatment.encoded_slash == EncodedSlash::Reject
        && http.path.as_str().contains("%2F")
    {
        let hint = "set `allow_encoded_slash: true` on the endpoint, if its origin takes it for a part of a segment";
        return Err(Denial {
            policy: policy.map(str::to_owned),
            next_steps: vec![hint.to_owned()],
            ..Denial::new(
                Reason::PathNotCanonical,
                "the path has an encoded slash, which origins read in different ways",
            )
        });
    }
    let refusal = match (&action, treatment) {
        (Action::Allow, Some(treatment)) => {
            return Ok(Route {
                policy,
                rule: rule.map(|rule| rule.to_string()),
                would_deny: None,
                operation: None,
                treatment,
            });
        }
        (Action::WouldDeny(refusal), Some(treatment)) => {
            return Ok(Route {
                policy,
                rule: rule.map(|rule| rule.to_string()),
                would_deny: Some(refusal.reason),
                operation: None,
                treatment,
            });
        }
        (Action::Deny(refusal) | Action::WouldDeny(refusal), _) => refusal,
        (Action::Allow, None) => return Err(Denial::new(Reason::InternalError, "a route without a treatment")),
    };
    let reason = match refusal.reason {
        Reason::BinaryNotAllowed => caller.denied_for(),
        reason => reason,
    };
    Err(Denial {
        policy: policy.map(str::to_owned),
        rule: rule.map(|rule| rule.to_string()),
        next_steps: refusal.next_steps(facts),
        ..Denial::new(reason, refusal.detail(facts))
    })
}
