//! Builds the engine from the operator's settings. Nothing here listens or dials.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use tollgate_certs::{LeafCache, TrustBundle};
use tollgate_policy::{LoopbackDial, Policy};

use super::chain::upstream_proxy;
use super::roots::{Certificates, certificates};
use super::{Settings, StartError};
use crate::audit::vocabulary::Vocabulary;
use crate::audit::{Output, SignatureOutcome, Sink};
use crate::config::Config;
use crate::credentials::Keeping;
use crate::egress::fetch::Fetcher;
use crate::egress::{Connector, Resolver, connector};
use crate::flow::backend_label;
use crate::flow::{Binaries, Engine};
use crate::gate::payment::StoreStatus;
use crate::gate::payment::challenges::ScreeningRule;
use crate::gate::payment::replay::ReplayMemory;
use crate::gate::payment::terms::Terms;
use crate::gate::rail::Rails;
use crate::gate::stanzas::Stanzas;
use crate::gate::{Gate, Standing};
use crate::identity::{BinaryLedger, Identities, Network};
use crate::metrics::{BreakerState, MemoryState, Metrics};
use crate::signer::Signer;
use crate::verdict::config::Seating;

pub(super) struct Assembled {
    pub(super) engine: Arc<Engine>,
    pub(super) leaves: Arc<LeafCache>,
    pub(super) trust: TrustBundle,
    pub(super) credentials: Keeping,
    pub(super) folder: Option<tempfile::TempDir>,
}

pub(super) fn assemble(settings: &Settings, clients: Network, authority: Option<&[u8]>) -> Result<Assembled, StartError> {
    let config = &settings.config;
    let Certificates {
        leaves,
        trust,
        roots_pem,
        folder,
    } = certificates(&config.tls, authority)?;
    let resolver = resolver(config);
    let proxy = upstream_proxy(&config.upstream, &roots_pem, &resolver)?;
    let connector = connector::connector(&roots_pem, proxy, &config.limits).map_err(|e| StartError::Certificates(e.to_string()))?;
    let signer = signer(config, &connector, &resolver)?;
    let gate = gate(settings, &connector, &resolver)?.remembering(replay_memory(config)?);
    let assets = gate
        .standing()
        .terms
        .assets()
        .map(|allowed| format!("{}/{}", allowed.asset.network, allowed.asset.address));
    let metrics = Arc::new(Metrics::new(assets)?);
    let output = config.audit.output.clone().unwrap_or(Output::Stdout);
    let audit = Arc::new(Sink::start(&output, config.limits.audit_unwritten)?);
    let credentials = Keeping::start(config.credentials.clone(), |name| std::env::var_os(name))?;
    let engine = Engine {
        gate: Arc::new(gate),
        resolver,
        connector,
        identities: Identities::start(Arc::new(BinaryLedger::default()), clients).map_err(StartError::Identity)?,
        credentials: credentials.store().clone(),
        signer,
        audit,
        metrics: metrics.clone(),
        held: crate::flow::HeldBytes::new(config.limits.bodies_held_total),
        limits: config.limits,
        binaries: Binaries::of(&config.insecure),
    };
    let engine = Arc::new(engine);
    watch_gauges(&metrics, &leaves, &engine);
    Ok(Assembled {
        engine,
        leaves,
        trust,
        credentials,
        folder,
    })
}

pub(super) fn resolver(config: &Config) -> Arc<Resolver> {
    Arc::new(Resolver::new(fixed_names(config), config.limits.resolve))
}

/// Who signs payments. The key is read here and nowhere else: nothing that only judges needs it.
fn signer(config: &Config, connector: &Arc<Connector>, resolver: &Arc<Resolver>) -> Result<Option<Arc<Signer>>, StartError> {
    let Some(section) = &config.payments.signer else { return Ok(None) };
    let fetcher = Fetcher::new(connector.clone(), resolver.clone());
    let signer = Signer::open(section, &fetcher, |name| std::env::var_os(name))?;
    Ok(Some(Arc::new(signer)))
}

