//! The upgrade itself, where messages are going to be judged.

use http::{HeaderMap, header};
use tollgate_policy::Reason;
use tollgate_policy::operation::GRAPHQL_SUBPROTOCOLS;

use crate::gate::Denial;

/// Other versions frame their messages in other ways, which are not read.
pub(in crate::flow) fn check_version(request: &HeaderMap) -> Result<(), Denial> {
    let mut versions = request.get_all(header::SEC_WEBSOCKET_VERSION).iter();
    let current = versions.next().is_some_and(|version| version.as_bytes().trim_ascii() == b"13");
    if current && versions.next().is_none() {
        return Ok(());
    }
    Err(Denial::new(
        Reason::UninspectableTraffic,
        "only version 13 of the WebSocket protocol is read, so messages of another one could not be judged",
    ))
}

/// Where rules are about the operations in messages, the origin has to choose a subprotocol in which they are known.
pub(super) fn check_subprotocol(answer: &HeaderMap) -> Result<(), Denial> {
    let mut chosen = answer.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let known = chosen
        .next()
        .is_some_and(|name| GRAPHQL_SUBPROTOCOLS.iter().any(|known| name.as_bytes() == known.as_bytes()));
    if known && chosen.next().is_none() {
        return Ok(());
    }
    let known = GRAPHQL_SUBPROTOCOLS.join(" or ");
    Err(Denial::new(
        Reason::UninspectableTraffic,
        format!("the policy has rules about the operations in messages, and the origin did not choose the subprotocol {known}"),
    ))
}
