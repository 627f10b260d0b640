//! Puts Tollgate together and runs it: `run`, `exec` and `demo` all start it here, so they take the same paths.
//!
//! In: the operator's settings and a policy file. Out: a running proxy with its admin listener, until it is told to stop.

#[cfg(test)]
mod agreement;
mod assemble;
mod chain;
mod credential_sources;
mod descriptors;
#[cfg(test)]
mod forwarding;
mod judged;
mod kill_switch;
mod policy_file;
mod policy_paths;
mod rehearsal;
mod roots;
mod signals;
mod succession;

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tollgate_certs::TrustBundle;

use crate::admin::{Admin, PaymentMemory, Readiness, Sources};
use crate::audit::AuditError;
use crate::config::Config;
use crate::credentials::CredentialLoadError;
use crate::flow::Engine;
use crate::gate::Gate;
use crate::gate::payment::terms::TermsError;
use crate::gate::payment::{StoreFault, StoreStatus};
use crate::gate::rail::RailsError;
use crate::handover::{HandingOver, TakenOver};
use crate::identity::Network;
use crate::ingress::{Ingress, ListenError, Listener, Workers};
use crate::settings::{Closer, Closers};

pub use chain::ChainSetupError;
pub use credential_sources::CredentialSources;
pub use judged::Judged;
use kill_switch::KillSwitch;
pub use policy_file::PolicyFile;
pub use policy_paths::{PolicyPaths, Unreadable};
pub use rehearsal::{Rehearsal, RehearsalError};
pub use signals::Signals;
pub use succession::Succession;
use succession::WithAuthority;
use zeroize::Zeroizing;

/// How long the last reports of outcomes may take after everything else has ended.
const LAST_REPORTS: Duration = Duration::from_secs(2);

/// What is to be run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The policy's files.
    pub policy: PolicyPaths,
    /// The operator's file, read.
    pub config: Config,
    /// The folder that the operator's relative paths start from.
    pub directory: PathBuf,
}

