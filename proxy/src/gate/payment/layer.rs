//! One configuration of the payment rule, read strictly: every mistake is found and named by its place.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::config::{AssetDefinition, PaymentsConfig};
use super::pins::{Pin, PinTable, Unpinned};
use super::terms::TermsError;
use crate::x402::address::Address;
use crate::x402::amount::DecimalAmount;
use crate::x402::assets;
use crate::x402::claim::{Asset, Domain, Token};
use crate::x402::enabled::Enabled;
use crate::x402::extensions::Extension;
use crate::x402::network::Caip2;
use crate::x402::refusal::SchemeName;
use crate::x402::scheme::Scheme;
use crate::x402::solana::TokenProgram;

const LARGEST_CLOCK_SKEW: Duration = Duration::from_secs(300);

pub(super) type AssetKey = (Caip2, Address);

/// One configuration, parsed.
#[derive(Default)]
pub(super) struct Layer {
    pub(super) networks: Option<BTreeSet<Caip2>>,
    pub(super) assets: Option<BTreeSet<AssetKey>>,
    pub(super) max_amount: Option<DecimalAmount>,
    pub(super) payees: Option<BTreeSet<Address>>,
    pub(super) payers: Option<BTreeSet<Address>>,
    pub(super) pins: PinTable,
    pub(super) require_challenge: Option<bool>,
    pub(super) screen_challenges: Option<bool>,
    pub(super) http_resource: Option<bool>,
    pub(super) extensions: Option<BTreeSet<Extension>>,
    pub(super) smart_wallets: Option<bool>,
    pub(super) max_timeout: Option<Duration>,
    pub(super) clock_skew: Option<Duration>,
}

pub(super) fn push(errors: &mut Vec<TermsError>, pointer: impl Into<String>, message: impl Into<String>) {
    errors.push(TermsError {
        pointer: pointer.into(),
        message: message.into(),
    });
}

pub(super) fn known_assets(definitions: &[AssetDefinition], errors: &mut Vec<TermsError>) -> BTreeMap<AssetKey, Asset> {
    let mut known: BTreeMap<AssetKey, Asset> = assets::table()
        .map(|row| ((row.asset.network, row.asset.address), row.asset))
        .collect();
    for (index, definition) in definitions.iter().enumerate() {
        if let Some(asset) = defined(definition, &format!("/asset_definitions/{index}"), errors) {
            known.insert((asset.network, asset.address), asset);
        }
    }
    known
}

fn defined(definition: &AssetDefinition, at: &str, errors: &mut Vec<TermsError>) -> Option<Asset> {
    let mut push = |member: &str, message: String| push(errors, format!("{at}/{member}"), message);
    if definition.decimals > 77 {
        push("decimals", "at most 77 decimals fit 256 bits".to_owned());
    }
    let network = Caip2::parse(&definition.network);
    let address = match network {
        Ok(network) => Address::parse_on(network, &definition.address),
        Err(_) => Address::parse(&definition.address),
    };
    let network = network.map_err(|error| push("network", error.to_string())).ok();
    let address = address.map_err(|error| push("address", error.to_string())).ok();
    let (network, address) = (network?, address?);
    let domain = match (&definition.name, &definition.version) {
        (Some(name), Some(version)) => Some(Domain {
            name: name.clone(),
            version: version.clone(),
        }),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            let why = "an EIP-712 domain has a name and a version; without both, the token can be paid over Permit2 only";
            push("name", why.to_owned());
            None
        }
    };
    let token = match (network, definition.token_program.as_deref()) {
        (Caip2::Eip155 { .. }, None) => Token::Contract(domain),
        (Caip2::Eip155 { .. }, Some(_)) => {
            push("token_program", "only tokens on Solana have one".to_owned());
            return None;
        }
        (Caip2::Solana(_), _) if domain.is_some() => {
            push("name", "tokens on Solana have no EIP-712 domain".to_owned());
            return None;
        }
        (Caip2::Solana(_), name) => {
            let Some(program) = name.map_or(Some(TokenProgram::Token), TokenProgram::named) else {
                push("token_program", "expected `spl-token` or `token-2022`".to_owned());
                return None;
            };
            Token::Mint(program)
        }
    };
    Some(Asset {
        network,
        address,
        decimals: definition.decimals,
        token,
    })
}

