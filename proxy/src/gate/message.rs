//! What a text message on a WebSocket says, where the policy has rules about that.

use http::Method;
use tollgate_policy::operation::{SocketMessage, socket_message};
use tollgate_policy::{Messages, Operation};

use super::{Denial, Request, Route, Ruleset, route};

/// See the module.
pub(super) enum Says<'r> {
    /// The policy judges it as a whole.
    Anything,
    /// It asks for nothing: it passes where the handshake, by this route, would still pass.
    Nothing(Route<'r>),
    /// It asks for these.
    Operations(Vec<Operation>),
}

/// Whether and how a message has to be read is for the rules in force to say, not for those that let the WebSocket open.
pub(super) fn read<'r>(rules: &'r Ruleset, message: &Request<'_>, text: &str) -> Result<Says<'r>, Denial> {
    let opened = match route::request(rules, &handshake(message)) {
        Ok(opened) if opened.messages() == Messages::Operations => opened,
        _ => return Ok(Says::Anything),
    };
    match socket_message(text) {
        Ok(SocketMessage::Session) => Ok(Says::Nothing(opened)),
        Ok(SocketMessage::Operations(operations)) => Ok(Says::Operations(operations)),
        Err(error) => Err(Denial {
            policy: opened.policy.map(str::to_owned),
            ..Denial::new(error.reason(), format!("graphql over WebSocket: {error}"))
        }),
    }
}

/// The request that opened the WebSocket.
pub(super) fn handshake<'a>(message: &Request<'a>) -> Request<'a> {
    Request {
        method: &Method::GET,
        ..*message
    }
}
