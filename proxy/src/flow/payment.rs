//! The payment rule's place in the flow: find and check, reserve the authorisation, and turn a ruling into GO or a denial.

use std::sync::Mutex;

use pingora::protocols::http::ServerSession;
use tollgate_policy::Reason;

use super::engine::Engine;
use super::exchange::now;
use super::failure::Failure;
use super::head::Head;
use super::record::Record;
use crate::audit::{VerdictBackend, VerdictOutcome, VerdictRecord};
use crate::gate::payment::judge::{PaymentRequest, judge_header};
use crate::gate::payment::replay::Reservation;
use crate::gate::{Denial, PaymentTerms, Ruleset};
use crate::verdict::BackendName;
use crate::verdict::desk::Ruling;
use crate::x402::claim::Claim;
use crate::x402::detect::{Found, find as detect};

/// A payment whose authorisation is reserved for this one request.
pub(crate) struct Paying<'g> {
    pub(crate) claim: Claim,
    reservation: Mutex<Option<Reservation<'g>>>,
}

impl Paying<'_> {
    /// From now on the authorisation is spent: the first byte may leave.
    pub(crate) fn reached_origin(&self) {
        if let Some(reservation) = self.reservation.lock().ok().and_then(|mut held| held.take()) {
            reservation.reached_origin();
        }
    }
}
