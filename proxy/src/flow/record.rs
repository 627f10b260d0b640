//! What is written down about one request: gathered on its way, and put into the audit trail and the metrics when it ends, however it
//! ends; a dropped exchange (client gone, policy reloaded, deadline) leaves its line too.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tollgate_policy::{Authority, Group, Reason};

use super::answer;
use super::connection::Client;
use super::engine::Engine;
use super::failure::Failure;
use super::head::Head;
use super::websocket::Said;
use crate::audit::{
    Adapter, Decision, Event, PaymentOutcome, PaymentRecord, PaymentScheme, Protocol, RequestId, RequestPath, Scheme, VerdictRecord,
    X402Version,
};
use crate::egress::Security;
use crate::gate::{Asked, Caller, Denial, Layer, PaymentFacts, Route, Subject};
use crate::metrics::AssetLabel;
use crate::x402::claim::{self, Claim, Version};

/// See the module.
pub(crate) struct Record<'e> {
    engine: &'e Engine,
    client: Arc<Client>,
    generation: u64,
    adapter: Adapter,
    protocol: Protocol,
    pub(crate) id: RequestId,
    time: SystemTime,
    started: Instant,
    /// Time spent waiting for the client's body, the verdict or the origin: not ours.
    waited: Duration,
    overhead_until: Option<Instant>,
    /// Only a method that is known, or `CONNECT`: the client's own words come with the head.
    pub(crate) method: Option<&'static str>,
    head: Option<Arc<Head>>,
    /// Where the head's path has something too long to be written down.
    shown_path: Option<String>,
    authority: Option<Authority>,
    pub(crate) addresses: Arc<[IpAddr]>,
    decision: Decision,
    reason: Option<Reason>,
    policy: Option<String>,
    rule: Option<String>,
    operation: Option<Box<Asked>>,
    messages: Option<u64>,
    pub(crate) payment: Option<PaymentRecord>,
    payment_labels: Option<(X402Version, PaymentScheme)>,
    amount: Option<(AssetLabel, f64)>,
    pub(crate) verdict: Option<VerdictRecord>,
    pub(crate) status: Option<u16>,
    pub(crate) traffic: Traffic,
    finished: Finished,
    meaning: Meaning,
}

/// What a line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// A decision.
    Decision,
    /// The end of what was decided before: the decision has been counted.
    End,
}

/// Body bytes that went over the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// From the client to the origin.
    pub(crate) bytes_up: u64,
    /// From the origin to the client.
    pub(crate) bytes_down: u64,
}

/// Whether the line has been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finished {
    Yes,
    No,
}

impl<'e> Record<'e> {
    pub(crate) fn begin(engine: &'e Engine, client: &Arc<Client>, generation: u64, adapter: Adapter, protocol: Protocol) -> Self {
        Record {
            engine,
            client: client.clone(),
            generation,
            adapter,
            protocol,
            id: RequestId::next(),
            time: SystemTime::now(),
            started: Instant::now(),
            waited: Duration::ZERO,
            overhead_until: None,
            method: None,
            head: None,
            shown_path: None,
            authority: None,
            addresses: Arc::default(),
            decision: Decision::Allow,
            reason: None,
            policy: None,
            rule: None,
            operation: None,
            messages: None,
            payment: None,
            payment_labels: None,
            amount: None,
            verdict: None,
            status: None,
            traffic: Traffic::default(),
            finished: Finished::No,
            meaning: Meaning::Decision,
        }
    }

    /// The line at the end of an upgraded connection, under the name of the request that upgraded it.
    pub(crate) fn end_of(self, upgrade: RequestId) -> Self {
        let mut end = self;
        end.id = upgrade;
        end.meaning = Meaning::End;
        end
    }

    /// It is a CONNECT request.
    pub(crate) fn connect(&mut self, authority: &Authority) {
        self.method = Some("CONNECT");
        self.towards(authority);
    }

    /// Where it goes, known from the tunnel.
    pub(crate) fn towards(&mut self, authority: &Authority) {
        self.authority = Some(authority.clone());
    }

    /// The head has been read.
    pub(crate) fn read(&mut self, head: &Arc<Head>) {
        self.shown_path = head.shown_path();
        self.head = Some(head.clone());
    }

