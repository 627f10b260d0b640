//! The audit event: what was decided about one request, in fields that have no room for a secret.
//!
//! Every key is always present, `null` where it does not apply, so that a reader never has to guess.
// Of the code that serde generates.
#![allow(clippy::ref_option_ref)]

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tollgate_policy::{Host, Operation, Reason};

use super::id::{ConnectionId, RequestId};
use super::line;
use super::vocabulary::{Adapter, Decision, PaymentOutcome, Protocol, Scheme, VerdictBackend, VerdictOutcome};

/// The longest path a line holds, in bytes; what is longer is cut and ends in `…`.
const LONGEST_PATH: usize = 4096;

/// A request's path without query and fragment, where keys and tokens live: the cut is made here, so no caller can forget it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestPath<'a>(&'a str);

impl<'a> RequestPath<'a> {
    /// The path of a request target in origin form.
    pub fn of(target: &'a str) -> Self {
        let end = target.find(['?', '#']).unwrap_or(target.len());
        RequestPath(target.get(..end).unwrap_or_default())
    }

    /// The path.
    pub fn as_str(&self) -> &'a str {
        self.0
    }
}

impl Serialize for RequestPath<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.len() <= LONGEST_PATH {
            return serializer.serialize_str(self.0);
        }
        let cut = (0..=LONGEST_PATH).rev().find(|at| self.0.is_char_boundary(*at)).unwrap_or(0);
        serializer.collect_str(&format_args!("{}…", self.0.get(..cut).unwrap_or_default()))
    }
}

/// The process behind the connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Process {
    /// The executable's resolved path.
    pub binary: String,
    /// The process id as Tollgate sees it.
    pub pid: u32,
    /// The executables of its parents, nearest first.
    pub ancestors: Vec<String>,
}

/// One payment, named but not shown: what was judged, and hashes that join it to other records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PaymentRecord {
    /// `1` or `2`.
    pub version: String,
    /// `exact`.
    pub scheme: String,
    /// CAIP-2.
    pub network: String,
    /// The token contract.
    pub asset: String,
    /// In the asset's smallest unit.
    pub amount: String,
    /// The signed `to`.
    pub payee: String,
    /// The signed `from`.
    pub payer: String,
    /// SHA-256 of the payment header, hex.
    pub payment_hash: String,
    /// SHA-256 of the authorisation's replay key, hex.
    pub nonce_hash: String,
    /// SHA-256 of the payment identifier, hex, where one was sent.
    pub identifier_hash: Option<String>,
    /// What became of it, where the origin answered; as the seller says, and unproved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<PaymentOutcome>,
    /// The transaction that the seller names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction: Option<String>,
}

/// What the verdict service said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerdictRecord {
    /// Which service.
    pub backend: VerdictBackend,
    /// Its answer.
    pub verdict: VerdictOutcome,
    /// The service's own name for the verdict; never its report token.
    pub receipt_id: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(rename = "latency_ms", serialize_with = "line::milliseconds")]
    pub latency: Duration,
}

/// One decision.
#[derive(Debug, Clone, Serialize)]
pub struct Event<'a> {
    /// When the request was decided on; UTC, RFC 3339 with milliseconds.
    #[serde(serialize_with = "line::timestamp")]
    pub time: SystemTime,
    /// The same id that the answer carries.
    pub request_id: RequestId,
    /// The client connection.
    pub connection: ConnectionId,
    /// The generation of the policy that decided.
    pub generation: u64,
    /// The client process, where it is known.
    pub process: Option<&'a Process>,
    /// How the request came in.
    pub adapter: Adapter,
    /// What was spoken.
    pub protocol: Option<Protocol>,
    /// The request's method.
    pub method: Option<&'a str>,
    /// `http` or `https`; `None` before it is known (CONNECT, opaque bytes).
    pub scheme: Option<Scheme>,
    /// The canonical host; `None` when the request was too malformed to tell.
    #[serde(serialize_with = "line::host")]
    pub host: Option<&'a Host>,
    /// The port.
    pub port: Option<u16>,
    /// Path, without query.
    pub path: Option<RequestPath<'a>>,
    /// What was decided.
    pub decision: Decision,
    /// Why, unless it was let out.
    #[serde(serialize_with = "line::reason")]
    pub reason_code: Option<Reason>,
    /// The policy that decided.
    pub policy: Option<&'a str>,
    /// The rule in it.
    pub rule: Option<&'a str>,
    /// What the body asked for, where the rules are about that: the operation, call or tool that decided, or all of them. Names only.
    pub operation: Option<&'a str>,
    /// All of that, each once and in full; `None` where there is none, or where it is more than a line should hold.
    pub operations: Option<&'a [Operation]>,
    /// On the last line of a WebSocket: how many of the client's messages were judged as a whole and passed.
    pub messages: Option<u64>,
    /// The addresses the host resolved to, as far as they were asked for.
    pub addresses: &'a [IpAddr],
    /// The payment in the request.
    pub payment: Option<&'a PaymentRecord>,
    /// The verdict on it.
    pub verdict: Option<&'a VerdictRecord>,
    /// The status the client was given.
    pub status: Option<u16>,
    /// Body bytes from the client to the origin.
    pub bytes_up: u64,
    /// Body bytes from the origin to the client.
    pub bytes_down: u64,
    /// From head to settlement, in milliseconds.
    #[serde(rename = "duration_ms", serialize_with = "line::milliseconds")]
    pub duration: Duration,
}

impl<'a> Event<'a> {
    /// An event of now that knows nothing yet but who asked and what was decided.
    pub fn new(request_id: RequestId, connection: ConnectionId, adapter: Adapter, decision: Decision) -> Event<'a> {
        Event {
            time: SystemTime::now(),
            request_id,
            connection,
            generation: 0,
            process: None,
            adapter,
            protocol: None,
            method: None,
            scheme: None,
            host: None,
            port: None,
            path: None,
            decision,
            reason_code: None,
            policy: None,
            rule: None,
            operation: None,
            operations: None,
            messages: None,
            addresses: &[],
            payment: None,
            verdict: None,
            status: None,
            bytes_up: 0,
            bytes_down: 0,
            duration: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests;
