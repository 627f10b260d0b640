//! Asks a Blackwall service: `POST {url}/v1/forecast-payment`; and tells it what became of what it judged: `POST {url}/v1/report-outcome`.
//!
//! In: a question. Out: an [`Answer`] by the acceptance rule, or a typed [`Failure`]. One question, one answer: no retry (each forecast is billed and
//! recorded anew), no redirect, and a demand for payment is never met.
//!
//! | the service | outcome | reason |
//! | --- | --- | --- |
//! | 200, `verdict` is `"GO"`, `hard_stop` is `false`, `receipt_id` well-formed | GO | |
//! | 200, `hard_stop` is `true`, whatever the verdict | STOP | `verdict_stop` |
//! | 200, `verdict` is `"STOP"` | STOP | `verdict_stop` |
//! | 200, `verdict` is `"HOLD"` | HOLD | `verdict_hold` |
//! | 200, any other JSON: `"go"`, `"GO "`, no `verdict`, GO with `hard_stop` missing or `"false"`, GO without receipt, an array, a member twice | none | `verdict_invalid` |
//! | 200, more than [`MAX_ANSWER`] bytes | none | `verdict_invalid` |
//! | 200, not JSON: a page, nothing, broken UTF-8, a byte order mark, `NaN`, nested deeper than 128 | none | `verdict_unavailable` |
//! | any other status: 2xx, 3xx, 4xx, 5xx, among them 402 and 429 | none | `verdict_unavailable` |
//! | dead, slow, cut short, broken HTTP, unverified TLS | none | `verdict_unavailable` |
//!
//! Refusing needs less proof than passing: STOP and HOLD count without receipt or `hard_stop`, GO only with everything in place. Members that are
//! not named above are ignored, so newer services keep working.

mod answer;
mod outcome;
mod question;
#[cfg(test)]
mod tests;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, StatusCode};
use thiserror::Error;

use super::report::Report;
use super::{Answer, Backend, BackendName, Failure, Question, Unacceptable};
use crate::egress::fetch::{FetchError, Fetcher, Limits, Request, ServiceUrl};

pub use question::AgentId;

/// Bytes of answer that are read.
pub const MAX_ANSWER: usize = 256 << 10;

/// The base URL does not make a request target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the verdict service's URL cannot be used")]
pub struct UnusableUrl;

/// A Blackwall service.
#[derive(Debug)]
pub struct Blackwall {
    fetcher: Fetcher,
    service: ServiceUrl,
    target: PathAndQuery,
    report_target: PathAndQuery,
    agent_id: Option<AgentId>,
    limits: Limits,
}

impl Blackwall {
    /// `agent_id` is the operator's name for this sandbox; nothing that an agent controls is ever sent as one.
    pub fn new(fetcher: Fetcher, service: ServiceUrl, agent_id: Option<AgentId>, timeout: Duration) -> Result<Self, UnusableUrl> {
        let target = service.target("/v1/forecast-payment").map_err(|_| UnusableUrl)?;
        let report_target = service.target("/v1/report-outcome").map_err(|_| UnusableUrl)?;
        let limits = Limits {
            deadline: timeout,
            max_response: MAX_ANSWER,
        };
        Ok(Blackwall {
            fetcher,
            service,
            target,
            report_target,
            agent_id,
            limits,
        })
    }

    fn request(&self, target: &PathAndQuery, body: Bytes) -> Request {
        let mut headers = HeaderMap::with_capacity(3);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("tollgate/", env!("CARGO_PKG_VERSION"))),
        );
        Request {
            method: Method::POST,
            destination: self.service.destination().clone(),
            target: target.clone(),
            headers,
            body,
        }
    }
}

#[async_trait]
impl Backend for Blackwall {
    fn name(&self) -> BackendName {
        BackendName::Blackwall
    }

    fn told(&self, about: &Question) -> Option<Bytes> {
        Some(question::body(about, self.agent_id.as_ref()))
    }

    async fn ask(&self, about: &Question) -> Result<Answer, Failure> {
        let request = self.request(&self.target, question::body(about, self.agent_id.as_ref()));
        let response = self.fetcher.fetch(&request, self.limits).await.map_err(|error| match error {
            FetchError::TooLarge => Failure::Unacceptable(Unacceptable::TooLarge),
            FetchError::Timeout => Failure::TimedOut,
            other => Failure::Unreachable(other),
        })?;
        match response.status {
            StatusCode::OK => answer::read(&response.body),
            StatusCode::PAYMENT_REQUIRED => Err(Failure::PaymentDemanded),
            StatusCode::TOO_MANY_REQUESTS => Err(Failure::RateLimited),
            other => Err(Failure::Status(other.as_u16())),
        }
    }

    async fn report(&self, report: &Report) -> Result<(), Failure> {
        let request = self.request(&self.report_target, outcome::body(report));
        let response = self.fetcher.fetch(&request, self.limits).await.map_err(Failure::Unreachable)?;
        match response.status {
            StatusCode::ACCEPTED => Ok(()),
            StatusCode::TOO_MANY_REQUESTS => Err(Failure::RateLimited),
            other => Err(Failure::Status(other.as_u16())),
        }
    }
}
