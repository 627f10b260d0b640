//! One configuration of the payment rule, read strictly: every mistake is found and named by its place.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::config::{AssetDefinition, PaymentsConfig};
use super::pins::{Pin, PinTable, Unpinned};
use super::terms::TermsError;
use crate::x402::amount::DecimalAmount;
use crate::x402::assets;
use crate::x402::claim::{Asset, EvmAddress};
use crate::x402::network::Caip2;

const LARGEST_CLOCK_SKEW: Duration = Duration::from_secs(300);

pub(super) type AssetKey = (Caip2, EvmAddress);

/// One configuration, parsed.
#[derive(Default)]
pub(super) struct Layer {
    pub(super) networks: Option<BTreeSet<Caip2>>,
    pub(super) assets: Option<BTreeSet<AssetKey>>,
    pub(super) max_amount: Option<DecimalAmount>,
    pub(super) payees: Option<BTreeSet<EvmAddress>>,
    pub(super) payers: Option<BTreeSet<EvmAddress>>,
    pub(super) pins: PinTable,
    pub(super) require_challenge: Option<bool>,
    pub(super) screen_challenges: Option<bool>,
    pub(super) http_resource: Option<bool>,
    pub(super) max_timeout: Option<Duration>,
    pub(super) clock_skew: Option<Duration>,
}

pub(super) fn push(errors: &mut Vec<TermsError>, pointer: impl Into<String>, message: impl Into<String>) {
    errors.push(TermsError {
        pointer: pointer.into(),
        message: message.into(),
    });
}

pub(super) fn known_assets(definitions: &[AssetDefinition], errors: &mut Vec<TermsError>) -> BTreeMap<AssetKey, Option<Asset>> {
    let mut known: BTreeMap<AssetKey, Option<Asset>> = assets::table().map(|row| ((row.network, row.address), row.asset)).collect();
    for (index, definition) in definitions.iter().enumerate() {
        let at = |member: &str| format!("/asset_definitions/{index}/{member}");
        let network = Caip2::parse(&definition.network);
        let address = EvmAddress::parse(&definition.address);
        match (network, address) {
            (Ok(network), Ok(address)) => {
                if definition.decimals > 77 {
                    push(errors, at("decimals"), "at most 77 decimals fit 256 bits");
                }
                let asset = Asset {
                    network,
                    address,
                    decimals: definition.decimals,
                    domain_name: definition.name.clone(),
                    domain_version: definition.version.clone(),
                };
                known.insert((network, address), Some(asset));
            }
            (network, address) => {
                if let Err(error) = network {
                    push(errors, at("network"), error.to_string());
                }
                if let Err(error) = address {
                    push(errors, at("address"), error.to_string());
                }
            }
        }
    }
    known
}

impl Layer {
    pub(super) fn read(config: &PaymentsConfig, known: &BTreeMap<AssetKey, Option<Asset>>, errors: &mut Vec<TermsError>) -> Self {
        for (index, scheme) in config.schemes.iter().flatten().enumerate() {
            if scheme != "exact" {
                push(errors, format!("/schemes/{index}"), "not supported yet: the only scheme is `exact`");
            }
        }
        if config.schemes.as_ref().is_some_and(Vec::is_empty) {
            push(errors, "/schemes", "an empty list would allow no payment; leave it out");
        }
        if config.clock_skew.is_some_and(|skew| skew > LARGEST_CLOCK_SKEW) {
            push(errors, "/clock_skew", "at most `5m`");
        }
        if config.max_timeout.is_some_and(|timeout| timeout.as_secs() == 0) {
            push(errors, "/max_timeout", "at least `1s`");
        }
        let max_amount = config.max_amount.as_deref().and_then(|text| {
            DecimalAmount::parse(text)
                .map_err(|error| push(errors, "/max_amount", format!("{error}; write it like \"1.00\"")))
                .ok()
        });
        Layer {
            networks: list(config.networks.as_deref(), "/networks", errors, |text| {
                Caip2::parse(text).map_err(|error| format!("{error}; write it like `eip155:8453`"))
            }),
            assets: list(config.assets.as_deref(), "/assets", errors, |text| asset_key(text, known)),
            max_amount,
            payees: addresses(&config.payees, "/payees", errors),
            payers: addresses(&config.payers, "/payers", errors),
            pins: pin_table(config, errors),
            require_challenge: config.require_challenge,
            screen_challenges: config.screen_challenges,
            http_resource: config.allow_http_resource,
            max_timeout: config.max_timeout,
            clock_skew: config.clock_skew,
        }
    }
}

fn pin_table(config: &PaymentsConfig, errors: &mut Vec<TermsError>) -> PinTable {
    let mut pins = Vec::new();
    for (index, pin) in config.pins.iter().enumerate() {
        match Pin::parse(pin) {
            Ok(pin) => pins.push(pin),
            Err((member, message)) => push(errors, format!("/pins/{index}/{member}"), message),
        }
    }
    let unpinned = match config.pinned_only {
        Some(true) => Unpinned::Refused,
        Some(false) | None => Unpinned::Open,
    };
    if unpinned == Unpinned::Refused && config.pins.is_empty() {
        push(
            errors,
            "/pinned_only",
            "without `pins` this would allow no payment; list them beside it",
        );
    }
    PinTable { pins, unpinned }
}

fn list<T: Ord>(
    texts: Option<&[String]>,
    pointer: &str,
    errors: &mut Vec<TermsError>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Option<BTreeSet<T>> {
    let texts = texts?;
    if texts.is_empty() {
        push(errors, pointer, "an empty list would allow no payment; leave it out");
    }
    let mut values = BTreeSet::new();
    for (index, text) in texts.iter().enumerate() {
        match parse(text) {
            Ok(value) => {
                values.insert(value);
            }
            Err(message) => push(errors, format!("{pointer}/{index}"), message),
        }
    }
    Some(values)
}

fn addresses(texts: &[String], pointer: &str, errors: &mut Vec<TermsError>) -> Option<BTreeSet<EvmAddress>> {
    let given = (!texts.is_empty()).then_some(texts);
    list(given, pointer, errors, |text| {
        EvmAddress::parse(text).map_err(|error| error.to_string())
    })
}

fn asset_key(text: &str, known: &BTreeMap<AssetKey, Option<Asset>>) -> Result<AssetKey, String> {
    let (network, address) = text.split_once('/').ok_or("expected `eip155:<chain id>/0x<token contract>`")?;
    let network = Caip2::parse(network).map_err(|error| error.to_string())?;
    let address = EvmAddress::parse(address).map_err(|error| error.to_string())?;
    match known.get(&(network, address)) {
        Some(Some(_)) => Ok((network, address)),
        Some(None) => Err(
            "this asset's EIP-712 domain is not known for certain: state it in `payments.asset_definitions` of tollgate.yaml".to_owned(),
        ),
        None => Err("unknown asset: define it in `payments.asset_definitions` of tollgate.yaml".to_owned()),
    }
}
