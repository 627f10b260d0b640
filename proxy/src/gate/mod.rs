//! The three rules, in their order: route, rail, payment. One gate serves the proxy, `explain` and every other way in.
//!
//! In: a [`Request`] (or its parts, as far as they are known) and the [`Ruleset`] that was in force when it came. Out: what the flow
//! may do with it, or a [`Denial`]. Nothing here moves a byte; it waits for verdicts, and for used payments to be written down.

pub mod asked;
mod caller;
pub mod closure;
mod denial;
pub mod lints;
mod message;
pub mod payment;
pub mod rail;
mod request;
mod route;
mod ruleset;
pub mod stanzas;

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arc_swap::ArcSwap;
use http::HeaderMap;
use tokio::sync::watch;
use tollgate_policy::{Authority, BodyReading, Explanation, LoopbackDial, Messages, Operation, Reason};

pub use asked::{Asked, Different};
pub use caller::Caller;
pub use denial::{Denial, Layer, PaymentFacts, Subject};
pub use request::Request;
pub use route::Route;
pub use ruleset::{PaymentTerms, Ruleset};

use crate::settings::{Closer, Closers};
use crate::verdict::desk::Desk;
use crate::verdict::report::Reports;
use crate::x402::carriers::Carried;
use crate::x402::detect::{self, Found};
use crate::x402::traces::Trace;
use closure::Egress;
use message::Says;
use payment::challenges::{ChallengeMemory, ScreeningRule};
use payment::rate::{RateConfig, RateMemory};
use payment::replay::ReplayMemory;
use payment::terms::Terms;
use rail::{RailHit, Rails};

/// What the operator fixed at start.
pub struct Standing {
    /// The payment rails: built in and configured.
    pub rails: Rails,
    /// The operator's bounds on payments.
    pub terms: Terms,
    /// Whether loopback may be dialled.
    pub loopback: LoopbackDial,
    /// Who gives verdicts on payments.
    pub desk: Arc<Desk>,
    /// Who gives them on offers.
    pub screening_desk: Desk,
    /// Who hears what became of payments.
    pub reports: Reports,
    /// What is done with challenges where nobody says.
    pub screening: ScreeningRule,
    /// How many payments leave in a short time.
    pub rate: RateConfig,
}

/// See the module.
pub struct Gate {
    rules: ArcSwap<Ruleset>,
    changed: watch::Sender<()>,
    /// Who holds the kill switch; rules are put in force under its lock.
    closers: Mutex<Closers>,
    standing: Standing,
    replay: ReplayMemory,
    challenges: ChallengeMemory,
    rate: RateMemory,
    /// Our own listeners, never a destination.
    own: OnceLock<Vec<SocketAddr>>,
}

impl Gate {
    /// A gate that starts with these rules.
    pub fn new(standing: Standing, rules: Ruleset) -> Self {
        Gate {
            rules: ArcSwap::from_pointee(rules),
            changed: watch::Sender::default(),
            closers: Mutex::default(),
            replay: ReplayMemory::default(),
            challenges: ChallengeMemory::default(),
            rate: RateMemory::new(standing.rate),
            standing,
            own: OnceLock::new(),
        }
    }

    /// The same gate, which remembers used payments there.
    #[must_use]
    pub fn remembering(self, replay: ReplayMemory) -> Self {
        Gate { replay, ..self }
    }

    /// The rules in force now. A request is judged by one set from its head to its end.
    pub fn rules(&self) -> Arc<Ruleset> {
        self.rules.load_full()
    }

    /// Puts new rules in force. Open connections hear of it and judge themselves again.
    pub fn replace(&self, rules: Ruleset) {
        self.put_in_force(rules, &self.closers());
    }

    /// Lets nothing leave any more, and ends what is open. Gives back who holds it closed now.
    pub fn close(&self, by: Closer) -> Closers {
        self.hold(|closers| closers.insert(by))
    }

    /// Takes back [`Self::close`]; others may still hold it closed.
    pub fn open(&self, by: Closer) -> Closers {
        self.hold(|closers| closers.remove(&by))
    }

    fn hold(&self, change: impl FnOnce(&mut Closers) -> bool) -> Closers {
        let mut closers = self.closers();
        if change(&mut closers) {
            self.put_in_force(Ruleset::clone(&self.rules.load()), &closers);
        }
        closers.clone()
    }

