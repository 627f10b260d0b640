//! Verdicts: who is asked whether a payment may leave, and what counts as an answer.
//!
//! In: a [`Question`] about a payment, or an offer, that has passed our own checks. Out: a [`Ruling`](desk::Ruling). Exactly GO lets the payment out;
//! HOLD, STOP and every way of not answering refuse it.
//!
//! | part | does |
//! | --- | --- |
//! | [`desk`] | limits, queue and deadline around a backend |
//! | [`breaker`] | no more questions to a service that fails |
//! | [`blackwall`] | asks a Blackwall service over HTTP |
//! | [`local`] | answers from two files of the operator |
//! | [`action_safety`] | a second opinion, which can only object |
//! | [`unanimous`] | a backend whose GO somebody else may object to |
//! | [`report`] | tells a service what became of what it judged |
//! | [`config`] | the `verdict:` section of `tollgate.yaml` |

pub mod action_safety;
pub mod blackwall;
pub mod breaker;
pub mod config;
pub mod desk;
pub mod local;
pub mod report;
#[cfg(test)]
pub(crate) mod sample;
pub mod unanimous;

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use thiserror::Error;
use tollgate_policy::Reason;
use zeroize::Zeroizing;

use self::report::Report;
use crate::egress::fetch::FetchError;
use crate::x402::address::Address;
use crate::x402::claim::{Asset, AtomicAmount, Claim, Resource, Scheme};

/// What is asked about: a signed payment, or an offer before anybody signs for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// How the money would move.
    pub scheme: Scheme,
    /// The asset, and with it the network.
    pub asset: Asset,
    /// How much.
    pub amount: AtomicAmount,
    /// Who is paid.
    pub payee: Address,
    /// Who pays; nobody yet, where it is about an offer.
    pub payer: Option<Address>,
    /// What is bought.
    pub resource: Resource,
}

impl From<&Claim> for Question {
    fn from(claim: &Claim) -> Self {
        Question {
            scheme: claim.scheme,
            asset: claim.asset.clone(),
            amount: claim.amount,
            payee: claim.payee,
            payer: Some(claim.payer),
            resource: claim.resource.clone(),
        }
    }
}

/// What a backend says about a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It may leave.
    Go,
    /// Not now; a human may decide otherwise.
    Hold,
    /// Never.
    Stop,
}

impl Verdict {
    /// The label in metrics and audit events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Go => "go",
            Verdict::Hold => "hold",
            Verdict::Stop => "stop",
        }
    }

    /// Why a payment with this verdict is refused; `None` for GO.
    pub const fn refusal(self) -> Option<Reason> {
        match self {
            Verdict::Go => None,
            Verdict::Hold => Some(Reason::VerdictHold),
            Verdict::Stop => Some(Reason::VerdictStop),
        }
    }
}

/// A service's name for its answer: `bw_` and 24 lower-case hex digits. Nobody can verify it; safe to log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReceiptId(Box<str>);

impl ReceiptId {
    /// The id, if the text has exactly its form.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("bw_")?;
        let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        (hex.len() == 24 && hex.bytes().all(is_hex)).then(|| ReceiptId(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ReceiptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Lets its holder report the outcome of a judged payment. A secret: never shown to the agent, never printed, wiped when dropped.
#[derive(Clone)]
pub struct ReportToken(Zeroizing<String>);

impl ReportToken {
    /// Longest token that is kept.
    const MAX: usize = 256;

    /// The token, if it is one word of printable ASCII.
    pub fn parse(text: String) -> Option<Self> {
        let text = Zeroizing::new(text);
        let fits = !text.is_empty() && text.len() <= Self::MAX && text.bytes().all(|b| b.is_ascii_graphic());
        fits.then_some(ReportToken(text))
    }

    /// The secret, for the one request that reports an outcome.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ReportToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReportToken(redacted)")
    }
}

/// An answer that a backend stands by.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What it says.
    pub verdict: Verdict,
    /// Its name for the answer; always there with a Blackwall GO, never with a local one.
    pub receipt_id: Option<ReceiptId>,
    /// The right to report the outcome.
    pub report_token: Option<ReportToken>,
}

impl Answer {
    /// A bare verdict.
    pub const fn bare(verdict: Verdict) -> Self {
        Answer {
            verdict,
            receipt_id: None,
            report_token: None,
        }
    }
}

/// Why there is no answer. Nothing that a service sent is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Failure {
    /// As many calls wait as may.
    #[error("too many payments are waiting for a verdict")]
    QueueFull,
    /// Queueing and asking took longer than the timeout.
    #[error("no verdict within the timeout")]
    TimedOut,
    /// The service did not answer as an HTTP server.
    #[error("the verdict service could not be asked: {0}")]
    Unreachable(FetchError),
    /// It wants money (402). Never paid.
    #[error("the verdict service wants to be paid")]
    PaymentDemanded,
    /// It asks us to slow down (429).
    #[error("the verdict service limits our rate")]
    RateLimited,
    /// It answered with this status, redirects included.
    #[error("the verdict service answered with status {0}")]
    Status(u16),
    /// A 200 that is not a JSON text: a sleeping host's page, a portal, nothing.
    #[error("the verdict service's answer is not JSON")]
    NotJson,
    /// It failed too often in a row, so it was not asked.
    #[error("the verdict service failed too often and is not asked for a while")]
    BreakerOpen,
    /// A 200 with JSON that is neither GO, HOLD nor STOP by the acceptance rule.
    #[error("the verdict service's answer is not acceptable: {0}")]
    Unacceptable(Unacceptable),
}

