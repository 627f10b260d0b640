//! One request, judged in the order of an exchange but without a connection: what `explain` shows.
//!
//! In: a request as its client would send it. Out: what each step found, up to the first denial. Every step calls what
//! [`exchange`](super::exchange) and the CONNECT before it call; only the order is repeated here, and a test holds it against a
//! running proxy. Nothing is resolved, dialled, reserved or asked of a service.

mod report;
mod wire;

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method};
use pingora::http::RequestHeader;
use tollgate_policy::{Authority, BodyReading, Facts, Inspection, Messages, Reason, WEBSOCKET_TEXT};

use super::body::{self, Need};
use super::engine::Binaries;
use super::exchange::{bound_for, credential_denial, now, refuse_assembled, refuse_unreadable_websocket};
use super::failure::Failure;
use super::head::{Head, Scope};
use super::payment;
use super::signing::{self, Vessel};
use super::websocket;
use crate::credentials::CredentialStore;
use crate::egress::{Destination, Resolver, Security};
use crate::gate::{Asked, Caller, Denial, Gate, Layer, Request, Route, Ruleset};
use crate::settings::Limits;
use crate::verdict::Question;
use crate::x402::carriers::Carried;
use crate::x402::claim::Claim;
use wire::{Asks, Wire};

pub use report::{Answer, DryRequest, DryRun, Finding, Pass, Stage, Step};
pub use wire::UrlError;

/// All of an [`Engine`](super::Engine) that judges.
pub struct DryEngine {
    /// The rules.
    pub gate: Gate,
    /// Asked only for what needs no look-up.
    pub resolver: Arc<Resolver>,
    /// Which placeholders may go where; the secrets do not matter.
    pub credentials: CredentialStore,
    /// Bounds.
    pub limits: Limits,
    /// Whether `binaries` are enforced.
    pub binaries: Binaries,
}

impl DryEngine {
    /// Judges a request. An error is a URL that no client could ask for.
    pub async fn judge(&self, request: &DryRequest<'_>) -> Result<DryRun, UrlError> {
        let rules = self.gate.rules();
        let wire = Wire::new(request)?;
        let mut run = DryRun {
            steps: Vec::new(),
            layer: Layer::L4,
            authority: None,
            path: None,
            policy: None,
            outcome: Ok(Pass::default()),
        };
        let mut stage = Stage::Connection;
        run.outcome = self.walk(&rules, &wire, request, &mut run, &mut stage).await;
        if let Err(denial) = &run.outcome {
            let detail = format!("{}: {}", denial.reason, denial.detail);
            run.step(stage, Finding::Denied, detail);
        }
        Ok(run)
    }

    async fn walk(
        &self,
        rules: &Ruleset,
        wire: &Wire<'_>,
        request: &DryRequest<'_>,
        run: &mut DryRun,
        stage: &mut Stage,
    ) -> Result<Pass, Denial> {
        // A CONNECT for https, an absolute-form request for http.
        let tunnel = match wire.security {
            Security::Plain => None,
            Security::Tls => {
                let authority = wire.connect_authority()?;
                match self.connect(rules, &authority, request.caller, run, stage)? {
                    Through::Read => Some(Arc::new(Destination::new(authority, Security::Tls))),
                    Through::Unread(pass) => return Ok(*pass),
                }
            }
        };
        *stage = Stage::Request;
        run.layer = Layer::L7;
        let scope = tunnel.as_ref().map_or(Scope::Forward(None), Scope::Tunnel);
        wire.check()?;
        let head = Arc::new(Head::read(scope, &wire.head, Some(&wire.raw), &self.limits)?);
        run.authority = Some(head.destination.authority().clone());
        run.path = Some(head.path.as_str().to_owned());
        let route = self.judge_head(rules, &head, &wire.head, request.caller, run)?;
        let mut pass = pass_of(route.clone());
        *stage = Stage::Address;
        if tunnel.is_none() {
            self.addresses(&route, head.destination.authority(), run)?;
        } else if let Some(addresses) = self.resolver.known(&head.destination.authority().host) {
            self.gate.judge_addresses(&route, head.destination.authority(), &addresses)?;
        }
        *stage = Stage::Payment;
        let at = request.at.unwrap_or_else(now);
        let mut claim = self.payment(rules, &head, &wire.head, at, run)?;
        *stage = Stage::Body;
        let (bytes, carried) = self.body(&head, &route, wire, request, claim.as_ref(), run)?;
        if wire.asks != Asks::Message
            && let Some(reading) = route.reading()
        {
            let asked = self.request(rules, &head, &wire.head, request.caller);
            pass.take(self.operations(rules, &asked, &route, reading, &bytes.unwrap_or_default(), run)?);
        }
        if let Some(carried) = carried {
            *stage = Stage::Payment;
            claim = Some(self.carried(rules, &head, &carried, Vessel::Body(&request.body), at, run)?);
        }
        *stage = Stage::Verdict;
        if let Some(claim) = &claim {
            self.verdict(claim, run).await?;
            pass.payment = Some(payment::facts_of(claim));
        }
        *stage = Stage::Credentials;
        if let Some(claim) = claim.filter(|claim| claim.unsigned.is_some()) {
            let detail = format!("after GO it is signed here, by {}; nothing is signed now", claim.payer);
            run.step(Stage::Credentials, Finding::Passed, detail);
        }
        self.credentials(&head, &wire.head, run)?;
        if wire.asks == Asks::Message {
            *stage = Stage::Message;
            return self.message(rules, &head, &route, request, run, stage).await;
        }
        Ok(pass)
    }

