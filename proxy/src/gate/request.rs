//! What the rules look at: one request, or the head of a CONNECT, in types of `http` and of the policy.

use http::{HeaderMap, Method};
use tollgate_policy::CanonicalPath;

use super::Caller;
use crate::egress::Destination;

/// See the module.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Where it goes.
    pub destination: &'a Destination,
    /// Its method.
    pub method: &'a Method,
    /// What the origin will read.
    pub path: &'a CanonicalPath,
    /// Verbatim, without `?`.
    pub query: Option<&'a str>,
    /// All fields as the client sent them.
    pub headers: &'a HeaderMap,
    /// Who asks.
    pub caller: &'a Caller,
}
