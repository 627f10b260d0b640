//! Host patterns of endpoints and of middleware selectors.
//!
//! `*` stays inside one label, `**` takes one label or more; so `*.example.com` never covers `example.com`. An address matches only the
//! pattern that names it, and `**`.

use std::fmt;

use thiserror::Error;

use super::glob::{Glob, tokenise};
use super::inclusion::{Inclusion, Language, included};
use super::intersect::parts_intersect;
use super::segmented::{Part, walk};
use crate::host::{Host, HostError};

/// Why a text is not a host pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HostPatternError {
    /// Without a wildcard it has to be a host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// `*` or `**` as an endpoint's host.
    #[error("a bare wildcard would cover every host")]
    BareWildcard,
    /// `*.com`.
    #[error("the wildcard stands directly below a top-level domain")]
    TopLevelWildcard,
    /// `**` not as the whole first label (endpoint), or not as a whole label (selector).
    #[error("`**` may only be a whole label, and in endpoints only the first")]
    MisplacedRecursive,
    /// `foo*.x.*bar.com`.
    #[error("a label after the first may be `*`, but not contain it")]
    PartialWildcard,
    /// A character that no host name has.
    #[error("the pattern has a character that no host name has")]
    BadCharacter,
    /// An empty label or a trailing dot.
    #[error("the pattern has an empty label or a trailing dot")]
    EmptyLabel,
    /// Longer than a host may be.
    #[error("the pattern is longer than 253 characters")]
    TooLong,
}

/// A host, or a pattern of hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    text: Box<str>,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Exact(Host),
    Labels {
        parts: Box<[Part]>,
        tail: Box<str>,
    },
    /// `**` alone: any name and any address.
    Anything,
}

impl HostPattern {
    /// An endpoint's host: at least two whole labels must stand to the right of the last wildcard.
    pub fn parse_endpoint(text: &str) -> Result<Self, HostPatternError> {
        if !text.contains('*') {
            return Self::exact(text);
        }
        if matches!(text, "*" | "**") {
            return Err(HostPatternError::BareWildcard);
        }
        let lower = well_formed(text)?;
        for (index, label) in lower.split('.').enumerate() {
            let recursive = label.contains("**");
            if recursive && (index > 0 || label != "**") {
                return Err(HostPatternError::MisplacedRecursive);
            }
            if index > 0 && label.contains('*') && label != "*" {
                return Err(HostPatternError::PartialWildcard);
            }
        }
        let pattern = Self::labels(lower);
        if pattern.tail().is_none_or(|tail| !tail.contains('.')) {
            return Err(HostPatternError::TopLevelWildcard);
        }
        Ok(pattern)
    }

    /// A middleware selector's host: wildcards anywhere, and `**` alone for any host.
    pub fn parse_selector(text: &str) -> Result<Self, HostPatternError> {
        if text == "**" {
            return Ok(HostPattern {
                text: "**".into(),
                kind: Kind::Anything,
            });
        }
        if !text.contains('*') {
            return Self::exact(text);
        }
        let lower = well_formed(text)?;
        if lower.split('.').any(|label| label.contains("**") && label != "**") {
            return Err(HostPatternError::MisplacedRecursive);
        }
        Ok(Self::labels(lower))
    }

    fn exact(text: &str) -> Result<Self, HostPatternError> {
        let host = Host::parse(text)?;
        Ok(HostPattern {
            text: host.to_string().into_boxed_str(),
            kind: Kind::Exact(host),
        })
    }

    fn labels(lower: String) -> Self {
        let mut parts = Vec::new();
        for label in lower.split('.') {
            // The characters were checked, so the label holds stars and literals only.
            let tokens = tokenise(label).unwrap_or_default();
            parts.push(Part::Segment(Glob::from_tokens(tokens)));
            if label == "**" {
                parts.push(Part::Any);
            }
        }
        let tail = match lower.rfind('*').map(|star| lower.split_at(star)) {
            Some((_, after)) => after.split_once('.').map_or("", |(_, tail)| tail),
            None => "",
        };
        HostPattern {
            kind: Kind::Labels {
                parts: parts.into_boxed_slice(),
                tail: tail.into(),
            },
            text: lower.into_boxed_str(),
        }
    }