    fn caller<'c>(&self, rules: &Ruleset, authority: &Authority, given: &'c Caller) -> &'c Caller {
        if self.binaries == Binaries::Ignored {
            &Caller::NotEnforced
        } else if self.gate.needs_caller(rules, authority) {
            given
        } else {
            Caller::UNASKED
        }
    }

    fn connect(
        &self,
        rules: &Ruleset,
        authority: &Authority,
        caller: &Caller,
        run: &mut DryRun,
        stage: &mut Stage,
    ) -> Result<Through, Denial> {
        run.authority = Some(authority.clone());
        let caller = self.caller(rules, authority, caller);
        let facts = Facts {
            host: &authority.host,
            port: authority.port,
            caller: caller.facts(),
            request: None,
        };
        run.policy = Some(rules.policy.explain(&facts));
        let route = self.gate.judge_connection(rules, authority, caller)?;
        run.step(
            Stage::Connection,
            finding(&route),
            format!("{authority} is listed by {}", listed_by(&route)),
        );
        *stage = Stage::Address;
        self.addresses(&route, authority, run)?;
        if route.inspection() == Inspection::Opaque {
            run.step(
                Stage::Request,
                Finding::Passed,
                "the endpoint's TLS is not terminated (`tls: skip`), so requests pass unread",
            );
            return Ok(Through::Unread(Box::new(pass_of(route))));
        }
        Ok(Through::Read)
    }

    fn addresses(&self, route: &Route<'_>, authority: &Authority, run: &mut DryRun) -> Result<(), Denial> {
        let Some(addresses) = self.resolver.known(&authority.host) else {
            let detail = "the name is not looked up here; at run time all its addresses are judged before anything is dialled";
            run.step(Stage::Address, Finding::Unknown, detail);
            return Ok(());
        };
        self.gate.judge_addresses(route, authority, &addresses)?;
        let shown: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        run.step(Stage::Address, Finding::Passed, format!("{} may be dialled", shown.join(", ")));
        Ok(())
    }

    fn judge_head<'r>(
        &self,
        rules: &'r Ruleset,
        head: &Head,
        fields: &RequestHeader,
        caller: &Caller,
        run: &mut DryRun,
    ) -> Result<Route<'r>, Denial> {
        let request = self.request(rules, head, fields, caller);
        run.policy = Some(self.gate.explain_operations(rules, &request, &[]));
        let route = self.gate.judge_head(rules, &request)?;
        refuse_unreadable_websocket(rules, &route, head, fields)?;
        let shown = format!("{} {}", head.method, head.path.as_str());
        let detail = match (route.reading(), route.would_deny) {
            (Some(reading), None) => format!("{shown} is for {}, which reads it as {}", listed_by(&route), reading.protocol),
            _ => judged(&route, &shown),
        };
        run.step(Stage::Request, finding(&route), detail);
        Ok(route)
    }

    fn request<'a>(&self, rules: &Ruleset, head: &'a Head, fields: &'a RequestHeader, caller: &'a Caller) -> Request<'a> {
        Request {
            destination: &head.destination,
            method: &head.method,
            path: &head.path,
            query: head.query.as_deref(),
            headers: &fields.headers,
            caller: self.caller(rules, head.destination.authority(), caller),
        }
    }

    /// A text message after its handshake has passed: judged by itself, as each one is at run time.
    async fn message(
        &self,
        rules: &Ruleset,
        handshake: &Head,
        opened: &Route<'_>,
        request: &DryRequest<'_>,
        run: &mut DryRun,
        stage: &mut Stage,
    ) -> Result<Pass, Denial> {
        if opened.messages() == Messages::Unread {
            run.step(
                Stage::Message,
                Finding::Passed,
                "the endpoint is not a `websocket` one: messages pass unread",
            );
            return Ok(pass_of(opened.clone()));
        }
        let method = Method::from_bytes(WEBSOCKET_TEXT.as_bytes()).unwrap_or_default();
        let head = Head {
            method,
            ..handshake.clone()
        };
        let text = websocket::text_of(&request.body, self.limits.websocket_message).map_err(websocket::Fault::denial)?;
        let asked = Request {
            destination: &head.destination,
            method: &head.method,
            path: &head.path,
            query: head.query.as_deref(),
            headers: &HeaderMap::new(),
            caller: self.caller(rules, head.destination.authority(), request.caller),
        };
        run.policy = Some(self.gate.explain_message(rules, &asked, text));
        let (route, carried) = self.gate.judge_message(rules, &asked, text)?;
        let shown = match &route.operation {
            Some(operation) => format!("{} {}: {}", head.method, head.path.as_str(), operation.as_str()),
            None => format!("{} {}", head.method, head.path.as_str()),
        };
        run.step(Stage::Message, finding(&route), judged(&route, &shown));
        let mut pass = pass_of(route);
        if let Some(carried) = carried {
            *stage = Stage::Payment;
            let claim = self.carried(rules, &head, &carried, Vessel::Message, request.at.unwrap_or_else(now), run)?;
            *stage = Stage::Verdict;
            self.verdict(&claim, run).await?;
            pass.payment = Some(payment::facts_of(&claim));
        }
        Ok(pass)
    }

    fn payment(&self, rules: &Ruleset, head: &Head, fields: &RequestHeader, at: u64, run: &mut DryRun) -> Result<Option<Claim>, Denial> {
        let Some(found) = payment::detect(head, &fields.headers) else {
            return Ok(None);
        };
        let claim = payment::check(&self.gate, rules, head, found, at)?;
        if let Some(claim) = &claim {
            run.step(Stage::Payment, Finding::Passed, format!("{} {}", signed(claim), transfer(claim)));
        }
        Ok(claim)
    }

    fn carried(
        &self,
        rules: &Ruleset,
        head: &Head,
        carried: &Carried,
        vessel: Vessel<'_>,
        at: u64,
        run: &mut DryRun,
    ) -> Result<Claim, Denial> {
        let claim = payment::check_carried(&self.gate, rules, head, carried, at)?;
        signing::check_vessel(&claim, carried, vessel)?;
        run.step(
            Stage::Payment,
            Finding::Passed,
            format!("in the body, {} {}", signed(&claim), transfer(&claim)),
        );
        Ok(claim)
    }

    /// The body as far as it is read, and the payment in it.
    fn body(
        &self,
        head: &Arc<Head>,
        route: &Route<'_>,
        wire: &Wire<'_>,
        asked: &DryRequest<'_>,
        in_head: Option<&Claim>,
        run: &mut DryRun,
    ) -> Result<(Option<Bytes>, Option<Carried>), Denial> {
        if wire.asks == Asks::Message {
            // The handshake has none; what there is, is the message's.
            return Ok((None, None));
        }
        let need = Need::of(route.reading(), &self.limits);
        let bytes = body::whole(&wire.head, head, &asked.body, need);
        let bytes = bytes.map_err(|failure| denial_of(payment::beside(failure, in_head)))?;
        let carried = match &bytes {
            Some(bytes) => payment::look(&self.gate, head, &wire.head.headers, bytes, in_head)?,
            None => None,
        };
        let detail = match (&bytes, &carried) {
            (Some(_), Some(_)) => "no call to a payment rail, but a payment",
            (Some(_), None) => "no call to a payment rail",
            (None, _) => "not JSON, and no payment in it",
        };
        if !asked.body.is_empty() {
            run.step(Stage::Body, Finding::Passed, detail);
        }
        Ok((bytes, carried))
    }

    fn operations<'r>(
        &self,
        rules: &'r Ruleset,
        request: &Request<'_>,
        route: &Route<'r>,
        reading: BodyReading,
        bytes: &[u8],
        run: &mut DryRun,
    ) -> Result<Route<'r>, Denial> {
        let operations = self.gate.read_operations(request, route, reading, bytes)?;
        run.policy = Some(self.gate.explain_operations(rules, request, &operations));
        let route = self.gate.judge_operations(rules, request, &operations)?;
        let shown = route.operation.as_deref().map_or("", Asked::as_str);
        run.step(Stage::Body, finding(&route), judged(&route, shown));
        Ok(route)
    }

    /// The embedded backend answers here as it would at run time; a service is never asked for the sake of an explanation.
    async fn verdict(&self, claim: &Claim, run: &mut DryRun) -> Result<(), Denial> {
        let desk = self.gate.desk();
        let Some(told) = desk.told(&Question::from(claim)) else {
            let ruling = desk.judge(&Question::from(claim)).await;
            if let Some(denial) = payment::refusal(claim, &ruling) {
                return Err(denial);
            }
            run.step(Stage::Verdict, Finding::Passed, "the local lists say GO");
            return Ok(());
        };
        let detail = format!(
            "not asked here; at run time {} is asked about {} for {}, and only GO lets it out; it is told {}",
            desk.backend().as_str(),
            transfer(claim),
            claim.resource,
            String::from_utf8_lossy(&told),
        );
        run.step(Stage::Verdict, Finding::Unknown, detail);
        Ok(())
    }

    fn credentials(&self, head: &Head, fields: &RequestHeader, run: &mut DryRun) -> Result<(), Denial> {
        let attached = self
            .credentials
            .attach(bound_for(head), &fields.headers)
            .map_err(|e| credential_denial(&e))?;
        refuse_assembled(&attached)?;
        let mut names: Vec<String> = attached.fields.iter().map(|(name, _)| name.to_string()).collect();
        names.dedup();
        names.extend(attached.target.map(|_| "the target".to_owned()));
        if !names.is_empty() {
            run.step(
                Stage::Credentials,
                Finding::Passed,
                format!("a secret is put into {}", names.join(", ")),
            );
        }
        Ok(())
    }
}

