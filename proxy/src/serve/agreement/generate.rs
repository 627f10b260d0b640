//! Policies and requests over a small world, so that they meet: a handful of hosts, two ports, a few paths, a few names of operations.
//!
//! By hand and not by proptest: nothing is shrunk, and its value trees would take more time than everything that is tested.

mod bodies;
mod kinds;
mod policies;
mod requests;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use rand::Rng;
use rand::seq::IndexedRandom;

pub(super) use kinds::KINDS;
pub(super) use policies::policy;
pub(super) use requests::request;

/// What a request looks like, whether or not it is sent where that is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Plain,
    Graphql,
    JsonRpc,
    Mcp,
    /// A text message on the WebSocket that a GET opens.
    Message,
}

impl Shape {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Shape::Plain => "plain",
            Shape::Graphql => "graphql",
            Shape::JsonRpc => "json-rpc",
            Shape::Mcp => "mcp",
            Shape::Message => "message",
        }
    }
}

/// A request, or a message after the request that opens its WebSocket.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) shape: Shape,
    /// Of the request: GET for a message.
    pub(super) method: Method,
    pub(super) https: bool,
    pub(super) host: &'static str,
    pub(super) port: u16,
    pub(super) target: &'static str,
    pub(super) fields: Vec<(&'static str, &'static str)>,
    /// Or what the message says.
    pub(super) body: Bytes,
    pub(super) binary: Option<&'static str>,
    pub(super) ancestor: Option<&'static str>,
}

impl Asked {
    pub(super) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    pub(super) fn url(&self) -> String {
        let scheme = if self.https { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority(), self.target)
    }

    pub(super) fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let field = |(name, value): &(&'static str, &'static str)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        self.fields.iter().map(field).collect()
    }

    pub(super) fn has_field(&self, name: &str) -> bool {
        self.fields.iter().any(|(own, _)| *own == name)
    }
}

fn pick<T: Clone>(rng: &mut impl Rng, of: &[T]) -> T {
    of.choose(rng).unwrap().clone()
}
