//! `policy.yaml`: the document, its diagnostics, canonical hosts, paths and queries, and one pure `decide()`.
//!
//! Nothing in this crate does I/O or knows of proxies, TLS or payments. `run`, `explain`, `test`, `suggest` and the gRPC service
//! all decide through it, so a dry run can't disagree with the runtime.
//!
//! The way through the house: [`load()`] reads a file into a document, validates it and compiles it into a [`Policy`]; a request's
//! target becomes a [`Target`] and a [`CanonicalPath`]; [`Policy::decide`] judges; where it says that the body decides, a
//! [`BodyReading`] makes [`Operation`]s of it, and [`Policy::decide_each`] judges those; [`check_addresses`] judges where it is dialled.

pub mod address;
pub mod compare;
pub mod decide;
pub mod diagnostic;
mod document;
pub mod effective;
pub mod host;
pub mod json;
pub mod load;
pub mod matcher;
pub mod operation;
pub mod path;
pub mod policy;
pub mod query;
pub mod reason;
pub mod schema;
pub mod source;
pub mod suggest;
pub mod target;
mod validate;
pub mod yaml;

pub use address::{AddressClass, AddressRefusal, AddressScope, LoopbackDial, check_addresses};
pub use decide::{
    Action, Caller, Candidate, Decision, Explanation, Facts, HttpFacts, Inspection, Messages, Outcome, Process, Refusal, RuleLabel,
    RuleList, RuleTrace, Treatment, WEBSOCKET_TEXT,
};
pub use diagnostic::{Code, Diagnostic, Position, Severity, Style};
pub use host::{Authority, Host, HostError};
pub use load::{ConfigFault, Limits, Loaded, MiddlewareSchema, load, load_within};
pub use matcher::HostPattern;
pub use operation::{BodyProtocol, BodyReading, Media, Operation, OperationError, Sent, ToolNames};
pub use path::{CanonicalPath, EncodedSlash, PathError};
pub use policy::{BinaryView, EndpointView, Enforcement, Middleware, OnError, Policy, Protocol, Selection, Tls};
pub use reason::{Group, Reason};
pub use source::{Source, SourceId, Sources};
pub use target::{AbsoluteForm, Target};
