//! A refusal, and its one shape towards clients: status, vocabulary and JSON body are decided here and nowhere else.
//!
//! Nothing of a signature, credential, cookie, query value or verdict token can get into a [`Denial`]: it is built from canonical
//! hosts and paths, names of rules, and texts of our own.

use std::fmt;

use http::StatusCode;
use serde::Serialize;
use tollgate_policy::{Authority, Group, Reason};

use super::Asked;

/// The level at which a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Host, port, binary, address: CONNECT or the connection itself.
    L4,
    /// Method, path, query, headers, body.
    L7,
}

/// What a payment denial says about the payment: public facts of it, never the signature.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PaymentFacts {
    /// `1` or `2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u8>,
    /// `exact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<&'static str>,
    /// CAIP-2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Token contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset: Option<String>,
    /// Exact decimal, in the asset's own units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<String>,
    /// Who is paid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payee: Option<String>,
    /// Who pays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payer: Option<String>,
    /// SHA-256 of the payment header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_hash: Option<String>,
    /// SHA-256 naming the authorisation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nonce_hash: Option<String>,
}

/// Why a request was refused, and what the client is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The code.
    pub reason: Reason,
    /// One sentence for a person.
    pub detail: String,
    /// The rule key of policy.yaml that matched or came nearest.
    pub policy: Option<String>,
    /// The rule within it.
    pub rule: Option<String>,
    /// The smallest change that would allow it; empty for rails and payments, which no agent should learn a way around.
    pub next_steps: Vec<String>,
    /// What of the body was refused, where the rules are about that.
    pub operation: Option<Box<Asked>>,
    /// For payment denials.
    pub payment: Option<Box<PaymentFacts>>,
}

impl Denial {
    /// A denial that only has a reason and a sentence.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Denial {
            reason,
            detail: detail.into(),
            policy: None,
            rule: None,
            next_steps: Vec::new(),
            operation: None,
            payment: None,
        }
    }

    /// The HTTP status of a refusal for this reason.
    pub fn status(&self) -> StatusCode {
        status(self.reason)
    }

    /// OpenShell's word for the kind of refusal.
    pub fn error(&self) -> &'static str {
        error_word(self.reason)
    }

    /// The JSON body.
    pub fn body(&self, subject: &Subject<'_>) -> Vec<u8> {
        let middleware = matches!(self.reason.group(), Group::Payment | Group::Verdict).then_some("tollgate/x402");
        let body = Body {
            error: self.error(),
            reason_code: self.reason.as_str(),
            detail: &self.detail,
            layer: subject.layer,
            policy: self.policy.as_deref(),
            rule: self.rule.as_deref(),
            method: subject.method,
            path: subject.path,
            operation: self.operation.as_deref().map(Asked::as_str),
            host: subject.authority.map(|a| a.host.to_string()),
            port: subject.authority.map(|a| a.port),
            binary: subject.binary,
            request_id: subject.request_id,
            middleware,
            payment: self.payment.as_deref(),
            next_steps: &self.next_steps,
        };
        serde_json::to_vec(&body).unwrap_or_else(|_| br#"{"error":"internal_error","reason_code":"internal_error"}"#.to_vec())
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.detail)
    }
}

/// What was refused, as far as it is known at that point.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Connection or request level.
    pub layer: Layer,
    /// The method, or `CONNECT`.
    pub method: Option<&'a str>,
    /// The canonical path, without query.
    pub path: Option<&'a str>,
    /// Where it would have gone.
    pub authority: Option<&'a Authority>,
    /// The calling binary.
    pub binary: Option<&'a str>,
    /// Joins the denial to its audit line.
    pub request_id: &'a str,
}

#[derive(Serialize)]
struct Body<'a> {
    error: &'static str,
    reason_code: &'static str,
    detail: &'a str,
    layer: Layer,
    policy: Option<&'a str>,
    rule: Option<&'a str>,
    method: Option<&'a str>,
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'a str>,
    host: Option<String>,
    port: Option<u16>,
    binary: Option<&'a str>,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    middleware: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment: Option<&'a PaymentFacts>,
    next_steps: &'a [String],
}