    fn closers(&self) -> MutexGuard<'_, Closers> {
        self.closers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put_in_force(&self, rules: Ruleset, closers: &Closers) {
        let egress = Egress::of(closers);
        self.rules.store(Arc::new(Ruleset { egress, ..rules }));
        self.changed.send_replace(());
    }

    /// Tells of new rules.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Our own addresses, known once the listeners are bound.
    pub fn set_own_addresses(&self, own: Vec<SocketAddr>) {
        let _ = self.own.set(own);
    }

    /// The operator's bounds.
    pub fn standing(&self) -> &Standing {
        &self.standing
    }

    /// Whether this destination's rules ask which binary calls.
    pub fn needs_caller(&self, rules: &Ruleset, authority: &Authority) -> bool {
        rules.policy.needs_caller(&authority.host, authority.port)
    }

    /// Fields where no payment belongs: of a CONNECT request, of trailers. `place` says which.
    pub fn judge_stray_fields(&self, headers: &HeaderMap, place: &str) -> Result<(), Denial> {
        refuse_rail(self.standing.rails.scheme(headers))?;
        match detect::find(headers) {
            Found::Nothing => Ok(()),
            Found::Refused(refusal) => Err(Denial::new(refusal.reason, refusal.detail)),
            Found::Payment { .. } => Err(Denial::new(Reason::PaymentMalformed, format!("a payment {place}"))),
            Found::SignIn { .. } => Err(Denial::new(Reason::PaymentMalformed, format!("a wallet sign-in {place}"))),
        }
    }