/// Where used payments are remembered.
fn replay_memory(config: &Config) -> Result<ReplayMemory, StartError> {
    match &config.payments.store {
        Some(file) => ReplayMemory::kept_in(file).map_err(StartError::Payment),
        None => Ok(ReplayMemory::default()),
    }
}

/// The gate as the operator set it up, with no policy yet: everything is denied.
pub(super) fn gate(settings: &Settings, connector: &Arc<Connector>, resolver: &Arc<Resolver>) -> Result<Gate, StartError> {
    let config = &settings.config;
    let seating = match config.payments.screen_challenges {
        Some(false) => Seating::PayingOnly,
        _ => Seating::Shared,
    };
    let fetcher = Fetcher::new(connector.clone(), resolver.clone());
    let desks = config.verdict.open(&settings.directory, &fetcher, seating)?;
    let standing = Standing {
        rails: Rails::new(&config.rails)?,
        terms: operator_terms(config)?,
        loopback: if config.insecure.allow_loopback {
            LoopbackDial::Allowed
        } else {
            LoopbackDial::Never
        },
        desk: desks.paying,
        screening_desk: desks.screening,
        reports: desks.reports,
        screening: if config.verdict.is_configured() {
            ScreeningRule::Screened
        } else {
            ScreeningRule::PassedOn
        },
        rate: config.payments.rate,
    };
    let nothing = Stanzas {
        operator: &config.payments,
    }
    .ruleset(0, Policy::deny_all());
    Ok(Gate::new(standing, nothing))
}

fn operator_terms(config: &Config) -> Result<Terms, StartError> {
    Terms::operator(&config.payments).map_err(|mut errors| match errors.pop() {
        Some(error) => StartError::Payments(error),
        None => StartError::Certificates("payments: unusable".to_owned()),
    })
}

fn fixed_names(config: &Config) -> HashMap<Box<str>, Arc<[IpAddr]>> {
    let hosts = config.upstream.hosts.iter();
    hosts
        .map(|(name, addresses)| (name.as_str().into(), addresses.as_slice().into()))
        .collect()
}

/// Values that are kept elsewhere, read when the metrics are.
fn watch_gauges(metrics: &Metrics, leaves: &Arc<LeafCache>, engine: &Arc<Engine>) {
    let (leaves, audit, gate) = (Arc::downgrade(leaves), Arc::downgrade(&engine.audit), Arc::downgrade(&engine.gate));
    let signer = engine.signer.clone();
    metrics.on_scrape(move |metrics| {
        if let Some(signer) = &signer {
            for outcome in SignatureOutcome::ALL {
                metrics.set_signatures(*outcome, signer.count(*outcome));
            }
        }
        if let Some(leaves) = leaves.upgrade() {
            metrics.set_certificates(leaves.cached(), leaves.minted());
        }
        if let Some(audit) = audit.upgrade() {
            metrics.set_audit(&audit.status());
        }
        if let Some(gate) = gate.upgrade() {
            let Standing {
                desk,
                screening_desk,
                reports,
                ..
            } = gate.standing();
            metrics.set_reports(|outcome, fate| reports.count(outcome, fate));
            let breaker = if desk.breaker_is_open() || screening_desk.breaker_is_open() {
                BreakerState::Open
            } else {
                BreakerState::Closed
            };
            metrics.set_verdict_service(
                backend_label(desk.backend()),
                desk.in_flight() + screening_desk.in_flight(),
                breaker,
            );
            let replay = gate.replay();
            let state = match replay.status() {
                StoreStatus::InMemory | StoreStatus::Ready => MemoryState::Usable,
                StoreStatus::Unusable(_) => MemoryState::Unusable,
            };
            metrics.set_payment_memory(state, replay.len(), replay.store_failures());
        }
    });
}
