//! A policy that loaded: what `decide` works on.
//!
//! In: a document without errors. Out: rules and endpoints in the order of their keys, with every glob parsed and every host in an
//! [`Index`](index::Index), so that deciding never scans and never parses.

mod binaries;
mod body;
mod endpoint;
mod graphql;
mod index;
mod json_rpc;
mod mcp;
mod middleware;
mod rest;
mod sandbox;
mod websocket;

use std::sync::Arc;

use crate::diagnostic::Position;

pub use endpoint::{EndpointView, Enforcement, Protocol, Tls};
pub use middleware::{Middleware, OnError, Selection};
pub use sandbox::{FilesystemPolicy, Landlock, ProcessIdentity, Sandbox};

pub(crate) use binaries::{Binaries, Binary, BinaryMatch};
pub(crate) use body::{BodyRules, Held, Judgement, OperationRules};
pub(crate) use endpoint::{Endpoint, Traffic};
pub(crate) use graphql::{GraphqlRule, GraphqlRules};
pub(crate) use index::{HostLevel, Index};
pub(crate) use json_rpc::{JsonRpcRule, JsonRpcRules};
pub(crate) use mcp::{McpRule, McpRules, OtherMethods};
pub(crate) use rest::{AllowRule, DenyRule, Fit, QueryMatcher, RestRules};
pub(crate) use websocket::SocketRules;

/// A loaded policy. Immutable and shared; a reload makes another one.
#[derive(Debug)]
pub struct Policy {
    rules: Vec<Rule>,
    endpoints: Vec<Arc<Endpoint>>,
    index: Index,
    middlewares: Vec<Middleware>,
    sandbox: Sandbox,
}

/// A network rule; rules are sorted by key, so that comparing ids compares keys.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) key: Arc<str>,
    pub(crate) binaries: Binaries,
    /// As listed, for those who look at a policy as a whole.
    pub(crate) listed: Box<[(Box<str>, Position)]>,
}

/// An entry of a rule's `binaries`.
#[derive(Debug, Clone, Copy)]
pub struct BinaryView<'a> {
    /// The path or glob as written.
    pub path: &'a str,
    /// Where it stands.
    pub at: Position,
}

/// The place of a rule among the sorted keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RuleId(pub(crate) u32);

/// The place of an endpoint in the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EndpointId(pub(crate) u32);

impl Policy {
    /// Rules must come sorted by key, endpoints with ids that follow their order.
    pub(crate) fn new(rules: Vec<Rule>, endpoints: Vec<Endpoint>, middlewares: Vec<Middleware>, sandbox: Sandbox) -> Self {
        let endpoints: Vec<Arc<Endpoint>> = endpoints.into_iter().map(Arc::new).collect();
        let index = Index::build(&endpoints);
        Policy {
            rules,
            endpoints,
            index,
            middlewares,
            sandbox,
        }
    }

    /// A policy that lists nothing: everything is denied with `no_policy`.
    pub fn deny_all() -> Self {
        Policy::new(Vec::new(), Vec::new(), Vec::new(), Sandbox::default())
    }

    /// The policy with, for each listed binary, the path that `resolve` knows it by as well: the target of a symbolic link, which is
    /// what the system reports for a running process. Matching itself stays free of I/O.
    #[must_use]
    pub fn with_binary_aliases(mut self, resolve: impl Fn(&str) -> Option<String>) -> Self {
        for rule in &mut self.rules {
            rule.binaries.add_aliases(&resolve);
        }
        self
    }

    /// Whether no rule lists any endpoint.
    pub fn is_empty(&self) -> bool {
        self.endpoints.is_empty()
    }

    /// The number of network rules.
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// The keys of the network rules, sorted.
    pub fn rule_keys(&self) -> impl Iterator<Item = &str> {
        self.rules.iter().map(|rule| &*rule.key)
    }

    /// The number of endpoints of all rules.
    pub fn endpoint_count(&self) -> usize {
        self.endpoints.len()
    }

    /// Every endpoint, sorted by rule key, then in the order of the file.
    pub fn endpoints(&self) -> impl Iterator<Item = EndpointView<'_>> {
        self.endpoints.iter().map(|endpoint| EndpointView::new(endpoint))
    }

    /// Every binary that a rule lists, sorted by rule key, then in the order of the file.
    pub fn binaries(&self) -> impl Iterator<Item = BinaryView<'_>> {
        let listed = self.rules.iter().flat_map(|rule| &rule.listed);
        listed.map(|(path, at)| BinaryView { path, at: *at })
    }

    /// The middlewares, by ascending `order`.
    pub fn middlewares(&self) -> &[Middleware] {
        &self.middlewares
    }

    /// The static sections, which the supervisor enforces.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// In the order of their ids.
    pub(crate) fn all_endpoints(&self) -> &[Arc<Endpoint>] {
        &self.endpoints
    }

    pub(crate) fn index(&self) -> &Index {
        &self.index
    }

    pub(crate) fn endpoint(&self, id: EndpointId) -> Option<&Arc<Endpoint>> {
        self.endpoints.get(id.0 as usize)
    }

    pub(crate) fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.rules.get(id.0 as usize)
    }
}
