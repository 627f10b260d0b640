//! From a document to a policy: does what it says make sense, and is it enforceable?
//!
//! In: a [`Document`]. Out: the compiled policy and findings, all of them at once. Every part is validated and compiled in one go, so
//! that nothing can be checked in one reading and enforced in another.

mod addresses;
mod ambiguity;
mod body;
mod endpoint;
mod graphql;
mod json_rpc;
mod lint;
mod lists;
mod mcp;
mod middleware;
pub(crate) mod pattern;
mod rest;
mod rule;
mod sandbox;
mod websocket;

pub(crate) use body::DEFAULT_LIMIT;

use crate::diagnostic::{Code, Diagnostics};
use crate::document::Document;
use crate::load::MiddlewareSchema;
use crate::policy::Policy;

/// The policy; of use only if nothing was found to be an error.
pub(crate) fn validate(document: Document, schema: &dyn MiddlewareSchema, found: &mut Diagnostics) -> Policy {
    for version in document.versions.iter().filter(|version| version.value != 1) {
        found.error(
            Code::UnsupportedVersion,
            version.at,
            format!("version {} is not supported", version.value),
            "write `version: 1`",
        );
    }
    // Where something could not be read, it may have been the rules.
    if document.rules.is_empty() && !found.has_errors() {
        found.warn(
            Code::NoPolicies,
            document.at,
            "the policy lists no rule, so every connection is denied",
            "list what may leave under `network_policies`",
        );
    }
    let sandbox = sandbox::compile(document.filesystem, document.landlock, document.process, found);
    let (rules, endpoints) = rule::compile(document.rules, found);
    let middlewares = middleware::compile(document.middlewares, schema, found);
    ambiguity::check(&endpoints, found);
    middleware::check_reach(&middlewares, &endpoints, found);
    lint::apexes(&endpoints, found);
    Policy::new(rules, endpoints, middlewares, sandbox)
}
