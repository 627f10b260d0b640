//! A payment in a message: judged as one in the body of a request is, and let out with exactly its GO.
//!
//! Where a payment has to answer a challenge, it may be one that came over HTTP or one that the origin said on a WebSocket.

use std::sync::Arc;

use tollgate_policy::Reason;

use super::super::exchange::now;
use super::super::failure::Failure;
use super::super::payment;
use super::super::record::Record;
use super::super::signing::Vessel;
use super::judge::Judge;
use crate::gate::payment::action::PaidBody;
use crate::gate::{Denial, Ruleset};
use crate::verdict::Question;
use crate::x402::carriers::Carried;

impl Judge<'_> {
    /// Pays with exactly GO, for a message that leaves at once; either way there is a line of its own in the audit trail.
    pub(super) async fn pay(&self, carried: &Carried, text: &str) -> Result<(), Denial> {
        let rules = self.engine.gate.rules();
        let mut record = self.record(&self.text, rules.generation);
        let judged = self.judge_payment(&rules, carried, text, &mut record).await;
        if let Err(denial) = &judged {
            record.denied(denial);
            // There is a close code, and no status.
            record.status = None;
        }
        record.finish().await;
        judged
    }

    async fn judge_payment(&self, rules: &Arc<Ruleset>, carried: &Carried, text: &str, record: &mut Record<'_>) -> Result<(), Denial> {
        let engine = self.engine;
        let paying = payment::find_carried(engine, rules, &self.text, carried, Vessel::Message, record).map_err(denial)?;
        paying.buys(PaidBody::Call(carried.hash))?;
        let paid = if paying.needs_verdict() {
            let question = Question::from(&paying.claim);
            let ruling = record.wait(engine.gate.desk().judge(&question)).await;
            payment::settle(paying, &ruling, engine, record).map_err(denial)?
        } else {
            payment::again(paying, engine)?
        };
        // The verdict took its time: what leaves now leaves under the rules in force now.
        let current = engine.gate.rules();
        if !Arc::ptr_eq(&current, rules) {
            engine.gate.judge_message(&current, &self.request(&current).await, text)?;
            payment::check_carried(&engine.gate, &current, &self.text, carried, now())?;
        }
        engine
            .audit
            .ready()
            .map_err(|_| Denial::new(Reason::OverCapacity, "the audit trail cannot be written, so nothing may leave"))?;
        // Unsigned payments are refused in messages, so nothing is put in.
        paid.leave_in_message().await
    }
}

/// Nothing here can break but what a rule says no to.
fn denial(failure: Failure) -> Denial {
    match failure {
        Failure::Denied(denial) => *denial,
        Failure::Broken(_) => Denial::new(Reason::InternalError, "the payment cannot be judged"),
    }
}
