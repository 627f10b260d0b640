//! What each audit line says about the need for rules.
//!
//! A line that was let out, or denied only because no rule allowed it, is need. Everything that is denied for another reason is not,
//! and is counted.

use std::collections::BTreeMap;

use tollgate_policy::suggest::{Adopted, Carrier, Covers, Observed, Seen, TooVaried, Traffic, is_nameable};
use tollgate_policy::{
    Caller, CanonicalPath, EncodedSlash, Facts, Group, Host, HttpFacts, Inspection, Operation, Policy, Process, Reason, WEBSOCKET_TEXT,
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
    /// A binary message on a WebSocket.
    Binary,
    /// More operations than a line lists.
    ManyOperations,
    /// The name of a query that the server knows.
    Persisted,
    /// An answer to a call that nobody made, or a call of `*`.
    NoCall,
    /// It was refused before its body was read, which the policy's rules are about.
    UnreadBody,
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
            self.lines += 1;
            self.leave_out(left.ok_or_else(|| shape("what was let out has a `host` and a `port`"))?);
            return Ok(());
        };
        self.lines += 1;
        let binary = entry.process.as_ref().map(|process| process.binary.as_str());
        let learn = |lesson: &mut Self, seen| {
            let observed = Observed { host, port, binary, seen };
            lesson.traffic.add(&observed).map_err(Unlearnable::TooVaried)
        };
        let needs = match left {
            Some(left) => vec![Need::Left(left)],
            None => all_seen(entry, path.as_ref())
                .map_err(shape)?
                .into_iter()
                .map(|part| match part {
                    Part::Seen(seen) => self.need(entry, host, port, seen),
                    Part::Left(left) => Need::Left(left),
                })
                .collect(),
        };
        for need in needs {
            match need {
                Need::None => {}
                Need::Some(seen) => learn(self, seen)?,
                Need::Left(left) => {
                    self.leave_out(left);
                    if entry.adapter != Adapter::Connect {
                        learn(self, Seen::Refused)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, left: LeftOut) {
        *self.left_out.entry(left).or_default() += 1;
    }

    /// Asks the policy that the suggestion joins, in the words of the run time.
    fn need<'a>(&self, entry: &Entry, host: &Host, port: u16, seen: Seen<'a>) -> Need<'a> {
        let Some(policy) = self.standing else { return Need::Some(seen) };
        let process = entry.process.as_ref().map(|process| Process {
            binary: process.binary.clone(),
            ancestors: process.ancestors.clone(),
        });
        let head = |method, path| HttpFacts {
            method,
            path,
            query: None,
            operation: None,
        };
        let request = match seen {
            Seen::Request { method, path } => Some(head(method, path)),
            Seen::Message { path } => Some(head(WEBSOCKET_TEXT, path)),
            Seen::Operation { path, operation, carrier } => {
                let method = match carrier {
                    Carrier::Message => WEBSOCKET_TEXT,
                    Carrier::Request => entry.method.as_deref().unwrap_or_default(),
                };
                Some(HttpFacts {
                    operation: Some(operation),
                    ..head(method, path)
                })
            }
            Seen::Connection | Seen::Bytes | Seen::Refused => None,
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
            // None that the endpoint's protocol has.
            Reason::MethodNotAllowed if self.is_read_by_body(host, port, &seen) => Need::Left(LeftOut::Denied(refusal.reason.as_str())),
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
                    Seen::Request { .. } if self.is_read_by_body(host, port, &seen) => Need::Left(LeftOut::UnreadBody),
                    // Endpoints of one host and port have to agree on it, and the policy's own refuse it.
                    Seen::Request { path, .. }
                        if path.has_encoded_slash() && Adopted::from(policy, host, port, Covers::Anything).refuses_encoded_slash() =>
                    {
                        Need::Left(LeftOut::Denied(Reason::PathNotCanonical.as_str()))
                    }
                    seen => Need::Some(seen),
                }
            }
        }
    }
}

impl Lesson<'_> {
    /// Whether the policy tells such requests apart by their bodies.
    fn is_read_by_body(&self, host: &Host, port: u16, seen: &Seen<'_>) -> bool {
        match (self.standing, seen) {
            (Some(policy), Seen::Request { path, .. }) => Adopted::from(policy, host, port, Covers::Path(path)).is_read_by_body(),
            _ => false,
        }
    }
}

/// A part of what a line tells.
enum Part<'a> {
    Seen(Seen<'a>),
    Left(LeftOut),
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
            Reason::DeniedByRule | Reason::BinaryChanged | Reason::PolicyStale | Reason::EgressClosed
        ),
        _ => false,
    };
    if let Some(reason) = reason.filter(|reason| !may_be_allowed(reason)) {
        return Ok(Some(LeftOut::Denied(reason.as_str())));
    }
    Ok(match entry.method.as_deref() {
        Some("*") => Some(LeftOut::Unnameable),
        Some(WEBSOCKET_BINARY) => Some(LeftOut::Binary),
        _ => None,
    })
}

/// All that a line tells of.
fn all_seen<'a>(entry: &'a Entry, path: Option<&'a CanonicalPath>) -> Result<Vec<Part<'a>>, &'static str> {
    let head = seen(entry, path)?;
    let Seen::Request { method, path } = head else {
        return Ok(vec![Part::Seen(head)]);
    };
    // What came over a WebSocket is told by its own lines, and by the last one of its handshake.
    let ended = entry.messages.is_some();
    let carrier = if ended || method == WEBSOCKET_TEXT {
        Carrier::Message
    } else {
        Carrier::Request
    };
    let mut parts = Vec::new();
    match (&entry.operation, &entry.operations) {
        (None, None) if method == WEBSOCKET_TEXT => parts.push(Part::Seen(Seen::Message { path })),
        (None, None) => parts.push(Part::Seen(head)),
        (Some(_), None) => parts.push(Part::Left(LeftOut::ManyOperations)),
        (_, Some(operations)) => parts.extend(operations.iter().map(|operation| part(path, operation, carrier))),
    }
    if entry.messages.is_some_and(|count| count > 0) {
        parts.push(Part::Seen(Seen::Message { path }));
    }
    Ok(parts)
}

fn part<'a>(path: &'a CanonicalPath, operation: &'a Operation, carrier: Carrier) -> Part<'a> {
    match operation {
        operation if is_nameable(operation) => Part::Seen(Seen::Operation { path, operation, carrier }),
        Operation::Graphql(_) => Part::Left(LeftOut::Persisted),
        Operation::JsonRpc(_) | Operation::Mcp(_) => Part::Left(LeftOut::NoCall),
    }
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
