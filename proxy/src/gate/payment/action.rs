//! What a payment buys: one request with its body. Two payments for one action are two purchases of the same thing.

use sha2::{Digest, Sha256};

use crate::x402::carriers::again::CallHash;
use crate::x402::claim::RequestHash;

/// SHA-256 of the paid request and its body; safe to store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ActionHash(pub [u8; 32]);

/// What is known of the request's body before any of it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaidBody<'b> {
    /// All of it, as it will be forwarded.
    Whole(&'b [u8]),
    /// All of it: the call that the payment stands in.
    Call(CallHash),
    /// It streams: no rule had to read it.
    Unread,
}

impl ActionHash {
    /// Names the action. Where the body is not known, every request of the same method and URL is one action: rather one purchase too few.
    pub fn of(request: RequestHash, body: PaidBody<'_>) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"tollgate action 1");
        hash.update(request.0);
        match body {
            PaidBody::Whole(bytes) => {
                hash.update([1]);
                hash.update(bytes);
            }
            PaidBody::Call(call) => {
                hash.update([2]);
                hash.update(call.0);
            }
            PaidBody::Unread => hash.update([0]),
        }
        ActionHash(hash.finalize().into())
    }
}