/// Who has signed, or will.
fn signed(claim: &Claim) -> &'static str {
    if claim.unsigned.is_some() {
        "to be signed here after GO, for"
    } else {
        "signed for"
    }
}

/// What a CONNECT leads to.
enum Through {
    /// Requests that are read.
    Read,
    /// Bytes that are not.
    Unread(Box<Pass>),
}

fn pass_of(route: Route<'_>) -> Pass {
    let mut pass = Pass::default();
    pass.take(route);
    pass
}

fn transfer(claim: &Claim) -> String {
    let (amount, asset) = (claim.amount.to_decimal(claim.asset.decimals), &claim.asset);
    format!("{amount} of {}/{} to {}", asset.network, asset.address, claim.payee)
}

/// What became of something.
fn judged(route: &Route<'_>, shown: &str) -> String {
    match (&route.would_deny, &route.rule, route.reading()) {
        (Some(reason), ..) => format!("{shown} would be denied by {} ({reason}), which only audits", listed_by(route)),
        (None, Some(rule), _) => format!("{shown} is allowed by {rule} of {}", listed_by(route)),
        (None, None, Some(_)) => format!("{shown} needs no rule in {}", listed_by(route)),
        (None, None, None) => format!("{shown} is allowed by {}, which lists no requests", listed_by(route)),
    }
}

fn finding(route: &Route<'_>) -> Finding {
    if route.would_deny.is_some() {
        Finding::WouldDeny
    } else {
        Finding::Passed
    }
}

fn listed_by(route: &Route<'_>) -> String {
    route
        .policy
        .map_or_else(|| "the policy".to_owned(), |policy| format!("policy '{policy}'"))
}

/// Nothing here can break but what a rule says no to.
fn denial_of(failure: Failure) -> Denial {
    match failure {
        Failure::Denied(denial) => *denial,
        Failure::Broken(_) => Denial::new(Reason::InternalError, "the body cannot be read"),
    }
}
