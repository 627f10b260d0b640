//! The terms as judged: sets, exact integers and EIP-712 domains, compiled once per configuration.
//!
//! Two layers may speak: the operator's file and the policy author's stanza. Where only one says something, that holds; where both do, the
//! narrower holds: schemes, extensions, networks, assets, payees and payers intersect, `max_amount`, `max_timeout` and `clock_skew` take the
//! smaller, `allow_smart_wallets`, `allow_http_resource`, `require_challenge: false` and `screen_challenges: false` need both. A payment
//! has to pass the pins of each. So a stanza can narrow, or settle what the operator left open, but never open what the operator's file forbids. Only the
//! operator can define assets: decimals decide how much a limit is worth.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use thiserror::Error;

use super::challenges::{ChallengeRule, ScreeningRule};
use super::config::PaymentsConfig;
use super::layer::{self, AssetKey, Layer, known_assets, push};
use super::pins::PinTable;
use super::signing;
use crate::signer::config::SignerRule;
use crate::x402::address::Address;
use crate::x402::amount::DecimalAmount;
use crate::x402::assets;
use crate::x402::claim::{Asset, AtomicAmount};
use crate::x402::eip712::SigningDomains;
use crate::x402::enabled::{ContractWallets, Enabled};
use crate::x402::network::Caip2;
use crate::x402::resource::HttpResource;
use crate::x402::scheme::Scheme;

/// The default limit per payment, in the asset's own units.
pub const DEFAULT_MAX_AMOUNT: &str = "1.00";
/// The default bound on a signature's life.
pub const DEFAULT_MAX_TIMEOUT: Duration = Duration::from_secs(600);
/// The default tolerance for clocks.
pub const DEFAULT_CLOCK_SKEW: Duration = Duration::from_secs(10);

/// One mistake in a configuration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{pointer}: {message}")]
pub struct TermsError {
    /// JSON pointer (RFC 6901) into the configuration.
    pub pointer: String,
    /// What is wrong, and what to write instead.
    pub message: String,
}

/// An asset that payments may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedAsset {
    /// The asset.
    pub asset: Asset,
    /// The most that one payment may move, in atomic units.
    pub max_amount: AtomicAmount,
    /// What binds a signature to it.
    pub domains: SigningDomains,
}

/// Compiled terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    pub(super) enabled: Enabled,
    pub(super) networks: BTreeSet<Caip2>,
    pub(super) assets: BTreeMap<(Caip2, Address), AllowedAsset>,
    pub(super) payees: Option<BTreeSet<Address>>,
    pub(super) payers: Option<BTreeSet<Address>>,
    pub(super) pins: Vec<PinTable>,
    pub(super) challenge: ChallengeRule,
    pub(super) screening: Option<ScreeningRule>,
    pub(super) http_resource: HttpResource,
    pub(super) max_timeout: u64,
    pub(super) clock_skew: u64,
    pub(super) signer: Option<SignerRule>,
}

impl Terms {
    /// The operator's terms alone.
    pub fn operator(config: &PaymentsConfig) -> Result<Self, Vec<TermsError>> {
        Self::compile(config, None)
    }

    /// The operator's terms, narrowed by a stanza. Errors point into the stanza; the operator's are reported by [`Terms::operator`].
    pub fn narrowed(operator: &PaymentsConfig, stanza: &PaymentsConfig) -> Result<Self, Vec<TermsError>> {
        Self::operator(operator)?;
        Self::compile(operator, Some(stanza))
    }

    /// What of x402 is switched on.
    pub fn enabled(&self) -> &Enabled {
        &self.enabled
    }

    /// The assets that payments may use.
    pub fn assets(&self) -> impl Iterator<Item = &AllowedAsset> {
        self.assets.values()
    }

    /// Whether a payment has to answer a challenge.
    pub fn challenge(&self) -> ChallengeRule {
        self.challenge
    }

    /// Whether challenges are screened; `None` where nobody says.
    pub fn screening(&self) -> Option<ScreeningRule> {
        self.screening
    }

    /// Whether `http://` may stand for `https://` in what sellers announce.
    pub fn http_resource(&self) -> HttpResource {
        self.http_resource
    }

    /// Whether a seller may announce `http://` for an `https` resource.
    pub fn allows_http_resource(&self) -> bool {
        self.http_resource == HttpResource::Allowed
    }

    /// Whose payments are signed here, and what their agent does instead.
    pub fn signer(&self) -> Option<&SignerRule> {
        self.signer.as_ref()
    }

