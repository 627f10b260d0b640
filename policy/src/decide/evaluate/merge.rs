//! What all candidates together come to.

use std::borrow::Cow;
use std::sync::Arc;

use super::Step;
use crate::address::AddressScope;
use crate::decide::{Inspection, Messages, RuleLabel, Treatment};
use crate::operation::BodyReading;
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

/// What endpoints of a body protocol say. It counts only where such an endpoint is the one that is selected, and then no endpoint of
/// another kind can allow what it does not: a broader rule for the path must not lift what was written about its operations.
#[derive(Default)]
struct ByBody<'a> {
    /// For now, or for good.
    allowed: Option<(&'a Arc<Endpoint>, Option<RuleLabel>)>,
    nearest: Best<'a, RuleId>,
    /// Audit mode does not soften it.
    never: Option<Reason>,
}

/// See [`Merged::selected`].
#[derive(Clone, Copy)]
struct Selected<'a> {
    /// Of two with the same path the one that enforces wins; validation asks them to agree anyway.
    rank: (u32, Enforcement),
    reading: Option<&'a BodyReading>,
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
    by_body: ByBody<'a>,
    /// The endpoint with the most specific path that covers the request: it says how the request is read, and whether a denial is
    /// enforced.
    selected: Option<Selected<'a>>,
    inspection: Option<Inspection>,
    messages: Messages,
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
            Step::Pending => self.allow_by_body(endpoint, None),
            Step::Allowed(label) if endpoint.reading().is_some() => self.allow_by_body(endpoint, label),
            Step::Allowed(label) => self.allow(endpoint, label),
            Step::Denied(label) => {
                self.denial = self.denial.max(Some(endpoint.enforcement));
                if self.denied.is_none_or(|(own, _)| endpoint.id < own.id) {
                    self.denied = Some((endpoint, label));
                }
            }
            Step::OtherEndpointPath | Step::EncodedSlash => self.come_near(endpoint, Fit::OtherPath),
            Step::NoRule(fit) => self.come_near(endpoint, fit),
            Step::NoRuleForOperation if endpoint.reading().is_none() => self.come_near(endpoint, Fit::OtherOperation),
            Step::NoRuleForOperation | Step::OtherProtocol => self.by_body.nearest.offer(endpoint.rule, endpoint),
            Step::OtherHttpMethod => self.rule_out(endpoint, Reason::MethodNotAllowed),
            Step::Never => self.rule_out(endpoint, Reason::OperationNotAllowed),
        }
        if step != Step::OtherEndpointPath && !matches!(endpoint.traffic, Traffic::L4) {
            self.select(endpoint);
            // One endpoint that judges them is enough, or a wider `rest` endpoint would leave them unread.
            if let Traffic::WebSocket(rules) = &endpoint.traffic {
                let own = if rules.operations.is_some() {
                    Messages::Operations
                } else {
                    Messages::Judged
                };
                self.messages = self.messages.max(own);
            }
        }
    }

    fn allow(&mut self, endpoint: &'a Arc<Endpoint>, label: Option<RuleLabel>) {
        if self.allowed.is_none_or(|(own, _)| endpoint.id < own.id) {
            self.allowed = Some((endpoint, label));
        }
    }

    fn allow_by_body(&mut self, endpoint: &'a Arc<Endpoint>, label: Option<RuleLabel>) {
        if self.by_body.allowed.is_none_or(|(own, _)| endpoint.id < own.id) {
            self.by_body.allowed = Some((endpoint, label));
        }
    }

    fn rule_out(&mut self, endpoint: &'a Arc<Endpoint>, reason: Reason) {
        self.by_body.nearest.offer(endpoint.rule, endpoint);
        self.by_body.never = Some(reason);
    }

    fn come_near(&mut self, endpoint: &'a Arc<Endpoint>, fit: Fit) {
        self.nearest.offer((std::cmp::Reverse(fit), endpoint.rule), endpoint);
        self.nearest_fit = self.nearest_fit.max(Some(fit));
    }

    fn select(&mut self, endpoint: &'a Endpoint) {
        let rank = (endpoint.path.specificity(), endpoint.enforcement);
        if self.selected.is_none_or(|own| own.rank < rank) {
            self.selected = Some(Selected {
                rank,
                reading: endpoint.reading(),
            });
        }
    }

    /// How the body has to be read before it is judged.
    fn reading(&self) -> Option<&'a BodyReading> {
        self.selected?.reading
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
        let selected_enforces = self.selected.is_some_and(|selected| selected.rank.1 == Enforcement::Enforce);
        if let Some((endpoint, label)) = self.denied.filter(|_| matched) {
            return Verdict::Refused {
                reason: Reason::DeniedByRule,
                endpoint: Some(endpoint),
                label: Some(label),
                enforced: self.denial == Some(Enforcement::Enforce) || selected_enforces,
            };
        }
        let allowed = match self.reading() {
            Some(_) => self.by_body.allowed,
            None => self.allowed,
        };
        if let Some((endpoint, label)) = allowed {
            return Verdict::Allowed { endpoint, label };
        }
        if !matched {
            return Verdict::OtherBinary;
        }
        if let Some((endpoint, _)) = self.by_body.nearest.get().zip(self.reading()) {
            return Verdict::Refused {
                reason: self.by_body.never.unwrap_or(Reason::OperationNotAllowed),
                endpoint: Some(endpoint),
                label: None,
                enforced: self.by_body.never.is_some() || selected_enforces,
            };
        }
        Verdict::Refused {
            reason: match self.nearest_fit {
                Some(Fit::OtherOperation) => Reason::OperationNotAllowed,
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
            messages: self.messages,
            addresses: self.merged_addresses(self.addresses?),
            encoded_slash: self.encoded_slash,
            body: self.reading().copied(),
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
        (Traffic::Rest(_) | Traffic::WebSocket(_) | Traffic::Body(_), _) => Inspection::Http,
        (Traffic::L4, Tls::Auto) => Inspection::Transport,
        (Traffic::L4, Tls::Skip) => Inspection::Opaque,
    }
}
