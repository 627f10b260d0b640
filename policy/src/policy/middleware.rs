//! `network_middlewares`: which hosts a middleware looks at, and with what configuration.

use crate::diagnostic::Position;
use crate::host::Host;
use crate::matcher::HostPattern;

/// What happens when the middleware fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The request is refused.
    #[default]
    FailClosed,
    /// The request goes on without it.
    FailOpen,
}

/// Whether a middleware looks at a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// Named by `include`, and not by `exclude`.
    Included,
    /// Named by `exclude`.
    Excluded,
    /// Named by neither.
    NotNamed,
}

/// One stanza.
#[derive(Debug, Clone)]
pub struct Middleware {
    /// The stanza's key.
    pub key: String,
    /// Shown in denials; the key unless the stanza gives another.
    pub name: String,
    /// The registered service, such as `tollgate/x402`.
    pub middleware: String,
    /// Middlewares run in ascending order.
    pub order: i32,
    /// On failure.
    pub on_error: OnError,
    /// Validated by the middleware's own schema.
    pub config: serde_json::Value,
    /// Where `config` begins; where it is absent, the stanza.
    pub config_at: Position,
    /// Where the stanza begins.
    pub at: Position,
    pub(crate) include: Vec<HostPattern>,
    pub(crate) exclude: Vec<HostPattern>,
}

impl Middleware {
    /// Whether the middleware looks at this host; `exclude` wins.
    pub fn selects(&self, host: &Host) -> Selection {
        if self.exclude.iter().any(|pattern| pattern.matches(host)) {
            Selection::Excluded
        } else if self.include.iter().any(|pattern| pattern.matches(host)) {
            Selection::Included
        } else {
            Selection::NotNamed
        }
    }

    /// The hosts it looks at, as written.
    pub fn include(&self) -> &[HostPattern] {
        &self.include
    }

    /// The hosts it leaves out, as written.
    pub fn exclude(&self) -> &[HostPattern] {
        &self.exclude
    }
}
