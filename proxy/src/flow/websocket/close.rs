//! Close frames of our own: what a client is told, and what the origin is told, when a WebSocket is ended from here.

use tollgate_policy::Reason;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::frame::{CloseFrame, Frame};

/// The close code for a reason that is not a fault of the frames themselves.
pub(super) fn code_of(reason: Reason) -> CloseCode {
    match reason {
        Reason::BodyTooLarge => CloseCode::Size,
        Reason::PolicyStale | Reason::EgressClosed => CloseCode::Restart,
        Reason::OverCapacity => CloseCode::Again,
        _ => CloseCode::Policy,
    }
}

/// For the client: the code, and the reason's own.
pub(super) fn to_client(code: CloseCode, reason: Reason) -> Vec<u8> {
    written(Frame::close(Some(CloseFrame {
        code,
        reason: reason.as_str().into(),
    })))
}

/// For the origin, in the client's place: it goes away. Why is not the origin's business.
pub(super) fn to_origin() -> Vec<u8> {
    let mut frame = Frame::close(Some(CloseFrame {
        code: CloseCode::Away,
        reason: "".into(),
    }));
    frame.header_mut().mask = Some(rand::random());
    written(frame)
}

fn written(frame: Frame) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(frame.len());
    // Writing into memory cannot fail; without a frame the connection still ends.
    let _ = frame.format(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::super::fault::Fault;
    use super::super::frame::{FrameHead, Kind, Sender, unmask};
    use super::*;

    #[test]
    fn a_client_reads_the_reason_and_an_origin_only_that_it_is_over() {
        let bytes = to_client(code_of(Reason::RailBroadcast), Reason::RailBroadcast);
        let head = FrameHead::read(&bytes).unwrap().unwrap();
        assert_eq!((head.kind, head.check(Sender::Client)), (Kind::Close, Err(Fault::Unmasked)));
        assert_eq!(&bytes[head.size..], b"\x03\xF0rail_broadcast");
        let bytes = to_origin();
        let head = FrameHead::read(&bytes).unwrap().unwrap();
        let mut payload = Vec::new();
        unmask(&bytes[head.size..], head.check(Sender::Client).unwrap(), 0, &mut payload);
        assert_eq!((head.kind, &payload[..]), (Kind::Close, &b"\x03\xE9"[..]));
    }

    #[test]
    fn every_reason_fits_into_a_control_frame() {
        for reason in Reason::ALL {
            assert!(reason.as_str().len() <= 123, "{reason}");
        }
    }
}
