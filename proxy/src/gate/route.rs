//! The route rule: the policy's decision, put into the words of a denial.

use std::net::IpAddr;

use tollgate_policy::{Action, Authority, Decision, EncodedSlash, Facts, HttpFacts, Inspection, LoopbackDial, Reason, Treatment};

use super::{Caller, Denial, Request, Ruleset};

/// A way that the policy lists.
#[derive(Debug, Clone)]
pub struct Route<'r> {
    /// The key of the rule that matched.
    pub policy: Option<&'r str>,
    /// The allow rule that matched.
    pub rule: Option<String>,
    /// What it would have been denied for, if the endpoint were enforced.
    pub would_deny: Option<Reason>,
    /// How deep it is read, and where it may be dialled.
    pub treatment: Treatment<'r>,
}

impl Route<'_> {
    /// How deep traffic is read.
    pub fn inspection(&self) -> Inspection {
        self.treatment.inspection
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
    decide(rules, &facts, caller)
}

pub(super) fn request<'r>(rules: &'r Ruleset, request: &Request<'_>) -> Result<Route<'r>, Denial> {
    let authority = request.destination.authority();
    let http = HttpFacts {
        method: request.method.as_str(),
        path: request.path,
        query: request.query,
        operation: None,
    };
    let facts = Facts {
        host: &authority.host,
        port: authority.port,
        caller: request.caller.facts(),
        request: Some(http),
    };
    decide(rules, &facts, request.caller)
}

fn decide<'r>(rules: &'r Ruleset, facts: &Facts<'_>, caller: &Caller) -> Result<Route<'r>, Denial> {
    let Decision {
        action,
        policy,
        rule,
        treatment,
    } = rules.policy.decide(facts);
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
                treatment,
            });
        }
        (Action::WouldDeny(refusal), Some(treatment)) => {
            return Ok(Route {
                policy,
                rule: rule.map(|rule| rule.to_string()),
                would_deny: Some(refusal.reason),
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
