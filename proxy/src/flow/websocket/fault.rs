//! What frames can get wrong, and how that is told: a reason for the audit line, a close code for the client.

use thiserror::Error;
use tollgate_policy::Reason;
use tungstenite::protocol::frame::coding::CloseCode;

use crate::gate::Denial;

/// Frames that are not passed on. What two readers could read differently is among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Fault {
    /// RFC 6455 section 5.1: every frame of a client is masked.
    #[error("a frame of the client is not masked")]
    Unmasked,
    /// RFC 6455 section 5.1: and none of a server is.
    #[error("a frame of the origin is masked")]
    Masked,
    /// RFC 6455 section 5.2: reserved bits and opcodes mean nothing unless an extension was negotiated.
    #[error("a frame has a reserved bit or opcode that nothing was agreed on for")]
    Reserved,
    /// RFC 6455 section 5.2: the shortest form is the only one.
    #[error("a frame's length is not in its shortest form")]
    Length,
    /// RFC 6455 section 5.5.
    #[error("a control frame is fragmented, or longer than 125 bytes")]
    Control,
    /// RFC 6455 section 5.4.
    #[error("a fragment continues no message, or a message begins within another one")]
    Sequence,
    /// RFC 6455 section 5.5.1.
    #[error("a close frame is not well-formed")]
    Close,
    /// RFC 6455 section 8.1.
    #[error("a text message is not UTF-8")]
    NotUtf8,
    /// RFC 7692 section 7.2.2.
    #[error("a compressed message cannot be decompressed in one way only")]
    Undecodable,
    /// `limits.websocket_message`.
    #[error("a message is over {0} bytes, more than is held and judged")]
    TooLarge(usize),
    /// `limits.websocket_fragments`.
    #[error("a text message has more than {0} fragments")]
    TooManyFragments(usize),
}

impl Fault {
    /// As the audit trail has it.
    pub(crate) fn denial(self) -> Denial {
        Denial::new(self.reason(), self.to_string())
    }

    /// Where a bound was broken, it is the whole message's, and not what was left of it.
    pub(super) fn of_message(self, most: usize) -> Self {
        match self {
            Fault::TooLarge(_) => Fault::TooLarge(most),
            fault => fault,
        }
    }

    /// The reason code.
    pub fn reason(self) -> Reason {
        match self {
            Fault::Unmasked
            | Fault::Masked
            | Fault::Reserved
            | Fault::Length
            | Fault::Control
            | Fault::Sequence
            | Fault::Close
            | Fault::NotUtf8 => Reason::MalformedRequest,
            Fault::Undecodable => Reason::UninspectableTraffic,
            Fault::TooLarge(_) | Fault::TooManyFragments(_) => Reason::BodyTooLarge,
        }
    }

    /// The close code that the client gets (RFC 6455 section 7.4.1).
    pub(crate) fn close_code(self) -> CloseCode {
        match self {
            Fault::NotUtf8 | Fault::Undecodable => CloseCode::Invalid,
            Fault::TooLarge(_) | Fault::TooManyFragments(_) => CloseCode::Size,
            _ => CloseCode::Protocol,
        }
    }
}
