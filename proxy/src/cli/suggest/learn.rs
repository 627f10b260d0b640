//! What each audit line says about the need for rules.
//!
//! A line that was let out, or denied only because no rule allowed it, is need. Everything that is denied for another reason is not,
//! and is counted.

use std::collections::BTreeMap;

use tollgate_policy::suggest::{Adopted, Observed, Seen, TooVaried, Traffic};
use tollgate_policy::{
    Caller, CanonicalPath, EncodedSlash, Facts, Group, Host, HttpFacts, Inspection, Policy, Process, Reason, WEBSOCKET_TEXT,
};

use super::lines::Broken;
use crate::audit::{Adapter, Decision, Entry, Protocol};

/// What was learned from all lines.
pub(super) struct Lesson<'p> {
    standing: Option<&'p Policy>,
    pub(super) traffic: Traffic,
    /// All lines that were read.
    pub(super) lines: u64,
    /// Lines that no rule is suggested for, by what they were denied for.
    pub(super) left_out: BTreeMap<LeftOut, u64>,
}

/// Why no rule is suggested for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LeftOut {
    /// Denied, and no rule may allow it; the code of the reason.
    Denied(&'static str),
    /// A deny rule of the policy that the suggestion joins.
    DenyRule,
    /// The policy allows it for some programs, and nobody looked which one it was.
    UnknownCaller,
    /// The method is `*`, which in a rule is any.
    Unnameable,
    /// A message after a WebSocket's upgrade.
    Message,
    /// What a body asked for, on an endpoint whose rules are about that.
    Operation,
}

/// The method of binary messages in audit lines.
const WEBSOCKET_BINARY: &str = "WEBSOCKET_BINARY";

/// Why nothing was learned from a line.
pub(super) enum Unlearnable {
    Broken(Broken),
    TooVaried(TooVaried),
}

/// What is to be made of a line.
enum Need<'a> {
    None,
    Left(LeftOut),
    Some(Seen<'a>),
}

impl<'p> Lesson<'p> {
    pub(super) fn new(standing: Option<&'p Policy>) -> Self {
        Lesson {
            standing,
            traffic: Traffic::default(),
            lines: 0,
            left_out: BTreeMap::new(),
        }
    }

    pub(super) fn learn(&mut self, entry: &Entry) -> Result<(), Unlearnable> {
        let shape = |what| Unlearnable::Broken(Broken::Shape(what));
        // Of lines that are left out the path may be anything.
        let path = entry.path.as_deref();
        let path = path.and_then(|text| {
            CanonicalPath::parse(text, EncodedSlash::Keep)
                .ok()
                .filter(|path| path.as_str() == text)
        });
        let left = left_out(entry).map_err(shape)?;
        let (Some(host), Some(port)) = (&entry.host, entry.port) else {
            // A head that could not be read as far as its host was denied for that, whatever the reason is called.
            let unread = (entry.decision == Decision::Deny).then_some(entry.reason_code).flatten();
            let left = left.or(unread.map(|reason| LeftOut::Denied(reason.as_str())));
            let left = left.ok_or_else(|| shape("what was let out has a `host` and a `port`"))?;
            self.leave_out(left);
            return Ok(());
        };
        let need = match left {
            Some(left) => Need::Left(left),
            None => self.need(entry, host, port, seen(entry, path.as_ref()).map_err(shape)?),
        };
        let seen = match need {
            Need::Some(seen) => seen,
            Need::Left(left) => {
                self.leave_out(left);
                if entry.adapter == Adapter::Connect {
                    return Ok(());
                }
                Seen::Refused
            }
            Need::None => {
                self.lines += 1;
                return Ok(());
            }
        };
        if !matches!(seen, Seen::Refused) {
            self.lines += 1;
        }
        let binary = entry.process.as_ref().map(|process| process.binary.as_str());
        let observed = Observed { host, port, binary, seen };
        self.traffic.add(&observed).map_err(Unlearnable::TooVaried)
    }

    fn leave_out(&mut self, left: LeftOut) {
        self.lines += 1;
        *self.left_out.entry(left).or_default() += 1;
    }

