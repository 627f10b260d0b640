//! Payments: how they were decided and how much was let out.

use prometheus::{Counter, CounterVec, IntCounterVec, Opts, Registry};
use tollgate_policy::{Group, Reason};

use super::by_reason::{ByReason, reasons_of};
use super::{Metrics, Registered};
use crate::audit::vocabulary::Vocabulary;
use crate::audit::{Decision, PaymentScheme, X402Version};

/// The `asset` label of assets the operator did not name.
const OTHER: &str = "other";

/// The label of one of the operator's assets, or of all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssetLabel(usize);

pub(super) struct Payments {
    /// By decision, version and scheme.
    counts: Vec<ByReason>,
    /// The label of each place; the last is [`OTHER`].
    assets: Vec<String>,
    /// By decision and asset.
    amounts: Vec<Counter>,
}

impl Payments {
    pub(super) fn register(registry: &Registry, assets: impl Iterator<Item = String>) -> Result<Self, prometheus::Error> {
        let total = Opts::new("tollgate_payments_total", "Payments decided on.");
        let total = IntCounterVec::new(total, &["decision", "reason_code", "x402_version", "scheme"])?.registered(registry)?;
        let amount = Opts::new(
            "tollgate_payment_amount_units_total",
            "Sum of the payments decided on, in the asset's own units.",
        );
        let amount = CounterVec::new(amount, &["decision", "asset"])?.registered(registry)?;
        let mut labels: Vec<String> = assets.filter(|asset| asset != OTHER).collect();
        labels.sort_unstable();
        labels.dedup();
        labels.push(OTHER.into());
        let mut counts = Vec::new();
        let mut amounts = Vec::new();
        for decision in Decision::ALL {
            for version in X402Version::ALL {
                for scheme in PaymentScheme::ALL {
                    let words = vec![decision.as_str(), "", version.as_str(), scheme.as_str()];
                    counts.push(ByReason::new(total.clone(), words, 1).prime(usual(*decision, *version, *scheme)));
                }
            }
            for label in &labels {
                amounts.push(amount.with_label_values(&[decision.as_str(), label.as_str()]));
            }
        }
        Ok(Payments {
            counts,
            assets: labels,
            amounts,
        })
    }
}

/// The series worth showing before anything happened.
fn usual(decision: Decision, version: X402Version, scheme: PaymentScheme) -> Vec<Option<Reason>> {
    match (decision, version, scheme) {
        (Decision::Allow, X402Version::V1 | X402Version::V2, PaymentScheme::Exact) => vec![None],
        (Decision::Deny, X402Version::V1 | X402Version::V2, PaymentScheme::Exact) => {
            reasons_of(&[Group::Payment, Group::Verdict]).collect()
        }
        // Schemes that few have switched on.
        _ => Vec::new(),
    }
}

impl Metrics {
    /// The label for an asset: its own when it is one of the operator's, else `other`.
    pub fn asset_label(&self, asset: &str) -> AssetLabel {
        let labels = &self.payments.assets;
        let other = labels.len().saturating_sub(1);
        AssetLabel(labels.iter().position(|label| label == asset).unwrap_or(other))
    }

    /// One payment is decided on.
    pub fn observe_payment(&self, decision: Decision, reason: Option<Reason>, version: X402Version, scheme: PaymentScheme) {
        let place = (decision.index() * X402Version::ALL.len() + version.index()) * PaymentScheme::ALL.len() + scheme.index();
        if let Some(count) = self.payments.counts.get(place) {
            count.increment(reason);
        }
    }

    /// Its amount, in the asset's own units (1 = 1 USDC); for charts, not for accounts: a float.
    pub fn observe_amount(&self, decision: Decision, asset: AssetLabel, units: f64) {
        let place = decision.index() * self.payments.assets.len() + asset.0;
        // A counter panics on a negative step, and NaN would poison it for good.
        if let Some(amount) = self.payments.amounts.get(place)
            && units.is_finite()
            && units >= 0.0
        {
            amount.inc_by(units);
        }
    }
}