/// The schemes that one configuration switches on; `None` where it says nothing.
pub(super) fn schemes(config: &PaymentsConfig, errors: &mut Vec<TermsError>) -> Option<BTreeSet<Scheme>> {
    let known = Scheme::ALL.map(Scheme::as_str).join("`, `");
    list(config.schemes.as_deref(), "/schemes", errors, |text| {
        Scheme::named(text).ok_or_else(|| match SchemeName::recognise(text) {
            SchemeName::BatchSettlement | SchemeName::AuthCapture => format!("this scheme cannot be judged; those that can are `{known}`"),
            _ => format!("unknown scheme; known are `{known}`"),
        })
    })
}

impl Layer {
    /// Reads one configuration, of which `enabled` holds.
    pub(super) fn read(
        config: &PaymentsConfig,
        known: &BTreeMap<AssetKey, Asset>,
        enabled: &Enabled,
        errors: &mut Vec<TermsError>,
    ) -> Self {
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
                let network = Caip2::parse(text).map_err(|error| format!("{error}; write it like `eip155:8453`"))?;
                match Scheme::ALL.into_iter().filter(|scheme| scheme.is_for(network)).collect::<Vec<_>>() {
                    schemes if schemes.iter().any(|scheme| enabled.schemes.contains(scheme)) => Ok(network),
                    schemes => Err(format!("no payments go there unless `schemes` lists {}", either(&schemes))),
                }
            }),
            assets: list(config.assets.as_deref(), "/assets", errors, |text| asset_key(text, known, enabled)),
            max_amount,
            payees: addresses(&config.payees, "/payees", errors),
            payers: addresses(&config.payers, "/payers", errors),
            pins: pin_table(config, errors),
            require_challenge: config.require_challenge,
            screen_challenges: config.screen_challenges,
            http_resource: config.allow_http_resource,
            extensions: config.allow_extensions.as_ref().map(|texts| {
                let at = |index: usize| format!("/allow_extensions/{index}");
                let known = || {
                    format!(
                        "unknown extension; known are `{}`",
                        Extension::ALL.map(Extension::as_str).join("`, `")
                    )
                };
                let read = |(index, text): (usize, &String)| {
                    let extension = Extension::named(text);
                    if extension.is_none() {
                        push(errors, at(index), known());
                    }
                    extension
                };
                texts.iter().enumerate().filter_map(read).collect()
            }),
            smart_wallets: config.allow_smart_wallets,
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

fn addresses(texts: &[String], pointer: &str, errors: &mut Vec<TermsError>) -> Option<BTreeSet<Address>> {
    let given = (!texts.is_empty()).then_some(texts);
    list(given, pointer, errors, |text| {
        Address::parse(text).map_err(|error| error.to_string())
    })
}

fn asset_key(text: &str, known: &BTreeMap<AssetKey, Asset>, enabled: &Enabled) -> Result<AssetKey, String> {
    let (network, address) = text
        .split_once('/')
        .ok_or("expected `eip155:<chain id>/0x<token contract>` or `solana:<genesis>/<mint>`")?;
    let network = Caip2::parse(network).map_err(|error| error.to_string())?;
    let address = Address::parse_on(network, address).map_err(|error| error.to_string())?;
    let Some(asset) = known.get(&(network, address)) else {
        return Err("unknown asset: define it in `payments.asset_definitions` of tollgate.yaml".to_owned());
    };
    let movers: Vec<Scheme> = Scheme::ALL.into_iter().filter(|scheme| scheme.can_move(asset)).collect();
    if movers.iter().any(|scheme| enabled.schemes.contains(scheme)) {
        return Ok((network, address));
    }
    let domain = match asset.token {
        Token::Contract(None) => {
            "this asset's EIP-712 domain is not known for certain: state it in `payments.asset_definitions` of tollgate.yaml, or "
        }
        _ => "",
    };
    Err(format!("{domain}payments in it need {} in `schemes`", either(&movers)))
}

fn either(schemes: &[Scheme]) -> String {
    let names: Vec<String> = schemes.iter().map(|scheme| format!("`{scheme}`")).collect();
    names.join(" or ")
}
