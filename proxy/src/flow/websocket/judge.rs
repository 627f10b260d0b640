//! A client's messages against the rules in force when they are sent.

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderMap, Method};
use tollgate_policy::{Messages, Reason, WEBSOCKET_TEXT};

use super::super::connection::Connection;
use super::super::engine::Engine;
use super::super::head::Head;
use super::super::record::Record;
use super::fault::Fault;
use super::said::Said;
use crate::audit::Protocol;
use crate::gate::{Denial, Request, Ruleset};
use crate::x402::carriers::Carried;

/// See the module.
pub(super) struct Judge<'e> {
    pub(super) engine: &'e Engine,
    connection: &'e Connection,
    /// The handshake's head under the method by which messages are judged and written down.
    pub(super) text: Arc<Head>,
    binary: Arc<Head>,
    addresses: Arc<[IpAddr]>,
    no_fields: HeaderMap,
    /// What passed.
    said: &'e mut Said,
}

impl<'e> Judge<'e> {
    pub(super) fn new(
        engine: &'e Engine,
        connection: &'e Connection,
        handshake: &Head,
        addresses: Arc<[IpAddr]>,
        said: &'e mut Said,
    ) -> Self {
        let under = |method: &str| {
            Arc::new(Head {
                method: Method::from_bytes(method.as_bytes()).unwrap_or_default(),
                ..handshake.clone()
            })
        };
        Judge {
            engine,
            connection,
            text: under(WEBSOCKET_TEXT),
            binary: under("WEBSOCKET_BINARY"),
            addresses,
            no_fields: HeaderMap::new(),
            said,
        }
    }

    /// A text message, before any of it leaves; a payment in it is spent when this comes back.
    pub(super) async fn text(&mut self, text: &str) -> Result<(), Denial> {
        match self.judge_text(text).await {
            Ok(None) => Ok(()),
            Ok(Some(carried)) => self.pay(&carried, text).await,
            Err(denial) => {
                self.refused(&self.text, &denial).await;
                Err(denial)
            }
        }
    }

    pub(super) async fn request(&self, rules: &Ruleset) -> Request<'_> {
        let head = &*self.text;
        let authority = head.destination.authority();
        Request {
            destination: &head.destination,
            method: &head.method,
            path: &head.path,
            query: head.query.as_deref(),
            // Those of the handshake have been judged.
            headers: &self.no_fields,
            caller: self.engine.caller(&self.connection.client, rules, authority).await,
        }
    }

    async fn judge_text(&mut self, text: &str) -> Result<Option<Carried>, Denial> {
        let engine = self.engine;
        let rules = engine.gate.rules();
        let request = self.request(&rules).await;
        let (route, carried) = engine.gate.judge_message(&rules, &request, text)?;
        engine
            .audit
            .ready()
            .map_err(|_| Denial::new(Reason::OverCapacity, "the audit trail cannot be written, so nothing may leave"))?;
        if route.would_deny.is_some() {
            let mut record = self.record(&self.text, rules.generation);
            record.routed(&route);
            record.finish().await;
        }
        self.said.add(&route);
        Ok(carried)
    }

    /// A binary message that begins like JSON: most servers do not ask by what kind of message it came, so it is judged as a text.
    pub(super) async fn document(&mut self, bytes: &[u8]) -> Result<(), Denial> {
        let text = String::from_utf8_lossy(bytes);
        let judged = match self.judge_binary(&self.engine.gate.rules()) {
            Ok(()) => self.judge_document(bytes, &text).await,
            Err(denial) => Err(denial),
        };
        match judged {
            Ok(None) => Ok(()),
            Ok(Some(carried)) => self.pay(&carried, &text).await,
            Err(denial) => {
                self.refused(&self.binary, &denial).await;
                Err(denial)
            }
        }
    }

    async fn judge_document(&mut self, bytes: &[u8], text: &str) -> Result<Option<Carried>, Denial> {
        if bytes == text.as_bytes() {
            return self.judge_text(text).await;
        }
        let as_it_is = self.engine.gate.judge_body(self.text.path.as_str(), bytes)?;
        let as_read = self.judge_text(text).await?;
        // What is judged is what the origin reads, or nothing is paid.
        match as_it_is.or(as_read) {
            None => Ok(None),
            Some(_) => Err(Denial::new(Reason::PaymentMalformed, "a payment in a message that is not UTF-8")),
        }
    }

    /// Any other binary message, which is not read.
    pub(super) async fn binary(&self) -> Result<(), Denial> {
        let rules = self.engine.gate.rules();
        let mut judged = self.judge_binary(&rules);
        if judged.is_ok() && self.engine.gate.messages(&rules, &self.request(&rules).await) == Messages::Operations {
            let detail = "a binary message holds no operation that could be judged, and the policy's rules are about operations";
            judged = Err(Denial::new(Reason::UninspectableTraffic, detail));
        }
        if let Err(denial) = &judged {
            self.refused(&self.binary, denial).await;
        }
        judged
    }

    fn judge_binary(&self, rules: &Ruleset) -> Result<(), Denial> {
        if !rules.must_be_readable(&self.binary.destination.authority().host) {
            return Ok(());
        }
        let detail = "a binary message could carry a payment that cannot be read, and a payment rule covers this host";
        Err(Denial::new(Reason::UninspectableTraffic, detail))
    }

    /// Frames that are none, or a message that cannot be read.
    pub(super) async fn fault(&self, fault: Fault) -> Denial {
        let denial = fault.denial();
        self.refused(&self.text, &denial).await;
        denial
    }

    /// A message that does not come to its end, or for which there is no room.
    pub(super) async fn stopped(&self, denial: &Denial) {
        self.refused(&self.text, denial).await;
    }

    async fn refused(&self, head: &Arc<Head>, denial: &Denial) {
        let mut record = self.record(head, self.engine.gate.rules().generation);
        record.denied(denial);
        // There is a close code, and no status.
        record.status = None;
        record.finish().await;
    }

    pub(super) fn record(&self, head: &Arc<Head>, generation: u64) -> Record<'e> {
        self.scene().record(head, generation)
    }

    /// What of the connection goes into the lines about its messages.
    pub(super) fn scene(&self) -> Scene<'e> {
        Scene {
            engine: self.engine,
            connection: self.connection,
            addresses: self.addresses.clone(),
        }
    }
}

/// Where messages are sent.
pub(super) struct Scene<'e> {
    pub(super) engine: &'e Engine,
    connection: &'e Connection,
    addresses: Arc<[IpAddr]>,
}

impl<'e> Scene<'e> {
    /// Begins a line.
    pub(super) fn record(&self, head: &Arc<Head>, generation: u64) -> Record<'e> {
        let connection = self.connection;
        let mut record = Record::begin(
            self.engine,
            &connection.client,
            generation,
            connection.adapter(),
            Protocol::WebSocket,
        );
        record.read(head);
        record.addresses = self.addresses.clone();
        record
    }
}