/// What is wrong with an answer that is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Unacceptable {
    /// Larger than is read.
    #[error("too large")]
    TooLarge,
    /// An array, string, number, boolean or null.
    #[error("not an object")]
    NotObject,
    /// A member name twice in one object, at any depth: two readers could see two answers.
    #[error("a member occurs twice")]
    DuplicateMember,
    /// `verdict` is missing or not one of the three words.
    #[error("the verdict is not GO, HOLD or STOP")]
    Verdict,
    /// A GO whose `hard_stop` is not exactly `false`.
    #[error("a GO without hard_stop false")]
    HardStop,
    /// A GO without a well-formed `receipt_id`.
    #[error("a GO without a receipt")]
    Receipt,
    /// Not the opinion of an Action Safety service on this action.
    #[error("not an opinion on this payment")]
    Opinion,
    /// The payment can't be put into the words of the service.
    #[error("the payment is longer than the service can be told")]
    Question,
}

impl Failure {
    /// The code of the refusal.
    pub const fn reason(self) -> Reason {
        match self {
            Failure::Unacceptable(_) => Reason::VerdictInvalid,
            Failure::QueueFull
            | Failure::TimedOut
            | Failure::Unreachable(_)
            | Failure::PaymentDemanded
            | Failure::RateLimited
            | Failure::Status(_)
            | Failure::NotJson
            | Failure::BreakerOpen => Reason::VerdictUnavailable,
        }
    }

    /// Whether the service is not there, as far as one call can tell.
    pub const fn is_outage(self) -> bool {
        matches!(self, Failure::TimedOut | Failure::Unreachable(_) | Failure::Status(500..))
    }

    /// Whether the service was asked at all.
    pub const fn was_asked(self) -> bool {
        !matches!(self, Failure::QueueFull | Failure::BreakerOpen)
    }
}

/// The backends, a closed set for labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendName {
    /// A Blackwall service, self-hosted or public.
    Blackwall,
    /// Two files of the operator; nothing leaves the host.
    #[default]
    Local,
    /// An Action Safety service. It can only object, so nobody can choose it as the one that says GO.
    #[serde(skip_deserializing)]
    ActionSafety,
}

impl BackendName {
    /// Those that can be chosen to say GO.
    pub const CHOICES: &'static [BackendName] = &[BackendName::Blackwall, BackendName::Local];
    /// Every backend.
    pub const ALL: &'static [BackendName] = &[BackendName::Blackwall, BackendName::Local, BackendName::ActionSafety];

    /// The label in configuration, metrics and audit events.
    pub const fn as_str(self) -> &'static str {
        match self {
            BackendName::Blackwall => "blackwall",
            BackendName::Local => "local",
            BackendName::ActionSafety => "action_safety",
        }
    }

    /// Who that is, in one sentence.
    pub const fn summary(self) -> &'static str {
        match self {
            BackendName::Blackwall => "A Blackwall service, self-hosted or public.",
            BackendName::Local => "Two files of the operator's; nothing leaves the host.",
            BackendName::ActionSafety => "An Action Safety service, which can only object.",
        }
    }
}

/// Somebody who can be asked. Limits, queueing and deadlines are the [`desk`]'s business; dropping the future must abandon the question.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Which one it is.
    fn name(&self) -> BackendName;

    /// What it would be told, word for word, to be shown and not sent; `None` where nothing leaves the host.
    fn told(&self, _question: &Question) -> Option<Bytes> {
        None
    }

    /// Asks once.
    async fn ask(&self, question: &Question) -> Result<Answer, Failure>;

    /// The same, with whose word it is where several are asked.
    async fn consult(&self, question: &Question) -> (BackendName, Result<Answer, Failure>) {
        (self.name(), self.ask(question).await)
    }

    /// Tells what became of a payment, once.
    async fn report(&self, _report: &Report) -> Result<(), Failure> {
        Ok(())
    }
}
