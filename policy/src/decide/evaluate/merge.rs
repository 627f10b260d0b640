//! What all candidates together come to.

use std::borrow::Cow;
use std::sync::Arc;

use super::Step;
use crate::address::AddressScope;
use crate::decide::{Inspection, RuleLabel, Treatment};
use crate::path::EncodedSlash;
use crate::policy::{BinaryMatch, Endpoint, Enforcement, Fit, RuleId, Tls, Traffic};
use crate::reason::Reason;

/// The candidate with the smallest key.
pub(super) struct Best<'a, K> {
    best: Option<(K, &'a Arc<Endpoint>)>,
}

impl<K> Default for Best<'_, K> {
    fn default() -> Self {
        Best { best: None }
    }
}

impl<'a, K: Ord> Best<'a, K> {
    pub(super) fn offer(&mut self, key: K, endpoint: &'a Arc<Endpoint>) {
        let better = self.best.as_ref().is_none_or(|(best, own)| (&key, endpoint.id) < (best, own.id));
        if better {
            self.best = Some((key, endpoint));
        }
    }

    pub(super) fn get(&self) -> Option<&'a Arc<Endpoint>> {
        self.best.as_ref().map(|(_, endpoint)| *endpoint)
    }
}

/// Ordered by nearness, then by rule.
type Nearness = (std::cmp::Reverse<Fit>, RuleId);

/// The outcome of all candidates.
pub(super) enum Verdict<'a> {
    OtherBinary,
    Allowed {
        endpoint: &'a Arc<Endpoint>,
        label: Option<RuleLabel>,
    },
    Refused {
        reason: Reason,
        endpoint: Option<&'a Arc<Endpoint>>,
        label: Option<RuleLabel>,
        enforced: bool,
    },
}

/// Grows with each candidate.
#[derive(Default)]
pub(super) struct Merged<'a> {
    allowed: Option<(&'a Arc<Endpoint>, Option<RuleLabel>)>,
    denied: Option<(&'a Arc<Endpoint>, RuleLabel)>,
    /// Whether an endpoint enforces the denial.
    denial: Option<Enforcement>,
    nearest: Best<'a, Nearness>,
    nearest_fit: Option<Fit>,
    /// The most specific endpoint path that covers the request, and whether one of that rank enforces.
    selected: Option<(u32, Enforcement)>,
    inspection: Option<Inspection>,
    encoded_slash: EncodedSlash,
    /// Set once an endpoint matches at host, port and binary.
    addresses: Option<&'a AddressScope>,
    more_addresses: Vec<&'a AddressScope>,
}

impl<'a> Merged<'a> {
    pub(super) fn add(&mut self, endpoint: &'a Arc<Endpoint>, binary: BinaryMatch, step: Step) {
        if binary == BinaryMatch::Matches {
            self.inspection = self.inspection.max(Some(inspection(endpoint)));
            self.encoded_slash = self.encoded_slash.max(endpoint.encoded_slash);
            self.add_addresses(&endpoint.addresses);
        }
        match step {
            Step::OtherBinary => return,
            Step::Connection | Step::Unread => return self.allow(endpoint, None),
            Step::Allowed(label) => self.allow(endpoint, Some(label)),
            Step::Denied(label) => {
                self.denial = self.denial.max(Some(endpoint.enforcement));
                if self.denied.is_none_or(|(own, _)| endpoint.id < own.id) {
                    self.denied = Some((endpoint, label));
                }
            }
            Step::OtherEndpointPath | Step::EncodedSlash => self.come_near(endpoint, Fit::OtherPath),
            Step::NoRule(fit) => self.come_near(endpoint, fit),
        }
        if step != Step::OtherEndpointPath && matches!(endpoint.traffic, Traffic::Rest(_)) {
            self.select(endpoint);
        }
    }

    fn allow(&mut self, endpoint: &'a Arc<Endpoint>, label: Option<RuleLabel>) {
        if self.allowed.is_none_or(|(own, _)| endpoint.id < own.id) {
            self.allowed = Some((endpoint, label));
        }
    }

    fn come_near(&mut self, endpoint: &'a Arc<Endpoint>, fit: Fit) {
        self.nearest.offer((std::cmp::Reverse(fit), endpoint.rule), endpoint);
        self.nearest_fit = self.nearest_fit.max(Some(fit));
    }

    fn select(&mut self, endpoint: &Endpoint) {
        let own = (endpoint.path.specificity(), endpoint.enforcement);
        // Of two with the same rank the one that enforces wins; validation asks them to agree anyway.
        self.selected = self.selected.max(Some(own));
    }

    fn add_addresses(&mut self, scope: &'a AddressScope) {
        match self.addresses {
            None => self.addresses = Some(scope),
            Some(first) if first == scope || self.more_addresses.contains(&scope) => {}
            Some(_) => self.more_addresses.push(scope),
        }
    }

    pub(super) fn verdict(&self) -> Verdict<'a> {
        let matched = self.addresses.is_some();
        let selected_enforces = self.selected.is_some_and(|(_, enforcement)| enforcement == Enforcement::Enforce);
        if let Some((endpoint, label)) = self.denied.filter(|_| matched) {
            return Verdict::Refused {
                reason: Reason::DeniedByRule,
                endpoint: Some(endpoint),
                label: Some(label),
                enforced: self.denial == Some(Enforcement::Enforce) || selected_enforces,
            };
        }
        if let Some((endpoint, label)) = self.allowed {
            return Verdict::Allowed { endpoint, label };
        }
        if !matched {
            return Verdict::OtherBinary;
        }
        Verdict::Refused {
            reason: match self.nearest_fit {
                Some(Fit::OtherQuery) => Reason::QueryNotAllowed,
                Some(Fit::OtherMethod) => Reason::MethodNotAllowed,
                _ => Reason::PathNotAllowed,
            },
            endpoint: self.nearest.get(),
            label: None,
            // Where no endpoint's path covers the request, none is there to say that it only audits.
            enforced: self.selected.is_none() || selected_enforces,
        }
    }

    pub(super) fn treatment(&self) -> Option<Treatment<'a>> {
        Some(Treatment {
            inspection: self.inspection?,
            addresses: self.merged_addresses(self.addresses?),
            encoded_slash: self.encoded_slash,
        })
    }

    fn merged_addresses(&self, first: &'a AddressScope) -> Cow<'a, AddressScope> {
        if self.more_addresses.is_empty() {
            return Cow::Borrowed(first);
        }
        let mut scopes: Vec<AddressScope> = std::iter::once(first).chain(self.more_addresses.iter().copied()).cloned().collect();
        scopes.sort_by_key(AddressScope::width);
        Cow::Owned(AddressScope::AnyOf(scopes.into()))
    }
}

fn inspection(endpoint: &Endpoint) -> Inspection {
    match (&endpoint.traffic, endpoint.tls) {
        (Traffic::Rest(_), _) => Inspection::Http,
        (Traffic::L4, Tls::Auto) => Inspection::Transport,
        (Traffic::L4, Tls::Skip) => Inspection::Opaque,
    }
}