    /// Takes what must not be written down out of a denial's texts.
    pub(crate) fn redact(&self, denial: &mut Denial) {
        let (Some(head), Some(shown)) = (&self.head, &self.shown_path) else {
            return;
        };
        let redacted = |text: &mut String| *text = text.replace(head.path.as_str(), shown);
        redacted(&mut denial.detail);
        denial.next_steps.iter_mut().for_each(redacted);
    }

    fn path(&self) -> Option<&str> {
        self.shown_path.as_deref().or(self.head.as_ref().map(|head| head.path.as_str()))
    }

    /// Runs something whose time is not ours.
    pub(crate) async fn wait<T>(&mut self, other: impl Future<Output = T>) -> T {
        let since = Instant::now();
        let outcome = other.await;
        self.waited += since.elapsed();
        outcome
    }

    /// From here on the time is the stream's.
    pub(crate) fn streaming(&mut self) {
        self.overhead_until = Some(Instant::now());
    }

    /// The rule that let it pass, and what it would have been denied for if the route were enforced.
    pub(crate) fn routed(&mut self, route: &Route<'_>) {
        self.policy = route.policy.map(str::to_owned);
        self.rule.clone_from(&route.rule);
        self.operation.clone_from(&route.operation);
        if route.would_deny.is_some() {
            self.decision = Decision::WouldDeny;
            self.reason = route.would_deny;
        }
    }

    /// A payment was found.
    pub(crate) fn payment_seen(&mut self, version: X402Version, scheme: PaymentScheme) {
        self.payment_labels = Some((version, scheme));
    }

    /// A body is refused for a payment that could not be told apart any further.
    pub(crate) fn payment_suspected(&mut self, denial: &Denial) {
        if denial.reason.group() == Group::Payment && self.payment_labels.is_none() {
            self.payment_seen(X402Version::Unknown, PaymentScheme::Other);
        }
    }

    /// The same of what stopped an exchange.
    pub(super) fn stopped(&mut self, failure: &Failure) {
        if let Failure::Denied(denial) = failure {
            self.payment_suspected(denial);
        }
    }

    /// Nothing came of it that anybody has to read.
    pub(super) fn discard(mut self) {
        self.finished = Finished::Yes;
    }

    /// It was none after all.
    pub(crate) fn no_payment(&mut self) {
        self.payment_labels = None;
    }

    /// A payment passed our own checks.
    pub(crate) fn claimed(&mut self, payment: PaymentRecord, claim: &Claim) {
        let version = match claim.version {
            Version::V1 => X402Version::V1,
            Version::V2 => X402Version::V2,
        };
        let asset = format!("{}/{}", claim.asset.network, claim.asset.address);
        let units = claim.amount.to_decimal(claim.asset.decimals).parse().unwrap_or_default();
        self.payment = Some(payment);
        self.payment_labels = Some((version, label_of(claim.scheme)));
        self.amount = Some((self.engine.metrics.asset_label(&asset), units));
    }

    /// What became of the payment.
    pub(crate) fn paid(&mut self, outcome: PaymentOutcome, transaction: Option<String>) {
        if let Some(payment) = &mut self.payment {
            payment.outcome = Some(outcome);
            payment.transaction = transaction;
        }
    }

    /// The client is told no.
    pub(crate) fn denied(&mut self, denial: &Denial) {
        self.decision = Decision::Deny;
        self.reason = Some(denial.reason);
        if denial.policy.is_some() {
            self.policy.clone_from(&denial.policy);
            self.rule.clone_from(&denial.rule);
        }
        if denial.operation.is_some() {
            self.operation.clone_from(&denial.operation);
        }
        self.status = Some(denial.status().as_u16());
        if self.payment.is_none() {
            self.payment = denial.payment.as_deref().map(record_of);
        }
    }

    /// What passed over a WebSocket whose messages are judged.
    pub(crate) fn said(&mut self, said: &Said) {
        self.messages = Some(said.messages);
        self.operation = said.asked().map(Box::new);
    }

    /// The client is told no within an answer that has begun: its status stands.
    pub(crate) fn denied_midway(&mut self, denial: &Denial) {
        let status = self.status;
        self.denied(denial);
        self.status = status;
    }

    /// The answer had begun when it broke.
    pub(crate) fn broken(&mut self, reason: Reason) {
        self.reason = Some(reason);
    }

    /// What a denial tells the client about its request.
    pub(crate) fn subject<'s>(&'s self, layer: Layer, request_id: &'s str) -> Subject<'s> {
        Subject {
            layer,
            method: self.method(),
            path: self.path(),
            authority: self.towhere(),
            binary: self.client.caller.get().and_then(Caller::binary),
            request_id,
        }
    }

