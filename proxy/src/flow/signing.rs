//! The signature of a payment that is signed here: had at the last moment, and put where the agent left room for it.
//!
//! In: a payment with its GO. Out: the same header or body in which only the signature (and a throwaway payer) is new. This is the only place
//! where a payment is changed on its way.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, header};
use pingora::http::RequestHeader;
use tollgate_policy::Reason;
use zeroize::Zeroizing;

use super::exchange::now;
use super::payment::facts_of;
use super::upload::Body;
use crate::gate::payment::judge::header_name;
use crate::gate::payment::replay::Attempt;
use crate::gate::{Denial, PaymentFacts};
use crate::signer::{Order, Signer, SigningError};
use crate::x402::base64;
use crate::x402::carriers::Carried;
use crate::x402::claim::{Claim, Version};
use crate::x402::signature::Signature;
use crate::x402::unsigned::Unsigned;

/// What a carried payment travels in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Vessel<'b> {
    /// A body in hand, as it is forwarded.
    Body(&'b [u8]),
    /// A body that is not.
    Unread,
    /// A message on a WebSocket.
    Message,
}

impl<'b> Vessel<'b> {
    pub(super) fn of(body: &'b Body) -> Self {
        match body {
            Body::Whole(bytes) => Vessel::Body(bytes),
            Body::Streamed(_) | Body::Unseen => Vessel::Unread,
        }
    }
}

/// An unsigned payment has to be where a signature can be put in: in what is forwarded as it was read.
pub(super) fn check_vessel(claim: &Claim, carried: &Carried, vessel: Vessel<'_>) -> Result<(), Denial> {
    let refused = |detail: &'static str| {
        Err(Denial {
            payment: Some(Box::new(facts_of(claim))),
            ..Denial::new(Reason::PaymentSchemeNotAllowed, detail)
        })
    };
    if claim.unsigned.is_none() {
        return Ok(());
    }
    match vessel {
        Vessel::Body(bytes) if bytes.get(carried.at.clone()) == Some(carried.payment.as_bytes()) => Ok(()),
        Vessel::Body(_) | Vessel::Unread => refused("payments are signed here, and not in bodies that are compressed or not UTF-8"),
        Vessel::Message => refused("payments are signed here, and not in WebSocket messages"),
    }
}

/// What is to be signed, by whom, and where it goes.
pub(super) struct Signing {
    order: Order,
    signer: Option<Arc<Signer>>,
    attempt: Option<Attempt>,
    place: Place,
    facts: PaymentFacts,
}

#[derive(Debug, Clone)]
enum Place {
    Header(Version),
    Body(Range<usize>),
}

impl Signing {
    /// `None` where the sandbox has signed.
    pub(super) fn of(claim: &Claim, in_body: Option<Range<usize>>, signer: Option<&Arc<Signer>>, attempt: Option<Attempt>) -> Option<Self> {
        Some(Signing {
            order: Order::of(claim)?,
            signer: signer.cloned(),
            attempt,
            place: in_body.map_or(Place::Header(claim.version), Place::Body),
            facts: facts_of(claim),
        })
    }

    pub(super) async fn sign(&self) -> Result<Signed, Denial> {
        let Some(signer) = &self.signer else {
            return Err(Denial::new(Reason::InternalError, "there is nobody to sign the payment"));
        };
        let given = match self.attempt {
            // It left with its signature before: one GO, one signature.
            Some(Attempt::Resend) => signer.sign_again(&self.order, now()),
            Some(Attempt::First | Attempt::Retry) | None => signer.sign(&self.order, now()).await,
        };
        let signature = given.map_err(|error| self.denied(error))?;
        // A service took its time.
        if self.order.valid_before <= now() {
            return Err(self.denied(SigningError::Expired));
        }
        Ok(Signed {
            signature,
            unsigned: self.order.unsigned,
            place: self.place.clone(),
        })
    }

    fn denied(&self, error: SigningError) -> Denial {
        let reason = match error {
            SigningError::Expired => Reason::PaymentExpired,
            _ => Reason::PaymentSignerUnavailable,
        };
        Denial {
            payment: Some(Box::new(self.facts.clone())),
            ..Denial::new(reason, error.to_string())
        }
    }
}

/// The wallet's signature, on its way into the payment. Not for showing.
pub(crate) struct Signed {
    signature: Signature,
    unsigned: Unsigned,
    place: Place,
}

impl Signed {
    /// Puts it in; a body comes back new.
    pub(super) fn put_in(&self, head: &mut RequestHeader, body: &Body) -> Result<Option<Body>, Denial> {
        match &self.place {
            Place::Header(version) => self.put_in_header(head, *version).map(|()| None),
            Place::Body(place) => self.put_in_body(head, body, place).map(Some),
        }
        .ok_or_else(|| Denial::new(Reason::InternalError, "the signature cannot be put into the payment"))
    }

    fn put_in_header(&self, head: &mut RequestHeader, version: Version) -> Option<()> {
        let name = header_name(version);
        let mut values = head.headers.get_all(name).iter();
        let (value, None) = (values.next()?, values.next()) else {
            return None;
        };
        let payment = String::from_utf8(base64::decode_canonical(value.as_bytes())?).ok()?;
        let signed = Zeroizing::new(self.unsigned.signed(&payment, &self.signature)?);
        let mut value = HeaderValue::try_from(base64::encode(signed.as_bytes())).ok()?;
        value.set_sensitive(true);
        head.insert_header(name, value).ok()
    }

    fn put_in_body(&self, head: &mut RequestHeader, body: &Body, place: &Range<usize>) -> Option<Body> {
        let Body::Whole(bytes) = body else { return None };
        let payment = std::str::from_utf8(bytes.get(place.clone())?).ok()?;
        let signed = Zeroizing::new(self.unsigned.signed(payment, &self.signature)?);
        let whole = [bytes.get(..place.start)?, signed.as_bytes(), bytes.get(place.end..)?].concat();
        head.insert_header(header::CONTENT_LENGTH, whole.len()).ok()?;
        Some(Body::Whole(Bytes::from(whole)))
    }
}