    /// Asks the policy that the suggestion joins, in the words of the run time.
    fn need<'a>(&self, entry: &Entry, host: &Host, port: u16, seen: Seen<'a>) -> Need<'a> {
        let Some(policy) = self.standing else { return Need::Some(seen) };
        let process = entry.process.as_ref().map(|process| Process {
            binary: process.binary.clone(),
            ancestors: process.ancestors.clone(),
        });
        let request = match seen {
            Seen::Request { method, path } => Some(HttpFacts {
                method,
                path,
                query: None,
                operation: None,
            }),
            _ => None,
        };
        let facts = Facts {
            host,
            port,
            caller: process.as_ref().map_or(Caller::Unidentified, Caller::Identified),
            request,
        };
        let decision = policy.decide(&facts);
        let Some(refusal) = decision.refusal() else {
            let read = decision.treatment.is_some_and(|treatment| treatment.inspection == Inspection::Http);
            return match seen {
                // A rule that reads the host reads it for everybody, and bytes don't pass.
                Seen::Bytes if read => Need::Left(LeftOut::Denied(Reason::UninspectableTraffic.as_str())),
                _ => Need::None,
            };
        };
        match refusal.reason {
            Reason::DeniedByRule => Need::Left(LeftOut::DenyRule),
            // What was asked for beside the path is not in the line; whoever decided at the time had seen it.
            Reason::QueryNotAllowed | Reason::OperationNotAllowed if entry.decision == Decision::Allow => Need::None,
            Reason::OperationNotAllowed => Need::Left(LeftOut::Denied(refusal.reason.as_str())),
            _ => {
                let whoever = Facts {
                    caller: Caller::NotEnforced,
                    ..facts
                };
                let for_some = process.is_none() && policy.decide(&whoever).refusal().is_none();
                if for_some {
                    return Need::Left(LeftOut::UnknownCaller);
                }
                match seen {
                    // Endpoints of one host and port have to agree on it, and the policy's own refuse it.
                    Seen::Request { path, .. } if path.has_encoded_slash() && Adopted::from(policy, host, port).refuses_encoded_slash() => {
                        Need::Left(LeftOut::Denied(Reason::PathNotCanonical.as_str()))
                    }
                    seen => Need::Some(seen),
                }
            }
        }
    }
}

/// Why a line is not need, whatever the policy.
fn left_out(entry: &Entry) -> Result<Option<LeftOut>, &'static str> {
    let reason = match (entry.decision, entry.reason_code) {
        (Decision::Allow, _) | (Decision::WouldDeny, None) => None,
        (Decision::Deny, None) => return Err("a denial has a `reason_code`"),
        (Decision::WouldDeny | Decision::Deny, Some(reason)) => Some(reason),
    };
    let may_be_allowed = |reason: &Reason| match reason.group() {
        // Others denied it although the route was allowed.
        Group::Upstream => true,
        Group::Route => !matches!(
            reason,
            Reason::DeniedByRule | Reason::BinaryChanged | Reason::PolicyStale | Reason::OperationNotAllowed
        ),
        _ => false,
    };
    if let Some(reason) = reason.filter(|reason| !may_be_allowed(reason)) {
        return Ok(Some(LeftOut::Denied(reason.as_str())));
    }
    if entry.operation.is_some() {
        return Ok(Some(LeftOut::Operation));
    }
    Ok(match entry.method.as_deref() {
        Some("*") => Some(LeftOut::Unnameable),
        Some(WEBSOCKET_TEXT | WEBSOCKET_BINARY) => Some(LeftOut::Message),
        _ => None,
    })
}

fn seen<'a>(entry: &'a Entry, path: Option<&'a CanonicalPath>) -> Result<Seen<'a>, &'static str> {
    if entry.adapter == Adapter::Connect {
        return Ok(Seen::Connection);
    }
    match (&entry.method, path, &entry.path) {
        (Some(method), Some(path), _) => Ok(Seen::Request { method, path }),
        (_, None, None) if entry.protocol == Some(Protocol::Opaque) => Ok(Seen::Bytes),
        // It ended before its head had come.
        (_, None, None) => Ok(Seen::Connection),
        _ => Err("a request has a `method` and a canonical `path`"),
    }
}
