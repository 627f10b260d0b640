//! What every exchange needs: the gate, the way out, credentials, and where things are written down.

use std::net::IpAddr;
use std::sync::Arc;

use pingora::protocols::Stream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tollgate_policy::{Authority, Reason};

use super::answer;
use super::body::HeldBytes;
use super::connection::{Client, Connection};
use super::record::Record;
use super::session::ClientSession;
use crate::audit::{Adapter, Process, Protocol, Sink};
use crate::credentials::CredentialStore;
use crate::egress::{ClientProtocol, Connector, Destination, Origin, PoolGroup, ResolveError, Resolver};
use crate::gate::{Caller, Denial, Gate, Layer, Route, Ruleset};
use crate::identity::{ClientProcess, Identities, IdentityError};
use crate::metrics::Metrics;
use crate::settings::{Insecure, Limits};
use crate::signer::Signer;

/// Whether `binaries` are enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binaries {
    /// As the policy says.
    Enforced,
    /// `insecure.ignore_binaries`.
    Ignored,
}

impl Binaries {
    /// As the operator set it.
    pub fn of(insecure: &Insecure) -> Self {
        if insecure.ignore_binaries {
            Binaries::Ignored
        } else {
            Binaries::Enforced
        }
    }
}

/// See the module.
pub struct Engine {
    /// The rules.
    pub gate: Arc<Gate>,
    /// Names to addresses.
    pub resolver: Arc<Resolver>,
    /// Dials and pools.
    pub connector: Arc<Connector>,
    /// Connections to processes.
    pub identities: Identities,
    /// Placeholders to secrets.
    pub credentials: Arc<CredentialStore>,
    /// Who signs payments after their GO.
    pub signer: Option<Arc<Signer>>,
    /// The audit trail.
    pub audit: Arc<Sink>,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Bounds.
    pub limits: Limits,
    /// Whether `binaries` are enforced.
    pub binaries: Binaries,
    pub(crate) held: HeldBytes,
}

impl Engine {
    /// Finds out who is behind a connection, once, and only where a rule asks.
    pub(crate) async fn caller<'c>(&self, client: &'c Client, rules: &Ruleset, authority: &Authority) -> &'c Caller {
        if self.binaries == Binaries::Ignored {
            return &Caller::NotEnforced;
        }
        if !self.gate.needs_caller(rules, authority) {
            return client.caller.get().unwrap_or(Caller::UNASKED);
        }
        client.caller.get_or_init(|| self.identify(client)).await
    }

    /// Whether the rules still list what the connection leads to.
    pub(crate) async fn still_allowed(&self, rules: &Ruleset, connection: &Connection) -> bool {
        let Some((authority, addresses)) = connection.leads_to() else {
            return true;
        };
        let caller = self.caller(&connection.client, rules, &authority).await;
        let route = self.gate.judge_connection(rules, &authority, caller);
        route
            .and_then(|route| self.gate.judge_addresses(&route, &authority, &addresses))
            .is_ok()
    }

    /// Answers bytes that are no request, on a connection where no session can.
    pub(crate) async fn refuse_unread(&self, connection: &Connection, mut stream: Stream, denial: Option<Denial>) {
        let Some(denial) = denial else { return };
        let generation = self.gate.rules().generation;
        let mut record = Record::begin(self, &connection.client, generation, connection.adapter(), Protocol::Http1);
        if let Some(tunnel) = connection.tunnel() {
            record.towards(tunnel.authority());
        }
        self.refuse_raw(record, &denial, &mut stream).await;
    }

    /// Writes down HTTP/2 streams that were refused before they became requests.
    pub(crate) async fn note_refused(&self, connection: &Connection, denial: &Denial) {
        let generation = self.gate.rules().generation;
        let mut record = Record::begin(self, &connection.client, generation, connection.adapter(), Protocol::Http2);
        if let Some(tunnel) = connection.tunnel() {
            record.towards(tunnel.authority());
        }
        record.denied(denial);
        record.finish().await;
    }

    /// Answers a client whose bytes cannot be read or may not be passed on.
    pub(crate) async fn refuse_bytes(&self, client: &Arc<Client>, authority: &Authority, denial: &Denial, stream: &mut TcpStream) {
        let generation = self.gate.rules().generation;
        let mut record = Record::begin(self, client, generation, Adapter::Tunnel, Protocol::Opaque);
        record.towards(authority);
        self.refuse_raw(record, denial, stream).await;
    }

    /// Writes a denial as the last thing on a connection.
    pub(crate) async fn refuse_raw(&self, mut record: Record<'_>, denial: &Denial, stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
        record.denied(denial);
        let bytes = record.raw_answer(denial);
        record.finish().await;
        answer::last_words(stream, &bytes).await;
    }

    /// Answers a request that new rules forbid while it was under way.
    pub(crate) async fn refuse_revoked(&self, connection: &Connection, reason: Reason, down: &mut ClientSession) {
        if !down.is_unanswered() {
            return down.cut();
        }
        let rules = self.gate.rules();
        let mut record = Record::begin(self, &connection.client, rules.generation, connection.adapter(), Protocol::Http1);
        if let Some((authority, addresses)) = connection.leads_to() {
            record.towards(&authority);
            record.addresses = addresses;
        }
        let denial = Denial::new(reason, "the rules changed while the request was under way, and no longer allow it");
        record.denied(&denial);
        let id = record.id.to_string();
        let _ = answer::deny(down, &denial, &record.subject(Layer::L4, &id)).await;
        record.finish().await;
    }

    /// Every address of the destination, all of them judged.
    pub(crate) async fn resolve(&self, route: &Route<'_>, authority: &Authority) -> Result<Arc<[IpAddr]>, Denial> {
        let addresses = self.resolver.resolve(&authority.host).await.map_err(|error| match error {
            ResolveError::NotResolved => Denial::new(Reason::NameNotResolved, format!("{} does not resolve", authority.host)),
            ResolveError::Timeout => Denial::new(Reason::NameNotResolved, format!("{} did not resolve in time", authority.host)),
        })?;
        self.gate.judge_addresses(route, authority, &addresses)?;
        Ok(addresses)
    }

    /// An origin at judged addresses, whose connections only this caller shares.
    pub(crate) fn origin(
        &self,
        destination: Arc<Destination>,
        client: ClientProtocol,
        addresses: Arc<[IpAddr]>,
        caller: &Caller,
    ) -> Arc<Origin> {
        let group = PoolGroup::of(caller.binary());
        Origin::new(self.connector.clone(), destination, client, addresses, group, &self.limits)
    }

    async fn identify(&self, client: &Client) -> Caller {
        if !client.address.ip().to_canonical().is_loopback() && client.address.ip() != client.listener.ip() {
            return Caller::Unidentified(Reason::BinaryNotAllowed);
        }
        match self.identities.of(client.address, client.listener).await {
            Ok(process) => Caller::identified(process_of(&process)),
            Err(IdentityError::Changed { binary }) => Caller::Changed(binary.display().to_string()),
            Err(error) => {
                tracing::debug!(connection = %client.id, %error, "the calling process cannot be told");
                Caller::Unidentified(error.reason())
            }
        }
    }
}

fn process_of(process: &ClientProcess) -> Process {
    Process {
        binary: process.binary.display().to_string(),
        pid: process.pid,
        ancestors: process.ancestors.iter().map(|path| path.display().to_string()).collect(),
    }
}