    /// Whether the host is one of the pattern's.
    pub fn matches(&self, host: &Host) -> bool {
        match (&self.kind, host) {
            (Kind::Anything, _) => true,
            (Kind::Exact(own), host) => own == host,
            (Kind::Labels { parts, .. }, Host::Name(name)) => walk(parts, name.as_bytes(), b'.'),
            (Kind::Labels { .. }, Host::Address(_)) => false,
        }
    }

    /// Whether some host is one of both.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Anything, _) | (_, Kind::Anything) => true,
            (Kind::Exact(host), _) => other.matches(host),
            (_, Kind::Exact(host)) => self.matches(host),
            (Kind::Labels { parts: a, .. }, Kind::Labels { parts: b, .. }) => parts_intersect(a, b),
        }
    }

    /// Whether every host of the other pattern is one of this. Errs on the side of no.
    pub fn covers(&self, other: &Self) -> bool {
        if let Kind::Exact(host) = &other.kind {
            return self.matches(host);
        }
        let below = self.text.strip_prefix("**.").filter(|base| !base.contains('*'));
        self.is_any()
            || self.text == other.text
            || below.is_some_and(|base| other.text.strip_suffix(base).is_some_and(|rest| rest.ends_with('.')))
    }

    /// Whether every host of the other pattern is one of this, as far as that can be found out.
    pub(crate) fn includes(&self, other: &Self) -> Inclusion {
        let answer = |yes| if yes { Inclusion::Included } else { Inclusion::NotIncluded };
        match (&self.kind, &other.kind) {
            (Kind::Anything, _) => Inclusion::Included,
            (_, Kind::Exact(host)) => answer(self.matches(host)),
            (Kind::Exact(_), _) | (_, Kind::Anything) => Inclusion::NotIncluded,
            // Names of the one end in labels that those of the other don't.
            (Kind::Labels { tail: own, .. }, Kind::Labels { tail: others, .. }) if !others.ends_with(&**own) => Inclusion::NotIncluded,
            (Kind::Labels { parts: own, .. }, Kind::Labels { parts: others, .. }) => {
                let language = |parts| Language::Parts { parts, separator: b'.' };
                included(&[language(others)], &[vec![language(own)]], None)
            }
        }
    }

    /// Whether the pattern is `**`.
    pub fn is_any(&self) -> bool {
        self.kind == Kind::Anything
    }

    /// The host, if the pattern is one.
    pub fn as_exact(&self) -> Option<&Host> {
        match &self.kind {
            Kind::Exact(host) => Some(host),
            _ => None,
        }
    }

    /// The whole labels right of the last wildcard, where there are any.
    pub(crate) fn tail(&self) -> Option<&str> {
        match &self.kind {
            Kind::Labels { tail, .. } if !tail.is_empty() => Some(tail),
            _ => None,
        }
    }

    /// The name that a pattern such as `*.example.com` leaves out: `example.com`.
    pub fn apex(&self) -> Option<&str> {
        self.text
            .strip_prefix("**.")
            .or_else(|| self.text.strip_prefix("*."))
            .filter(|rest| !rest.contains('*'))
    }

    /// As written, in lower case.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn well_formed(text: &str) -> Result<String, HostPatternError> {
    if text.len() > 253 {
        return Err(HostPatternError::TooLong);
    }
    if !text
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'*'))
    {
        return Err(HostPatternError::BadCharacter);
    }
    if text.split('.').any(str::is_empty) {
        return Err(HostPatternError::EmptyLabel);
    }
    Ok(text.to_ascii_lowercase())
}
