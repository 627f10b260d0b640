//! A payment that its agent has not signed: what the wallet signs after a GO, and how that gets into the payment's own bytes.
//!
//! In: the authorisation that the agent has written, and the wallet. Out: the digest; and, with a signature, the same JSON in which only the
//! signature and the payer are new.

use std::fmt;

use super::carriers::text;
use super::claim::EvmAddress;
use super::eip712::{DomainSeparator, TransferWithAuthorization};
use super::signature::Signature;

/// A transfer for a wallet to sign. Its nonce is nobody's business, so it is not shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Unsigned {
    /// What is signed; the wallet pays.
    pub transfer: TransferWithAuthorization,
    /// The 32 bytes that are signed for the asset.
    pub digest: [u8; 32],
}

impl fmt::Debug for Unsigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unsigned(hidden)")
    }
}

impl Unsigned {
    /// What the agent has written, paid by the wallet.
    pub fn new(written: &TransferWithAuthorization, wallet: EvmAddress, domain: &DomainSeparator) -> Self {
        let transfer = TransferWithAuthorization { from: wallet, ..*written };
        Unsigned {
            transfer,
            digest: transfer.digest(domain),
        }
    }

    /// The payment's JSON with the signature in it, and with the wallet as its payer where it named another. Every other byte stays. `None` for
    /// what is no payment by EIP-3009, or a signature of somebody else's.
    pub fn signed(&self, payment: &str, signature: &Signature) -> Option<String> {
        if signature.recover(&self.digest) != Some(self.transfer.from) {
            return None;
        }
        let from = text::at(payment, &["payload", "authorization", "from"])?;
        let already = EvmAddress::parse(from.trim_matches('"')).ok() == Some(self.transfer.from);
        let mut new = vec![(
            text::at(payment, &["payload", "signature"])?,
            format!("\"{}\"", *signature.spelled()),
        )];
        if !already {
            new.push((from, format!("\"{}\"", self.transfer.from)));
        }
        let mut places = Vec::with_capacity(new.len());
        for (old, new) in new {
            places.push((text::place(payment, old)?, new));
        }
        // From the end, so that what is before stays where it is.
        places.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(place.start));
        let mut signed = payment.to_owned();
        for (place, new) in places {
            signed.replace_range(place, &new);
        }
        Some(signed)
    }
}

#[cfg(test)]
mod tests;