/// Why Tollgate does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// An address that cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The admin address that cannot be listened on.
    #[error("cannot listen on {address} for health and metrics: {source}")]
    Admin {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The certificate authority or its files.
    #[error("{0}")]
    Certificates(String),
    /// `rails:`.
    #[error("rails: {0}")]
    Rails(#[from] RailsError),
    /// `payments:`.
    #[error("payments{}: {}", .0.pointer.replace('/', "."), .0.message)]
    Payments(TermsError),
    /// `verdict:`.
    #[error("verdict: {0}")]
    Verdict(#[from] crate::verdict::config::ConfigError),
    /// `payments.signer:`.
    #[error("payments.signer: {0}")]
    Signer(#[from] crate::signer::SignerError),
    /// `upstream:`.
    #[error("upstream.{0}")]
    Chain(#[from] ChainSetupError),
    /// `credentials:`.
    #[error("credentials: {0}")]
    Credentials(#[from] CredentialLoadError),
    /// The listeners cannot be kept for a successor.
    #[error("the listeners cannot be kept for a successor: {0}")]
    Handover(#[source] std::io::Error),
    /// `audit:`.
    #[error("audit: {0}")]
    Audit(#[from] AuditError),
    /// The metrics, by a mistake of ours.
    #[error(transparent)]
    Metrics(#[from] crate::metrics::MetricsError),
    /// The signal that closes all egress.
    #[error("cannot listen for SIGUSR1: {0}")]
    KillSignal(std::io::Error),
    /// The thread that identifies callers.
    #[error("cannot start the identification of callers: {0}")]
    Identity(std::io::Error),
    /// The thread that remembers used payments.
    #[error("cannot start the memory of used payments: {0}")]
    Payment(std::io::Error),
    /// The threads that serve connections.
    #[error("cannot start the threads that serve connections: {0}")]
    Workers(std::io::Error),
}

/// A Tollgate that serves.
pub struct Tollgate {
    engine: Arc<Engine>,
    readiness: Arc<Readiness>,
    policy: Arc<PolicyFile>,
    kill_switch: Arc<KillSwitch>,
    credentials: Arc<CredentialSources>,
    succession: Arc<Succession>,
    proxy: SocketAddr,
    admin: SocketAddr,
    trust: TrustBundle,
    stop: watch::Sender<bool>,
    proxy_task: tokio::task::JoinHandle<()>,
    admin_task: tokio::task::JoinHandle<()>,
    admin_stop: CancellationToken,
    /// A temporary CA folder goes with us.
    _folder: Option<tempfile::TempDir>,
}

/// What a successor has from the process before it.
#[derive(Debug, Default)]
struct Inherited {
    admin: Option<TcpListener>,
    closed_by: Closers,
    authority: Option<Zeroizing<Vec<u8>>>,
}

impl Tollgate {
    /// Binds, loads and serves. A policy that cannot be loaded does not keep it from starting: everything is denied, and `/readyz`
    /// says why, until a good one is there.
    pub async fn start(settings: Settings) -> Result<Self, StartError> {
        let listener = Listener::bind(settings.config.listen.proxy)?;
        Self::start_on(settings, listener, Network::Ours, Inherited::default()).await
    }

    /// The same for clients in another network namespace, which `listener` is in.
    pub async fn start_inside(settings: Settings, listener: TcpListener, sandbox: u32) -> Result<Self, StartError> {
        let listener = Listener::adopt(listener)?;
        Self::start_on(settings, listener, Network::OfProcess(sandbox), Inherited::default()).await
    }

    /// The same as the successor of a process that serves still.
    pub async fn start_after(settings: Settings, taken: TakenOver) -> Result<Self, StartError> {
        let listener = Listener::adopt(taken.proxy)?;
        let inherited = Inherited {
            admin: Some(taken.admin),
            closed_by: taken.closed_by,
            authority: taken.authority,
        };
        Self::start_on(settings, listener, Network::Ours, inherited).await
    }

    async fn start_on(settings: Settings, listener: Listener, clients: Network, inherited: Inherited) -> Result<Self, StartError> {
        descriptors::raise_limit();
        let assembled = assemble::assemble(
            &settings,
            clients,
            inherited.authority.as_ref().map(|authority| authority.as_slice()),
        )?;
        let address = settings.config.listen.admin;
        let admin_error = |source| StartError::Admin { address, source };
        let connections = settings.config.limits.admin_connections;
        let admin = match inherited.admin {
            Some(listener) => Admin::adopt(listener, connections),
            None => Admin::bind(address, connections).await,
        };
        let admin = admin.map_err(admin_error)?;
        let admin_address = admin.local_addr().map_err(admin_error)?;
        let assemble::Assembled {
            engine,
            leaves,
            trust,
            credentials,
            folder,
        } = assembled;
        let credentials = Arc::new(CredentialSources::new(credentials, engine.metrics.clone()));
        engine.gate.set_own_addresses(vec![listener.address(), admin_address]);
        let readiness = Arc::new(Readiness::default());
        settings.config.insecure.log();
        for remark in settings.config.remarks() {
            tracing::warn!(code = remark.code, "{}; {}", remark.message, remark.hint);
        }
        readiness.weakened(&settings.config.insecure.weakenings());
        watch_payments(&readiness, &engine.gate);
        engine.gate.standing().reports.start();
        let policy = Arc::new(PolicyFile::new(
            settings.policy,
            settings.config.payments,
            engine.clone(),
            readiness.clone(),
        ));
        policy.load();
        let kill_switch = KillSwitch::new(engine.clone(), readiness.clone(), settings.config.kill_switch.file);
        let kill_switch = Arc::new(kill_switch.map_err(StartError::KillSignal)?);
        for closer in inherited.closed_by {
            kill_switch.close(closer);
        }
        kill_switch.look();
        let (stop, stopping) = watch::channel(false);
        let admin_stop = CancellationToken::new();
        let sources = Sources {
            readiness: readiness.clone(),
            metrics: engine.metrics.clone(),
            audit: engine.audit.clone(),
            kill: {
                let kill_switch = kill_switch.clone();
                Arc::new(move || kill_switch.close(Closer::Admin))
            },
        };
        let with_authority = if settings.config.tls.hand_over_ca {
            WithAuthority::Kept
        } else {
            WithAuthority::MadeAnew
        };
        let succession = Arc::new(Succession {
            handing: HandingOver::of(listener.socket(), admin.listener()).map_err(StartError::Handover)?,
            engine: engine.clone(),
            readiness: readiness.clone(),
            leaves: leaves.clone(),
            with_authority,
            admin_stop: admin_stop.clone(),
        });
        let proxy = listener.address();
        let ingress = Arc::new(Ingress {
            engine: engine.clone(),
            leaves,
            workers: Workers::start().map_err(StartError::Workers)?,
        });
        let proxy_task = tokio::spawn(listener.serve(ingress, readiness.clone(), stopping));
        let admin_task = tokio::spawn(admin.serve(sources, admin_stop.clone()));
        readiness.listening(crate::admin::Addresses {
            proxy,
            admin: admin_address,
            ca: trust.ca.clone(),
        });
        Ok(Tollgate {
            engine,
            readiness,
            policy,
            kill_switch,
            credentials,
            succession,
            proxy,
            admin: admin_address,
            trust,
            stop,
            proxy_task,
            admin_task,
            admin_stop,
            _folder: folder,
        })
    }

    /// Where clients reach it.
    pub fn proxy(&self) -> SocketAddr {
        self.proxy
    }

    /// Where health and metrics are.
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// The files by which clients trust it.
    pub fn trust(&self) -> &TrustBundle {
        &self.trust
    }

    /// The policy file, to be loaded again.
    pub fn policy(&self) -> &Arc<PolicyFile> {
        &self.policy
    }

    /// The sources of credentials, to be read again.
    pub fn credentials(&self) -> &Arc<CredentialSources> {
        &self.credentials
    }

    /// What a hot restart needs.
    pub fn succession(&self) -> &Arc<Succession> {
        &self.succession
    }

    /// Serves until `end`, watching the policy file, the kill switch and the credentials' sources; then drains.
    pub async fn serve_until<T>(self, end: impl Future<Output = T>) -> T {
        let outcome = tokio::select! {
            outcome = end => outcome,
            never = self.policy.clone().watch() => match never {},
            never = self.kill_switch.watch() => match never {},
            never = self.credentials.watch() => match never {},
        };
        self.drain().await;
        outcome
    }

    /// Lets requests under way end, within the limit, and writes the last audit lines.
    async fn drain(self) {
        self.succession.handing.end();
        self.readiness.start_draining();
        self.stop.send_replace(true);
        let _ = self.proxy_task.await;
        self.admin_stop.cancel();
        let _ = self.admin_task.await;
        self.engine.gate.standing().reports.finish(LAST_REPORTS).await;
        let engine = self.engine.clone();
        let _ = tokio::task::spawn_blocking(move || {
            engine.gate.replay().close();
            engine.audit.shut_down();
        })
        .await;
    }
}

/// Lets `/readyz` say how the memory of used payments stands.
fn watch_payments(readiness: &Readiness, gate: &Arc<Gate>) {
    let gate = Arc::downgrade(gate);
    readiness.watch_payments(move || match gate.upgrade().map(|gate| gate.replay().status()) {
        Some(StoreStatus::InMemory) => PaymentMemory::in_memory(),
        Some(StoreStatus::Ready) => PaymentMemory::on_disk(),
        Some(StoreStatus::Unusable(fault)) => PaymentMemory::unusable(fault.to_string()),
        None => PaymentMemory::unusable(StoreFault::Closed.to_string()),
    });
}