    fn compile(operator: &PaymentsConfig, stanza: Option<&PaymentsConfig>) -> Result<Self, Vec<TermsError>> {
        let mut errors = Vec::new();
        if let Some(stanza) = stanza
            && !stanza.asset_definitions.is_empty()
        {
            push(
                &mut errors,
                "/asset_definitions",
                "only the operator's tollgate.yaml can define assets",
            );
        }
        let known = known_assets(&operator.asset_definitions, &mut errors);
        let signer = signing::rule(operator, &mut errors);
        let own = layer::schemes(operator, &mut errors);
        let both = match stanza {
            Some(stanza) => intersection(own.iter().chain(&layer::schemes(stanza, &mut errors))),
            None => own.clone(),
        };
        let both = match signer {
            // Nothing else can be signed here, and nobody else is to sign.
            Some(_) => intersection(both.iter().chain(&Some(BTreeSet::from([Scheme::Exact])))),
            None => both,
        };
        let of = |schemes: Option<BTreeSet<Scheme>>| Enabled {
            schemes: schemes.unwrap_or(Enabled::default().schemes),
            ..Enabled::default()
        };
        let mut enabled = of(both);
        // What the operator lists is held against the operator's schemes: a stanza that has fewer narrows the list and does not break it.
        let mut layers = vec![Layer::read(operator, &known, &of(own), &mut errors)];
        layers.extend(stanza.map(|stanza| Layer::read(stanza, &known, &enabled, &mut errors)));
        enabled.extensions = intersection(layers.iter().filter_map(|layer| layer.extensions.as_ref())).unwrap_or_default();
        enabled.contract_wallets = match layers.iter().filter_map(|layer| layer.smart_wallets).collect::<Vec<_>>() {
            given if !given.is_empty() && given.iter().all(|allowed| *allowed) => ContractWallets::Allowed,
            _ => ContractWallets::Refused,
        };
        enabled.placeholder = signer.and_then(|rule| rule.placeholder);
        let terms = Terms {
            signer,
            ..combine(&layers, &known, enabled, &mut errors)
        };
        if errors.is_empty() { Ok(terms) } else { Err(errors) }
    }
}

fn combine(layers: &[Layer], known: &BTreeMap<AssetKey, Asset>, enabled: Enabled, errors: &mut Vec<TermsError>) -> Terms {
    let networks = intersection(layers.iter().filter_map(|layer| layer.networks.as_ref()));
    let listed = intersection(layers.iter().filter_map(|layer| layer.assets.as_ref()));
    let default = assets::default_assets(&enabled.schemes);
    let wanted = |key: &AssetKey, asset: &Asset| match (&networks, &listed) {
        (None, None) => default.contains(key),
        (networks, listed) => {
            networks.as_ref().is_none_or(|networks| networks.contains(&key.0))
                && listed.as_ref().is_none_or(|listed| listed.contains(key))
                && enabled.schemes.iter().any(|scheme| scheme.can_move(asset))
        }
    };
    let max_amounts: Vec<DecimalAmount> = match layers.iter().filter_map(|layer| layer.max_amount).collect::<Vec<_>>() {
        given if given.is_empty() => DecimalAmount::parse(DEFAULT_MAX_AMOUNT).into_iter().collect(),
        given => given,
    };
    let mut allowed = BTreeMap::new();
    for (key, asset) in known.iter().filter(|(key, asset)| wanted(key, asset)) {
        let limit = max_amounts
            .iter()
            .map(|amount| amount.to_atomic(asset.decimals))
            .collect::<Result<Vec<_>, _>>()
            .map(|limits| limits.into_iter().min().unwrap_or_default());
        match limit {
            Ok(max_amount) => {
                let domains = SigningDomains::of(asset);
                allowed.insert(
                    *key,
                    AllowedAsset {
                        asset: asset.clone(),
                        max_amount,
                        domains,
                    },
                );
            }
            Err(error) => push(errors, "/max_amount", format!("{error} ({} decimals)", asset.decimals)),
        }
    }
    Terms {
        networks: networks.unwrap_or_else(|| allowed.keys().map(|(network, _)| *network).collect()),
        assets: allowed,
        enabled,
        payees: intersection(layers.iter().filter_map(|layer| layer.payees.as_ref())),
        payers: intersection(layers.iter().filter_map(|layer| layer.payers.as_ref())),
        pins: layers.iter().map(|layer| layer.pins.clone()).collect(),
        challenge: match layers.iter().filter_map(|layer| layer.require_challenge).collect::<Vec<_>>() {
            given if !given.is_empty() && given.iter().all(|required| !*required) => ChallengeRule::Optional,
            _ => ChallengeRule::Required,
        },
        screening: match layers.iter().filter_map(|layer| layer.screen_challenges).collect::<Vec<_>>() {
            given if given.is_empty() => None,
            given if given.contains(&true) => Some(ScreeningRule::Screened),
            _ => Some(ScreeningRule::PassedOn),
        },
        http_resource: match layers.iter().filter_map(|layer| layer.http_resource).collect::<Vec<_>>() {
            given if !given.is_empty() && given.iter().all(|allowed| *allowed) => HttpResource::Allowed,
            _ => HttpResource::Refused,
        },
        max_timeout: smallest(layers.iter().filter_map(|layer| layer.max_timeout), DEFAULT_MAX_TIMEOUT),
        clock_skew: smallest(layers.iter().filter_map(|layer| layer.clock_skew), DEFAULT_CLOCK_SKEW),
        signer: None,
    }
}

fn intersection<'s, T: Ord + Clone + 's>(mut sets: impl Iterator<Item = &'s BTreeSet<T>>) -> Option<BTreeSet<T>> {
    let first = sets.next()?.clone();
    Some(sets.fold(first, |held, other| held.intersection(other).cloned().collect()))
}

fn smallest(given: impl Iterator<Item = Duration>, default: Duration) -> u64 {
    given.min().unwrap_or(default).as_secs()
}

#[cfg(test)]
mod tests;
