//! Which requests are read by a body protocol, and as what.
//!
//! The endpoint with the most specific `path` says how a request is read, and then only endpoints of that protocol can allow what it asks
//! for. So the rules of two policies about operations can be held against each other only where both read the same requests alike.

use std::sync::Arc;

use super::Side;
use super::grants::path_within;
use super::reach::{Program, listing, may_meet, open_to};
use crate::matcher::{EndpointPath, Inclusion};
use crate::operation::{BodyReading, ToolNames};
use crate::policy::{Endpoint, SocketRules, Traffic};

/// What another policy makes of the requests that an endpoint reads, on one port and for one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// They are read by the same protocol.
    Alike {
        /// Whether bodies as large are read.
        as_large: bool,
        /// Whether as many names of tools are taken.
        as_many_names: bool,
    },
    /// They pass unread.
    Unread,
    /// They are read by another protocol, some of them or all, or it is hard to say.
    Otherwise,
}

impl Reading {
    /// `open` are the other policy's endpoints that list the host and port for the program.
    pub(super) fn of(own: (&Side<'_>, &Endpoint), port: u16, against: &Side<'_>, open: &[&Arc<Endpoint>]) -> Self {
        let Some(reading) = own.1.reading() else {
            return Reading::Otherwise;
        };
        let all = |alike: &dyn Fn(&BodyReading) -> bool| is_read(own, port, against, open, alike);
        let same = |other: &BodyReading| other.protocol == reading.protocol;
        if all(&same) {
            return Reading::Alike {
                as_large: all(&|other| same(other) && other.limit >= reading.limit),
                as_many_names: all(&|other| same(other) && (other.tool_names == ToolNames::Any || reading.tool_names == ToolNames::Strict)),
            };
        }
        let mut others = against.policy.all_endpoints().iter();
        let is_read = others.any(|other| other.reading().is_some() && meets(own, port, (against, other)));
        if open.iter().any(|other| !other.is_read()) && !is_read {
            Reading::Unread
        } else {
            Reading::Otherwise
        }
    }
}

/// Whether all that the endpoint reads is read in the other policy by an endpoint of which `alike` holds: one is there for all of it, and
/// every endpoint that could be selected over that one is of the same kind, or stands over the endpoint too in its own policy.
pub(super) fn is_read(
    own: (&Side<'_>, &Endpoint),
    port: u16,
    against: &Side<'_>,
    open: &[&Arc<Endpoint>],
    alike: &dyn Fn(&BodyReading) -> bool,
) -> bool {
    let reads = |other: &Endpoint| other.reading().is_some_and(alike);
    let for_all_of_it = open.iter().filter(|other| reads(other) && covers(other, own.1));
    let Some(selected) = for_all_of_it.map(|other| other.path.specificity()).max() else {
        return false;
    };
    let mut rivals = against
        .policy
        .all_endpoints()
        .iter()
        .filter(|other| other.is_read() && !reads(other) && other.path.specificity() >= selected && meets(own, port, (against, other)));
    rivals.all(|rival| stands_over(own, port, (against, rival)))
}

/// Whether a more specific endpoint of the own policy takes all that the rival could take.
fn stands_over((side, endpoint): (&Side<'_>, &Endpoint), port: u16, (against, rival): (&Side<'_>, &Endpoint)) -> bool {
    let listing = listing(side, rival.host.as_ref(), port);
    Program::all(against, rival).into_iter().all(|program| {
        open_to(side, &listing, program)
            .iter()
            .any(|own| own.is_read() && own.path.specificity() > endpoint.path.specificity() && covers(own, rival))
    })
}

/// Whether a request may belong to both endpoints. Errs on the side of yes.
pub(super) fn meets(own: (&Side<'_>, &Endpoint), port: u16, other: (&Side<'_>, &Endpoint)) -> bool {
    other.1.ports.binary_search(&port).is_ok() && may_meet(own, other) && (!other.1.is_read() || paths(own.1).overlaps(&paths(other.1)))
}

/// The paths that are taken for the endpoint's own. Never fewer.
fn paths(endpoint: &Endpoint) -> EndpointPath {
    match &endpoint.traffic {
        Traffic::Body(rules) => rules.path.in_any_spelling(),
        _ => endpoint.path.clone(),
    }
}

/// Whether every path of the one endpoint is one of the other.
pub(super) fn covers(outer: &Endpoint, inner: &Endpoint) -> bool {
    let within = match (&inner.traffic, &outer.traffic) {
        (Traffic::Body(inner), Traffic::Body(outer)) => path_within(&inner.path, &outer.path),
        // The one is compared in any case, the other as it stands.
        (Traffic::Body(_), _) | (_, Traffic::Body(_)) => Inclusion::NotIncluded,
        _ => path_within(&inner.path, &outer.path),
    };
    within == Inclusion::Included
}

/// What becomes of text messages on a WebSocket of the endpoint: more is stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Messages {
    /// Rules by path say which pass.
    Whole,
    /// Rules about operations do.
    Operations,
}

impl Messages {
    pub(super) fn of(endpoint: &Endpoint) -> Option<Self> {
        match &endpoint.traffic {
            Traffic::WebSocket(SocketRules { operations: Some(_), .. }) => Some(Messages::Operations),
            Traffic::WebSocket(SocketRules { operations: None, .. }) => Some(Messages::Whole),
            _ => None,
        }
    }
}
