//! Why a payment is refused, and what was known of it by then: the audit line of a refusal needs both.

use std::borrow::Cow;

use thiserror::Error;
use tollgate_policy::Reason;

use super::address::Address;
use super::claim::{AtomicAmount, Version};
use super::network::{Caip2, NetworkError};
use super::scheme::Scheme;

/// A refused payment. Its texts are fixed or built from typed values, so nothing of a signature or of client-chosen text is in them.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}: {detail}")]
pub struct PaymentRefusal {
    /// The code in the denial, the audit line and the metric.
    pub reason: Reason,
    /// One sentence for a human.
    pub detail: Cow<'static, str>,
    /// What was known when the payment was refused.
    pub summary: Box<PaymentSummary>,
}

/// The part of a refused payment that could be read. Values are as the wire claims them; none of them is proved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PaymentSummary {
    /// By header name.
    pub version: Option<Version>,
    /// The scheme, from a closed set.
    pub scheme: Option<SchemeName>,
    /// The chain.
    pub network: Option<Caip2>,
    /// The token.
    pub asset: Option<Address>,
    /// The signed amount.
    pub amount: Option<AtomicAmount>,
    /// The signed payee.
    pub payee: Option<Address>,
    /// The payer named in the payment.
    pub payer: Option<Address>,
}

/// Schemes that are told apart in audit lines and metrics; a closed set, because clients choose the text on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SchemeName {
    /// `exact`, over EIP-3009 where that is known.
    Exact,
    /// `exact` over Permit2.
    ExactPermit2,
    /// `exact` on Solana.
    ExactSvm,
    /// `upto`.
    Upto,
    /// `batch-settlement`.
    BatchSettlement,
    /// `auth-capture`.
    AuthCapture,
    /// Any other text.
    Other,
}

impl SchemeName {
    /// Reads the wire's text, which has one word for three of them.
    pub fn recognise(text: &str) -> Self {
        match text {
            "exact" => SchemeName::Exact,
            "upto" => SchemeName::Upto,
            "batch-settlement" => SchemeName::BatchSettlement,
            "auth-capture" => SchemeName::AuthCapture,
            _ => SchemeName::Other,
        }
    }

    /// The metric label and audit text.
    pub const fn as_str(self) -> &'static str {
        match self {
            SchemeName::Exact => "exact",
            SchemeName::ExactPermit2 => "exact-permit2",
            SchemeName::ExactSvm => "exact-svm",
            SchemeName::Upto => "upto",
            SchemeName::BatchSettlement => "batch-settlement",
            SchemeName::AuthCapture => "auth-capture",
            SchemeName::Other => "other",
        }
    }
}

impl From<Scheme> for SchemeName {
    fn from(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Exact => SchemeName::Exact,
            Scheme::ExactPermit2 => SchemeName::ExactPermit2,
            Scheme::ExactSvm => SchemeName::ExactSvm,
            Scheme::Upto => SchemeName::Upto,
        }
    }
}

impl PaymentRefusal {
    /// A refusal about which nothing else is known yet.
    pub fn new(reason: Reason, detail: impl Into<Cow<'static, str>>) -> Self {
        PaymentRefusal {
            reason,
            detail: detail.into(),
            summary: Box::default(),
        }
    }

    /// A payment that does not parse canonically.
    pub fn malformed(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Reason::PaymentMalformed, detail)
    }

    /// A scheme, flavour, extension or carrier that is not judged.
    pub fn scheme(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Reason::PaymentSchemeNotAllowed, detail)
    }

    /// What was signed, offered and requested disagree.
    pub fn mismatch(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Reason::PaymentMismatch, detail)
    }

    /// Adds what was known.
    #[must_use]
    pub fn knowing(mut self, summary: PaymentSummary) -> Self {
        self.summary = Box::new(summary);
        self
    }
}

impl From<NetworkError> for PaymentRefusal {
    fn from(error: NetworkError) -> Self {
        let reason = match error {
            NetworkError::Malformed => Reason::PaymentMalformed,
            NetworkError::OtherNamespace | NetworkError::UnknownCluster | NetworkError::UnknownName | NetworkError::AmbiguousName => {
                Reason::PaymentNetworkNotAllowed
            }
        };
        PaymentRefusal::new(reason, error.to_string())
    }
}
