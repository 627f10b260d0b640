//! Asks an Action Safety service whether anything is to be said against a payment: `POST {origin}/api/agent-services/action-safety/quick`.
//!
//! In: a question. Out: an [`Opinion`], never a GO: by its own contract the service can only object. The payment is written as one deterministic
//! line, without query, nonce, payer or signature, and the answer has to repeat the hash of exactly that line. Nothing is retried, no redirect is
//! followed, no next call is made, no demand for payment is met. It is asked only where the operator has named the one origin that may be told.

mod action;
mod answer;
pub mod config;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, StatusCode};

use super::unanimous::{Objector, Opinion};
use super::{BackendName, Failure, Question, Unacceptable};
use crate::egress::fetch::{FetchError, Fetcher, Limits, Request, ServiceUrl};
use action::{Action, Command, Place, Purpose};

pub use config::{ActionSafetyConfig, ActionSafetyError};

/// The service that is asked.
const QUICK: &str = "/api/agent-services/action-safety/quick";
/// The services that it may recommend.
const SCORE: &str = "/api/agent-services/destructguard/score";
const RUN: &str = "/api/agent-services/action-safety/run";
/// Bytes of answer that are read.
const MAX_ANSWER: usize = 64 << 10;

/// See the module.
#[derive(Debug)]
pub struct ActionSafety {
    fetcher: Fetcher,
    service: ServiceUrl,
    target: PathAndQuery,
    access: Access,
    environment: Option<Place>,
    limits: Limits,
}

/// The one way in that is configured. There is no falling back from one to the other, nor to paying.
pub struct Access {
    field: HeaderName,
    /// Marked as sensitive, so that nobody prints it.
    value: HeaderValue,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Access({}, redacted)", self.field)
    }
}

impl ActionSafety {
    fn action(&self, question: &Question) -> Option<Action> {
        let command = format!(
            "x402 pay scheme={} network={} asset={} amount={} payTo={} method={} resource={}",
            question.scheme.as_str(),
            question.asset.network,
            question.asset.address,
            question.amount,
            question.payee,
            question.resource.method,
            question.resource,
        );
        let target = format!("{}/{}", question.asset.network, question.payee);
        Some(Action {
            actor: Place::parse("egress-proxy").ok(),
            environment: self.environment.clone(),
            target: Some(Purpose::parse(&target).ok()?),
            // A payment whose line is too long is not asked about, and so not made.
            ..Action::new(Command::parse(&command).ok()?)
        })
    }

    fn request(&self, action: &Action) -> Request {
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("tollgate/", env!("CARGO_PKG_VERSION"))),
        );
        headers.insert(self.access.field.clone(), self.access.value.clone());
        Request {
            method: Method::POST,
            destination: self.service.destination().clone(),
            target: self.target.clone(),
            headers,
            body: action.body(),
        }
    }
}

#[async_trait]
impl Objector for ActionSafety {
    fn name(&self) -> BackendName {
        BackendName::ActionSafety
    }

    fn told(&self, question: &Question) -> Option<Bytes> {
        self.action(question).map(|action| action.body())
    }

    async fn object(&self, question: &Question) -> Result<Opinion, Failure> {
        let action = self.action(question).ok_or(Failure::Unacceptable(Unacceptable::Question))?;
        let response = self
            .fetcher
            .fetch(&self.request(&action), self.limits)
            .await
            .map_err(|error| match error {
                FetchError::TooLarge => Failure::Unacceptable(Unacceptable::TooLarge),
                FetchError::Timeout => Failure::TimedOut,
                other => Failure::Unreachable(other),
            })?;
        match response.status {
            StatusCode::OK => answer::read(&response.body, &action.hash(), &self.service.origin()),
            StatusCode::PAYMENT_REQUIRED => Err(Failure::PaymentDemanded),
            StatusCode::TOO_MANY_REQUESTS => Err(Failure::RateLimited),
            other => Err(Failure::Status(other.as_u16())),
        }
    }
}
