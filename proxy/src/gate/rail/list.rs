//! The built-in list, as data: `rails.json`, each entry with the source that names it.

use serde::Deserialize;
use tollgate_policy::Reason;

use super::RailsError;

const DATA: &str = include_str!("rails.json");

/// The whole list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Hosts that are rails as a whole.
    pub hosts: Vec<HostEntry>,
    /// DNS labels that mark a rail wherever they stand in a name.
    pub labels: Vec<LabelEntry>,
    /// Paths that are rails on one host, or on any.
    pub paths: Vec<PathEntry>,
    /// JSON-RPC methods that sign or broadcast.
    pub methods: Vec<MethodEntry>,
    /// HTTP authentication schemes that pay.
    pub schemes: Vec<SchemeEntry>,
    /// Header names that pay.
    pub headers: Vec<HeaderEntry>,
}

/// What a rail does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Verifies and settles x402 payments.
    Facilitator,
    /// Takes signed transactions.
    Broadcast,
    /// Moves money by an API of its own.
    Transfer,
    /// Signs with a key it keeps.
    Signer,
}

impl Kind {
    /// The reason for a request that is recognised by its path.
    pub(crate) const fn reason(self) -> Reason {
        match self {
            Kind::Facilitator => Reason::RailFacilitatorCall,
            Kind::Broadcast | Kind::Signer => Reason::RailBroadcast,
            Kind::Transfer => Reason::RailPaymentScheme,
        }
    }

    pub(crate) const fn detail(self) -> &'static str {
        match self {
            Kind::Facilitator => "a payment facilitator",
            Kind::Broadcast => "takes signed transactions",
            Kind::Transfer => "moves money by its own API",
            Kind::Signer => "signs with a key it keeps",
        }
    }
}

/// How a text is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// Equal.
    Exact,
    /// Begins with it (a path: at a segment's end).
    Prefix,
    /// Ends with it (a path: at a segment's start).
    Suffix,
    /// Has it anywhere.
    Contains,
}

/// A host; `*.name` means every name below.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostEntry {
    /// Lower-case name.
    pub host: Box<str>,
    /// What it does.
    pub kind: Kind,
    /// Who names it.
    pub source: Box<str>,
}

/// A label.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelEntry {
    /// Lower-case label.
    pub label: Box<str>,
    /// Who names it.
    pub source: Box<str>,
}

/// A path; `*` stands for one segment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathEntry {
    /// On this host only, or on any.
    pub host: Option<Box<str>>,
    /// HTTP method, or `*`.
    pub method: Box<str>,
    /// The path.
    pub path: Box<str>,
    /// How it is compared.
    #[serde(rename = "match")]
    pub how: Match,
    /// What it does.
    pub kind: Kind,
    /// Who names it.
    pub source: Box<str>,
}

/// A JSON-RPC method.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodEntry {
    /// The method, or what it begins with.
    pub name: Box<str>,
    /// How it is compared.
    #[serde(rename = "match")]
    pub how: Match,
    /// For a name that others use too: one of these members has to be in the parameters.
    #[serde(default)]
    pub needs: Vec<Box<str>>,
    /// Whose method it is.
    pub source: Box<str>,
}

/// An authentication scheme.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemeEntry {
    /// Lower-case.
    pub scheme: Box<str>,
    /// Whose it is.
    pub source: Box<str>,
}

/// A header name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderEntry {
    /// Lower-case.
    pub name: Box<str>,
    /// How it is compared.
    #[serde(rename = "match")]
    pub how: Match,
    /// Whose it is.
    pub source: Box<str>,
}

impl List {
    /// Reads the list that is compiled in.
    pub fn built_in() -> Result<Self, RailsError> {
        serde_json::from_str(DATA).map_err(|error| RailsError::BuiltIn(error.to_string()))
    }
}
