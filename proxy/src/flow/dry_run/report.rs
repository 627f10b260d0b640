//! What goes into a dry run and what comes out.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use serde::Serialize;
use tollgate_policy::{Authority, Explanation, Reason};

use crate::gate::{Asked, Caller, Denial, Layer, PaymentFacts, Route};

/// A request as its client would send it.
pub struct DryRequest<'a> {
    /// The method; `WEBSOCKET_TEXT` stands for a text message on the WebSocket that the URL opens.
    pub method: &'a Method,
    /// The URL, absolute.
    pub url: &'a str,
    /// The fields; Host and Content-Length are added where they are missing.
    pub headers: &'a [(HeaderName, HeaderValue)],
    /// The body, or what the message says; may be empty.
    pub body: Bytes,
    /// Who asks.
    pub caller: &'a Caller,
}

/// A step on a request's way, in the order in which they are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// CONNECT: rail by name, policy by host, port and binary.
    Connection,
    /// The addresses of the name.
    Address,
    /// The head: well-formed, canonical, one authority; rail by name, policy by method, path and query, rail by target and scheme.
    Request,
    /// Our own checks of a payment.
    Payment,
    /// A JSON body: rail by what it asks for; and, where the policy is about it, each operation in it.
    Body,
    /// A text message on a WebSocket: policy by the method that stands for messages, rail by what it asks for.
    Message,
    /// The verdict on a payment.
    Verdict,
    /// Credentials that the header points at.
    Credentials,
}

/// What a step found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Nothing against it.
    Passed,
    /// It would be denied if the endpoint were enforced.
    WouldDeny,
    /// Denied: the last step.
    Denied,
    /// Only known at run time.
    Unknown,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Which.
    pub stage: Stage,
    /// What it found.
    pub finding: Finding,
    /// In one sentence.
    pub detail: String,
}

/// What lets a request pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pass {
    /// The key of the rule.
    pub policy: Option<String>,
    /// The allow rule within it.
    pub rule: Option<String>,
    /// What it would be denied for, if the endpoint were enforced.
    pub would_deny: Option<Reason>,
    /// What its body was judged by.
    pub operation: Option<Box<Asked>>,
    /// The payment that passed our own checks.
    pub payment: Option<PaymentFacts>,
}

/// The whole.
pub struct DryRun {
    /// Up to the first denial.
    pub steps: Vec<Step>,
    /// How far it got.
    pub layer: Layer,
    /// Where it goes.
    pub authority: Option<Authority>,
    /// The canonical path, once the head has been read.
    pub path: Option<String>,
    /// The policy's own trace.
    pub policy: Option<Explanation>,
    /// The answer.
    pub outcome: Result<Pass, Denial>,
}

impl Pass {
    /// As this route says.
    pub(super) fn take(&mut self, route: Route<'_>) {
        self.policy = route.policy.map(str::to_owned);
        self.rule = route.rule;
        self.would_deny = route.would_deny;
        self.operation = route.operation;
    }
}

impl DryRun {
    pub(super) fn step(&mut self, stage: Stage, finding: Finding, detail: impl Into<String>) {
        self.steps.push(Step {
            stage,
            finding,
            detail: detail.into(),
        });
    }
}
