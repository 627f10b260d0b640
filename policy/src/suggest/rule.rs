//! Rules as they are proposed: serialised, an entry of `network_policies`.

use serde::Serialize;

use super::adopt::Adopted;
use crate::path::EncodedSlash;
use crate::policy::{Enforcement, Tls};

/// One new rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedRule {
    /// Its key.
    pub key: String,
    /// What stands under the key.
    pub entry: SuggestedEntry,
    /// What an author should know before taking it over.
    pub stands: Vec<Stands>,
}

/// Why a rule is wider than the requests that were seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stands {
    /// Nobody looked who was calling.
    AnyProgram,
    /// Only the connection was seen, and no request in it.
    ConnectionOnly,
    /// Bytes that are not HTTP were seen.
    Bytes,
    /// The program connected, and is given what the others were seen to request.
    Borrowed,
    /// The policy's own endpoints for the host only audit.
    Audits,
}

/// The value of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SuggestedEntry {
    /// Where to.
    pub endpoints: Vec<SuggestedEndpoint>,
    /// Who.
    pub binaries: Vec<SuggestedBinary>,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SuggestedBinary {
    /// Its path, or `/**` for any.
    pub path: String,
}

/// A host on one or several ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SuggestedEndpoint {
    /// Exact.
    pub host: String,
    #[serde(flatten)]
    ports: Ports,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<Tls>,
    #[serde(flatten)]
    requests: Option<Requests>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allowed_ips: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Ports {
    Port(u16),
    Ports(Vec<u16>),
}

/// What may be requested, where requests are read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Requests {
    protocol: &'static str,
    enforcement: Enforcement,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    allow_encoded_slash: bool,
    rules: Vec<AllowedRequest>,
}

/// One entry of `rules`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AllowedRequest {
    allow: Matcher,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Matcher {
    method: String,
    path: String,
}

impl AllowedRequest {
    pub(super) fn new(method: &str, path: String) -> Self {
        AllowedRequest {
            allow: Matcher {
                method: method.to_owned(),
                path,
            },
        }
    }

    pub(super) fn by_path(&self) -> (&str, &str) {
        (&self.allow.path, &self.allow.method)
    }
}

/// An endpoint without its host and ports: what is the same for several of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Body {
    /// `None`: whatever is sent.
    pub(super) requests: Option<Vec<AllowedRequest>>,
    pub(super) encoded_slash: EncodedSlash,
    pub(super) adopted: Adopted,
}

impl SuggestedEndpoint {
    pub(super) fn new(host: &str, ports: Vec<u16>, body: Body) -> Self {
        let Body {
            requests,
            encoded_slash,
            adopted,
        } = body;
        SuggestedEndpoint {
            host: host.to_owned(),
            ports: match *ports {
                [port] => Ports::Port(port),
                _ => Ports::Ports(ports),
            },
            tls: (adopted.tls == Tls::Skip).then_some(Tls::Skip),
            requests: requests.map(|rules| Requests {
                protocol: "rest",
                enforcement: adopted.enforcement,
                allow_encoded_slash: adopted.encoded_slash.unwrap_or(encoded_slash) == EncodedSlash::Keep,
                rules,
            }),
            allowed_ips: adopted.allowed_ips,
        }
    }
}
