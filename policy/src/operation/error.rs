//! Why a body can't be judged. No text of the client's gets in here.

use thiserror::Error;

use crate::json::JsonError;
use crate::reason::Reason;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum OperationError {
    /// The content type is none that the protocol is read in.
    #[error("the content type is not one that can be read: send application/json in UTF-8")]
    Media,
    /// Not strict JSON.
    #[error("the body is not strict JSON: {0}")]
    Json(#[from] JsonError),
    /// No body where the method has one.
    #[error("the request has no body, and what it may ask for stands there")]
    NoBody,
    /// A body where the method has none.
    #[error("a body where none belongs")]
    UnexpectedBody,
    /// Nothing is asked for.
    #[error("the request asks for nothing")]
    Empty,
    /// A batch with too many members.
    #[error("the request asks for more than 1024 things at once")]
    TooMany,
    /// A member of the message that is missing or of another type.
    #[error("`{0}` is missing or of the wrong type")]
    Member(&'static str),
    /// A name that some reader takes for another.
    #[error("a name that lenient readers take for `{0}`")]
    LookAlike(&'static str),
    /// A parameter that stands in more than one place.
    #[error("`{0}` is given more than once")]
    Repeated(&'static str),
    /// The text of the query is not an executable document.
    #[error("the query is not an executable GraphQL document")]
    Document,
    /// Two definitions of one name, or a name that nothing defines.
    #[error("the GraphQL document names an operation or fragment that is missing or defined twice")]
    Definition,
    /// More than one operation, and none selected.
    #[error("the GraphQL document has several operations, and `operationName` selects none")]
    NoneSelected,
    /// Neither a query nor the name of one.
    #[error("the GraphQL request has neither a query nor the name of a persisted one")]
    NoQuery,
    /// The message is a call and a response, or neither.
    #[error("the JSON-RPC message is neither a call nor a response")]
    Message,
    /// Strict tool names.
    #[error("the tool's name does not fit [A-Za-z0-9_.-]{{1,128}}")]
    ToolName,
}

impl OperationError {
    /// Why the request is refused.
    pub fn reason(self) -> Reason {
        match self {
            OperationError::Media => Reason::UninspectableTraffic,
            _ => Reason::MalformedRequest,
        }
    }
}