    /// The connection level: rail by name, then route by host, port and binary.
    pub fn judge_connection<'r>(&self, rules: &'r Ruleset, authority: &Authority, caller: &Caller) -> Result<Route<'r>, Denial> {
        rules.egress.check()?;
        refuse_rail(self.standing.rails.destination(&authority.host, authority.port))?;
        route::connection(rules, authority, caller)
    }

    /// The addresses the name has: none of ours, all tolerated by the endpoint, no rail's.
    pub fn judge_addresses(&self, route: &Route<'_>, authority: &Authority, addresses: &[IpAddr]) -> Result<(), Denial> {
        if addresses.iter().any(|address| self.is_own(*address, authority.port)) {
            return Err(Denial::new(Reason::SelfTarget, format!("{authority} is Tollgate itself")));
        }
        refuse_rail(addresses.iter().find_map(|address| self.standing.rails.address(*address)))?;
        route.check_addresses(authority, addresses, self.standing.loopback)
    }

    fn is_own(&self, address: IpAddr, port: u16) -> bool {
        let own = self.own.get().map_or(&[][..], Vec::as_slice);
        own.iter().any(|mine| {
            let same_host = mine.ip() == address || (mine.ip().is_unspecified() && address.to_canonical().is_loopback());
            mine.port() == port && (same_host || address.to_canonical() == mine.ip().to_canonical() || address.is_unspecified())
        })
    }

    /// The request level: rail by name, route by method, path and query, rail by target and scheme.
    pub fn judge_head<'r>(&self, rules: &'r Ruleset, request: &Request<'_>) -> Result<Route<'r>, Denial> {
        rules.egress.check()?;
        let authority = request.destination.authority();
        let rails = &self.standing.rails;
        refuse_rail(rails.destination(&authority.host, authority.port))?;
        let route = route::request(rules, request)?;
        refuse_rail(rails.target(request.method.as_str(), request.path.as_str(), &authority.host))?;
        refuse_rail(request.query.and_then(|query| rails.query(query)))?;
        refuse_rail(rails.scheme(request.headers))?;
        Ok(route)
    }

    /// A JSON body: a rail by what it asks for; or a payment, to be judged by the payment rule.
    pub fn judge_body(&self, request_path: &str, body: &[u8]) -> Result<Option<Carried>, Denial> {
        self.standing.rails.in_body(request_path, body).map_err(denied)
    }

    /// What a held and decoded body asks for, by the protocol of the endpoint that the head led to.
    pub fn read_operations(
        &self,
        request: &Request<'_>,
        route: &Route<'_>,
        reading: BodyReading,
        body: &[u8],
    ) -> Result<Vec<Operation>, Denial> {
        route::read(request, route, reading, body)
    }

    /// The operation level: the route again, for each thing that the body asks for.
    pub fn judge_operations<'r>(&self, rules: &'r Ruleset, request: &Request<'_>, operations: &[Operation]) -> Result<Route<'r>, Denial> {
        route::operations(rules, request, operations)
    }

    /// The same with the policy's own trace, of the operation that decides.
    pub fn explain_operations(&self, rules: &Ruleset, request: &Request<'_>, operations: &[Operation]) -> Explanation {
        let facts = route::facts(request);
        let (_, facts) = rules.policy.decide_each(&facts, operations);
        rules.policy.explain(&facts)
    }

    /// A client's text message on a WebSocket: rail by name, route by the method that stands for messages or by the operations in the
    /// message, rail by what it asks for; with the payment that it carries. `request` is the handshake's under that method.
    pub fn judge_message<'r>(&self, rules: &'r Ruleset, request: &Request<'_>, text: &str) -> Result<(Route<'r>, Option<Carried>), Denial> {
        rules.egress.check()?;
        let authority = request.destination.authority();
        refuse_rail(self.standing.rails.destination(&authority.host, authority.port))?;
        let route = match message::read(rules, request, text)? {
            Says::Anything => route::request(rules, request)?,
            Says::Nothing(opened) => opened,
            Says::Operations(operations) => route::operations(rules, request, &operations)?,
        };
        let path = request.path.as_str();
        let carried = self.judge_body(path, text.as_bytes())?;
        // Socket.IO and its like put a few characters before their JSON. A payment behind them is in nobody's documented place.
        if let Some(json) = text.find(['{', '[']).filter(|at| *at > 0).and_then(|at| text.get(at..))
            && self.judge_body(path, json.as_bytes())?.is_some()
            && carried.is_none()
        {
            return Err(Denial::new(
                Reason::PaymentMalformed,
                "a payment behind the prefix of a wire format",
            ));
        }
        Ok((route, carried))
    }

    /// What the rules in force say becomes of messages on the WebSocket that this one is for.
    pub fn messages(&self, rules: &Ruleset, message: &Request<'_>) -> Messages {
        route::request(rules, &message::handshake(message)).map_or(Messages::Unread, |opened| opened.messages())
    }

    /// What [`Self::judge_message`] finds, with the policy's own trace.
    pub fn explain_message(&self, rules: &Ruleset, request: &Request<'_>, text: &str) -> Explanation {
        match message::read(rules, request, text) {
            Ok(Says::Operations(operations)) => self.explain_operations(rules, request, &operations),
            Ok(Says::Nothing(_)) => self.explain_operations(rules, &message::handshake(request), &[]),
            Ok(Says::Anything) | Err(_) => self.explain_operations(rules, request, &[]),
        }
    }

    /// Whether the head of an answer asks to be paid by a rail.
    pub fn judge_offers(&self, headers: &HeaderMap) -> Result<(), Denial> {
        refuse_rail(self.standing.rails.offered(headers))
    }

    /// Whether a JSON-RPC answer does.
    pub fn judge_answer(&self, text: &[u8]) -> Result<(), Denial> {
        refuse_rail(self.standing.rails.offered_in(text))
    }

    /// The payment memory.
    pub fn replay(&self) -> &ReplayMemory {
        &self.replay
    }

    /// The challenges that passed.
    pub fn challenges(&self) -> &ChallengeMemory {
        &self.challenges
    }

    /// The count of payments that left.
    pub fn rate(&self) -> &RateMemory {
        &self.rate
    }

    /// Who gives verdicts.
    pub fn desk(&self) -> &Desk {
        &self.standing.desk
    }
}

fn refuse_rail(hit: Option<RailHit>) -> Result<(), Denial> {
    hit.map_or(Ok(()), |hit| Err(denied(hit)))
}

/// A trace of a payment in a body that is not JSON: nothing in it is judged, so it is refused.
pub(crate) fn denied_trace(request_path: &str, trace: Trace) -> Denial {
    denied(rail::call::trace_hit(request_path, trace))
}

/// A rail denial never says how it could be got around.
fn denied(hit: RailHit) -> Denial {
    Denial::new(hit.reason, hit.detail)
}