fn status(reason: Reason) -> StatusCode {
    match reason {
        Reason::MalformedRequest | Reason::PathNotCanonical => StatusCode::BAD_REQUEST,
        Reason::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Reason::HeadersTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        Reason::UpstreamTimeout => StatusCode::GATEWAY_TIMEOUT,
        Reason::UpstreamUnreachable | Reason::UpstreamTlsInvalid | Reason::NameNotResolved => StatusCode::BAD_GATEWAY,
        Reason::OverCapacity => StatusCode::SERVICE_UNAVAILABLE,
        Reason::InternalError | Reason::CredentialUnavailable => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::FORBIDDEN,
    }
}

fn error_word(reason: Reason) -> &'static str {
    match reason {
        Reason::AuthorityMismatch | Reason::SniMismatch => "request_authority_mismatch",
        Reason::UninspectableTraffic | Reason::H2cNotAllowed => "unsupported_l7_protocol",
        Reason::NestedConnect => "policy_denied",
        Reason::SelfTarget => "ssrf_denied",
        Reason::BodyTooLarge
        | Reason::PaymentSignerUnavailable
        | Reason::PaymentStoreUnavailable
        | Reason::VerdictUnavailable
        | Reason::VerdictInvalid => "middleware_failed",
        Reason::NameNotResolved => "upstream_unreachable",
        Reason::OverCapacity => "over_capacity",
        Reason::InternalError => "internal_error",
        _ => match reason.group() {
            Group::Route | Group::Rail => "policy_denied",
            Group::Request => "invalid_request_target",
            Group::Address => "ssrf_denied",
            Group::Payment | Group::Verdict => "middleware_denied",
            Group::Upstream => "upstream_unreachable",
            Group::Credential if reason == Reason::CredentialUnavailable => "credential_unavailable",
            Group::Credential => "credential_endpoint_mismatch",
            Group::Own => "internal_error",
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_reason_has_a_status_that_refuses_and_a_word_of_the_vocabulary() {
        let words = [
            "policy_denied",
            "ssrf_denied",
            "middleware_denied",
            "middleware_failed",
            "request_authority_mismatch",
            "unsupported_l7_protocol",
            "invalid_request_target",
            "upstream_unreachable",
            "credential_endpoint_mismatch",
            "credential_unavailable",
            "over_capacity",
            "internal_error",
        ];
        for reason in Reason::ALL {
            let denial = Denial::new(*reason, "why");
            assert!(denial.status().is_client_error() || denial.status().is_server_error(), "{reason}");
            assert_ne!(
                denial.status(),
                StatusCode::PAYMENT_REQUIRED,
                "a 402 of ours would make every SDK sign"
            );
            assert!(words.contains(&denial.error()), "{reason}");
        }
    }

    #[test]
    fn a_body_has_the_published_members() {
        let authority = Authority::parse("api.example.com:443", None).unwrap();
        let denial = Denial {
            policy: Some("api".into()),
            ..Denial::new(Reason::PathNotAllowed, "GET /admin is not allowed")
        };
        let subject = Subject {
            layer: Layer::L7,
            method: Some("GET"),
            path: Some("/admin"),
            authority: Some(&authority),
            binary: Some("/usr/bin/curl"),
            request_id: "r-1",
        };
        let body: serde_json::Value = serde_json::from_slice(&denial.body(&subject)).unwrap();
        assert_eq!(
            body,
            serde_json::json!({
                "error": "policy_denied", "reason_code": "path_not_allowed", "detail": "GET /admin is not allowed", "layer": "l7",
                "policy": "api", "rule": null, "method": "GET", "path": "/admin", "host": "api.example.com", "port": 443,
                "binary": "/usr/bin/curl", "request_id": "r-1", "next_steps": []
            })
        );
    }
}
