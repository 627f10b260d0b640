//! What is written of one payment: hashes, a time and how far it got. Nothing of it can be spent, and no identifier can be read from it.

use super::super::action::ActionHash;
use crate::x402::claim::{IdentifierHash, PaymentHash, RequestHash};

/// The layout below; another one is another number.
const LAYOUT: u8 = 1;
/// Bytes of an entry.
pub(super) const SIZE: usize = 12 + 4 * 32;

/// Whether the origin answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gate::payment) enum Settlement {
    /// It did not, as far as is known: the money may move until the authorisation expires.
    Unknown,
    /// It did, or nothing was ever sent.
    Answered,
}

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::gate::payment) struct Entry {
    /// Names the payment's bytes.
    pub(in crate::gate::payment) payment: PaymentHash,
    /// Names the request that it was for.
    pub(in crate::gate::payment) request: RequestHash,
    /// Names that request with its body.
    pub(in crate::gate::payment) action: ActionHash,
    /// Names the client's payment identifier.
    pub(in crate::gate::payment) identifier: Option<IdentifierHash>,
    /// Unix seconds until which it can be settled, and so is remembered.
    pub(in crate::gate::payment) expires: u64,
    /// How often it has been let out, or tried.
    pub(in crate::gate::payment) attempts: u8,
    /// Whether the origin answered.
    pub(in crate::gate::payment) settlement: Settlement,
}

impl Entry {
    pub(super) fn encode(&self) -> [u8; SIZE] {
        let settlement = match self.settlement {
            Settlement::Unknown => 0,
            Settlement::Answered => 1,
        };
        let head = [LAYOUT, settlement, self.attempts, u8::from(self.identifier.is_some())];
        let identifier = self.identifier.map_or([0; 32], |identifier| identifier.0);
        let parts: [&[u8]; 6] = [
            &head,
            &self.expires.to_be_bytes(),
            &self.payment.0,
            &self.request.0,
            &self.action.0,
            &identifier,
        ];
        let mut bytes = [0; SIZE];
        for (place, byte) in bytes.iter_mut().zip(parts.into_iter().flatten()) {
            *place = *byte;
        }
        bytes
    }

    /// `None` for bytes that no version of this has written.
    pub(super) fn decode(bytes: &[u8; SIZE]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        let (expires, rest) = rest.split_first_chunk::<8>()?;
        let (payment, rest) = rest.split_first_chunk::<32>()?;
        let (request, rest) = rest.split_first_chunk::<32>()?;
        let (action, rest) = rest.split_first_chunk::<32>()?;
        let identifier = rest.first_chunk::<32>()?;
        let [LAYOUT, answered, attempts, named] = *head else { return None };
        Some(Entry {
            payment: PaymentHash(*payment),
            request: RequestHash(*request),
            action: ActionHash(*action),
            identifier: match named {
                0 => None,
                1 => Some(IdentifierHash(*identifier)),
                _ => return None,
            },
            expires: u64::from_be_bytes(*expires),
            attempts,
            settlement: match answered {
                0 => Settlement::Unknown,
                1 => Settlement::Answered,
                _ => return None,
            },
        })
    }
}
