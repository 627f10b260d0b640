//! What is known of a connection or a request when it is judged.

use crate::host::Host;
use crate::operation::Operation;
use crate::path::CanonicalPath;

/// A local process.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Process {
    /// The resolved path of its executable.
    pub binary: String,
    /// The executables of its ancestors, nearest first.
    pub ancestors: Vec<String>,
}

/// Who opened the connection.
#[derive(Debug, Clone, Copy)]
pub enum Caller<'a> {
    /// This process: its executable or an ancestor's may satisfy `binaries`.
    Identified(&'a Process),
    /// Nobody knows: only rules for any binary match.
    Unidentified,
    /// Binaries are not enforced for this deployment.
    NotEnforced,
}

/// The facts of one decision.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The host of the connection's authority.
    pub host: &'a Host,
    /// The port.
    pub port: u16,
    /// Who asks.
    pub caller: Caller<'a>,
    /// `None` at the connection level (CONNECT).
    pub request: Option<HttpFacts<'a>>,
}

/// The method under which a client's text message on a WebSocket is judged; no HTTP request has it.
pub const WEBSOCKET_TEXT: &str = "WEBSOCKET_TEXT";

/// The facts of a request.
#[derive(Debug, Clone, Copy)]
pub struct HttpFacts<'a> {
    /// The method as sent.
    pub method: &'a str,
    /// The canonical path.
    pub path: &'a CanonicalPath,
    /// The query as sent, without `?`.
    pub query: Option<&'a str>,
    /// One of the things it asks for in its body; `None` while only the head is known.
    pub operation: Option<&'a Operation>,
}

impl HttpFacts<'_> {
    /// Whether it is a message on a WebSocket.
    pub(crate) fn is_message(&self) -> bool {
        self.method.eq_ignore_ascii_case(WEBSOCKET_TEXT)
    }
}
