//! Everything that the demo starts, and what has reached each part of it so far.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use rustls::ServerConfig;
use tokio::net::TcpSocket;
use tollgate_certs::{CertificateAuthority, DEFAULT_CAPACITY, LeafCache, LeafLifetime, LeafName, write_certificates};

use super::DemoError;
use super::client::Client;
use super::files::{self, ORIGIN, ORIGIN_ROOTS, POLICY, Ports, SELLER, Verdicts};
use super::origin::Origin;
use super::payer::Payer;
use super::rail::Rail;
use super::seller::Seller;
use crate::config::Config;
use crate::serve::{Settings, Tollgate};

/// A running Tollgate and the agent's client behind it.
pub(super) struct Gated {
    tollgate: Tollgate,
    pub(super) client: Client,
}

/// See the module.
pub(super) struct World {
    pub(super) origin: Origin,
    pub(super) seller: Seller,
    pub(super) rail: Rail,
    pub(super) payer: Payer,
    /// With the local verdict backend.
    pub(super) gated: Gated,
    /// With a verdict service that is down.
    pub(super) unjudged: Gated,
    pub(super) ports: Ports,
    /// Bound and never listened on: nobody answers there, and nobody else can take the port.
    _dead: TcpSocket,
    _folder: tempfile::TempDir,
}

impl World {
    pub(super) async fn start() -> Result<Self, DemoError> {
        let folder = tempfile::Builder::new().prefix("tollgate-demo-").tempdir()?;
        let path = folder.path();
        let certificates = Certificates::new(path)?;
        let origin = Origin::start(&*certificates.of(ORIGIN)?).await?;
        let seller = Seller::start(SELLER, &*certificates.of(SELLER)?).await?;
        let rail = Rail::start().await?;
        let dead = TcpSocket::new_v4()?;
        dead.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let ports = Ports {
            origin: origin.server.port(),
            seller: seller.server.port(),
            rail: rail.port(),
        };
        std::fs::write(path.join(POLICY), files::policy(ports))?;
        files::write_lists(path)?;
        Ok(World {
            gated: Gated::start(path, "local", Verdicts::Local).await?,
            unjudged: Gated::start(path, "service", Verdicts::Service(dead.local_addr()?.port())).await?,
            payer: Payer::new().ok_or_else(|| DemoError::Files("no key can be made".to_owned()))?,
            origin,
            seller,
            rail,
            ports,
            _dead: dead,
            _folder: folder,
        })
    }

    /// Lets both Tollgates drain.
    pub(super) async fn stop(self) {
        tokio::join!(
            self.gated.tollgate.serve_until(async {}),
            self.unjudged.tollgate.serve_until(async {})
        );
    }
}

impl Gated {
    /// Starts a Tollgate as `tollgate run --policy policy.yaml --config NAME.yaml` would.
    async fn start(folder: &Path, name: &str, verdicts: Verdicts) -> Result<Self, DemoError> {
        let file = folder.join(format!("{name}.yaml"));
        std::fs::write(&file, files::settings(name, verdicts))?;
        let config = Config::load(Some(&file)).map_err(|error| DemoError::Files(error.to_string()))?;
        let settings = Settings {
            policy: folder.join(POLICY).into(),
            config,
            directory: folder.to_owned(),
        };
        let tollgate = Tollgate::start(settings).await?;
        let client = Client::new(tollgate.proxy(), &tollgate.trust().ca)?;
        Ok(Gated { tollgate, client })
    }
}

/// The authority that the origins' certificates come from: another one than the Tollgates'.
struct Certificates(LeafCache);

impl Certificates {
    fn new(folder: &Path) -> Result<Self, DemoError> {
        let authority = CertificateAuthority::generate().map_err(failed)?;
        write_certificates(&folder.join(ORIGIN_ROOTS), [authority.certificate()]).map_err(failed)?;
        LeafCache::new(authority, LeafLifetime::default(), DEFAULT_CAPACITY)
            .map(Certificates)
            .map_err(failed)
    }

    fn of(&self, name: &str) -> Result<Arc<ServerConfig>, DemoError> {
        let name = LeafName::from_str(name).map_err(failed)?;
        self.0.server_config(&name).map_err(failed)
    }
}

fn failed(error: impl std::fmt::Display) -> DemoError {
    DemoError::Certificates(error.to_string())
}
