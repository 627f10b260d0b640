//! The rules of a `rest` endpoint.

use std::borrow::Cow;

use crate::decide::{HttpFacts, RuleLabel};
use crate::matcher::{MethodMatcher, SegmentedGlob};
use crate::query;

/// What may be sent, and what may not all the same.
#[derive(Debug)]
pub(crate) struct RestRules {
    pub(crate) allow: Box<[AllowRule]>,
    pub(crate) deny: Box<[DenyRule]>,
}

/// One allow rule; an `access` preset is several of them.
#[derive(Debug)]
pub(crate) struct AllowRule {
    pub(crate) label: RuleLabel,
    pub(crate) method: MethodMatcher,
    pub(crate) path: SegmentedGlob,
    pub(crate) query: Box<[QueryMatcher]>,
}

/// One deny rule.
#[derive(Debug)]
pub(crate) struct DenyRule {
    pub(crate) label: RuleLabel,
    pub(crate) method: MethodMatcher,
    /// Held against every reading of the path.
    pub(crate) path: SegmentedGlob,
    pub(crate) query: Box<[QueryMatcher]>,
}

/// How far a request gets with an allow rule; more is nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    /// The path is another one.
    OtherPath,
    /// The path fits, the method does not.
    OtherMethod,
    /// Path and method fit, the query does not.
    OtherQuery,
    /// All but the operation in the message fits.
    OtherOperation,
    /// All of it fits.
    Fits,
}

impl AllowRule {
    pub(crate) fn fit(&self, request: &HttpFacts<'_>) -> Fit {
        if !self.path.matches(request.path.as_str().as_bytes()) {
            Fit::OtherPath
        } else if !self.method.matches(request.method) {
            Fit::OtherMethod
        } else if !self.query.iter().all(|matcher| matcher.allows(request.query)) {
            Fit::OtherQuery
        } else {
            Fit::Fits
        }
    }
}

impl DenyRule {
    pub(crate) fn forbids(&self, request: &HttpFacts<'_>) -> bool {
        self.fit(request) == Fit::Fits
    }

    pub(crate) fn fit(&self, request: &HttpFacts<'_>) -> Fit {
        if !request.path.readings().any(|reading| self.path.matches(reading.as_bytes())) {
            Fit::OtherPath
        } else if !self.method.matches(request.method) {
            Fit::OtherMethod
        } else if !self.query.iter().all(|matcher| matcher.denies(request.query)) {
            Fit::OtherQuery
        } else {
            Fit::Fits
        }
    }
}

/// A query key and the globs for its values. The separator is `.`: `1.*` matches `1.2`, not `1.2.3`.
#[derive(Debug)]
pub(crate) struct QueryMatcher {
    pub(crate) name: Box<str>,
    pub(crate) globs: Box<[SegmentedGlob]>,
}

impl QueryMatcher {
    /// In an allow rule the key must be there, and every one of its values must match: which of several an origin takes is unknown.
    fn allows(&self, query: Option<&str>) -> bool {
        let mut values = self.values(query).peekable();
        values.peek().is_some() && values.all(|value| self.matches(&value))
    }

    /// In a deny rule any value is enough.
    fn denies(&self, query: Option<&str>) -> bool {
        self.values(query).any(|value| self.matches(&value))
    }

    fn values<'q>(&'q self, query: Option<&'q str>) -> impl Iterator<Item = Cow<'q, [u8]>> {
        query::pairs(query.unwrap_or_default())
            .filter(|(name, _)| **name == *self.name.as_bytes())
            .map(|(_, value)| value)
    }

    fn matches(&self, value: &[u8]) -> bool {
        self.globs.iter().any(|glob| glob.matches(value))
    }
}