    /// A denial as bytes of HTTP/1.1, for connections on which no session stands.
    pub(crate) fn raw_answer(&self, denial: &Denial) -> Vec<u8> {
        let id = self.id.to_string();
        answer::raw(denial, &self.subject(Layer::L4, &id))
    }

    fn method(&self) -> Option<&str> {
        self.head.as_ref().map(|head| head.method.as_str()).or(self.method)
    }

    fn towhere(&self) -> Option<&Authority> {
        self.head
            .as_ref()
            .map(|head| head.destination.authority())
            .or(self.authority.as_ref())
    }

    /// Writes the line, waiting for room where the audit trail has none.
    pub(crate) async fn finish(mut self) {
        self.finished = Finished::Yes;
        let duration = self.started.elapsed();
        self.count(duration);
        let audit = self.engine.audit.clone();
        audit.record(&self.event(duration)).await;
    }

    fn count(&self, duration: Duration) {
        if self.meaning == Meaning::End {
            return;
        }
        let ours = self.overhead_until.map_or(duration, |until| until.duration_since(self.started));
        let overhead = ours.saturating_sub(self.waited);
        let metrics = &self.engine.metrics;
        metrics.observe_request(self.adapter, self.decision, self.reason, duration, overhead);
        match self.reason {
            Some(reason) if reason.group() == Group::Rail => metrics.rail_denied(reason),
            Some(reason) if reason.group() == Group::Upstream => metrics.upstream_error(reason),
            _ => {}
        }
        if let Some((version, scheme)) = self.payment_labels {
            metrics.observe_payment(self.decision, self.reason, version, scheme);
        }
        if let Some((asset, units)) = self.amount {
            metrics.observe_amount(self.decision, asset, units);
        }
    }

    fn event(&self, duration: Duration) -> Event<'_> {
        let head = self.head.as_ref();
        let scheme = head.map(|head| match head.destination.security() {
            Security::Plain => Scheme::Http,
            Security::Tls => Scheme::Https,
        });
        Event {
            time: self.time,
            request_id: self.id,
            connection: self.client.id,
            generation: self.generation,
            process: self.client.caller.get().and_then(Caller::process),
            adapter: self.adapter,
            protocol: Some(self.protocol),
            method: self.method(),
            scheme,
            host: self.towhere().map(|authority| &authority.host),
            port: self.towhere().map(|authority| authority.port),
            path: self.path().map(RequestPath::of),
            decision: self.decision,
            reason_code: self.reason,
            policy: self.policy.as_deref(),
            rule: self.rule.as_deref(),
            operation: self.operation.as_deref().map(Asked::as_str),
            operations: self.operation.as_deref().and_then(Asked::different),
            messages: self.messages,
            addresses: &self.addresses,
            payment: self.payment.as_ref(),
            verdict: self.verdict.as_ref(),
            status: self.status,
            bytes_up: self.traffic.bytes_up,
            bytes_down: self.traffic.bytes_down,
            duration,
        }
    }
}

impl Drop for Record<'_> {
    /// The exchange was dropped: the client has gone, new rules forbid it, or a deadline has passed.
    fn drop(&mut self) {
        if self.finished == Finished::No {
            let duration = self.started.elapsed();
            self.count(duration);
            self.engine.audit.record_detached(&self.event(duration));
        }
    }
}

fn label_of(scheme: claim::Scheme) -> PaymentScheme {
    match scheme {
        claim::Scheme::Exact => PaymentScheme::Exact,
        claim::Scheme::ExactPermit2 => PaymentScheme::ExactPermit2,
        claim::Scheme::Upto => PaymentScheme::Upto,
        claim::Scheme::ExactSvm => PaymentScheme::ExactSvm,
    }
}

/// What the audit trail has of a payment that was refused before all of it was known.
fn record_of(facts: &PaymentFacts) -> PaymentRecord {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    PaymentRecord {
        version: facts.version.map(|version| version.to_string()).unwrap_or_default(),
        scheme: facts.scheme.unwrap_or_default().to_owned(),
        network: text(&facts.network),
        asset: text(&facts.asset),
        amount: String::new(),
        payee: text(&facts.payee),
        payer: text(&facts.payer),
        payment_hash: text(&facts.payment_hash),
        nonce_hash: text(&facts.nonce_hash),
        identifier_hash: None,
        outcome: None,
        transaction: None,
    }
}
