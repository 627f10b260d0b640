//! Answers from two files of the operator: known payees with their usual price, and refused addresses. Nothing leaves the host.
//!
//! In: the files at start, then questions. Out: an [`Answer`] at once, without a receipt.
//!
//! | the payee | verdict |
//! | --- | --- |
//! | refused | STOP |
//! | known on the payment's network, the amount at least 8 times its price | STOP |
//! | known, the amount at most `tolerance` (3.1 unless the entry says otherwise) times its price | GO |
//! | known, the amount between the two, or nothing | HOLD |
//! | anyone else | HOLD |
//!
//! The ratios are those of a Blackwall service, so that a payment meets the same verdict from both. Cheaper than usual is never held.

mod list;
mod price;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::Path;

use async_trait::async_trait;

use self::list::KnownPayees;
use super::{Answer, Backend, BackendName, Failure, Question, Verdict};
use crate::x402::address::Address;

pub use list::ListError;

/// The embedded backend. Without lists it holds every payment.
#[derive(Debug, Default)]
pub struct Local {
    known: KnownPayees,
    refused: HashSet<Address>,
}

impl Local {
    /// Reads the lists; `None` is an empty one.
    pub fn open(payees: Option<&Path>, refused: Option<&Path>) -> Result<Self, ListError> {
        Ok(Local {
            known: payees.map(list::read_payees).transpose()?.unwrap_or_default(),
            refused: refused.map(list::read_refused).transpose()?.unwrap_or_default(),
        })
    }

    /// What the lists say.
    pub fn judge(&self, question: &Question) -> Verdict {
        if self.refused.contains(&question.payee) {
            return Verdict::Stop;
        }
        match self.known.usual(&question.payee, question.asset.network) {
            Some(usual) => usual.judge(question.amount, question.asset.decimals),
            None => Verdict::Hold,
        }
    }
}

#[async_trait]
impl Backend for Local {
    fn name(&self) -> BackendName {
        BackendName::Local
    }

    async fn ask(&self, question: &Question) -> Result<Answer, Failure> {
        Ok(Answer::bare(self.judge(question)))
    }
}
