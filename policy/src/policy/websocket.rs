//! The rules of a `websocket` endpoint.

use super::{GraphqlRules, RestRules};

/// What a handshake may open, and what messages may say.
#[derive(Debug)]
pub(crate) struct SocketRules {
    /// By method, path and query: the handshake, and text messages as a whole.
    pub(crate) head: RestRules,
    /// By the GraphQL operations in them; then no rule of the head is about messages.
    pub(crate) operations: Option<GraphqlRules>,
}
