//! What is tried, what should come of it, and what did.

use std::fmt;
use std::time::Duration;

use axum::body::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use tollgate_policy::Reason;

use super::client::{Answer, Ask, ClientError};
use super::files::{ELSEWHERE, MIRROR, ORIGIN, RAIL, SELLER};
use super::seller::{self, Resource};
use super::world::{Gated, World};
use crate::flow::now;

/// A connection that should not be there is counted by a task of its own; this long it is waited for.
const SETTLE: Duration = Duration::from_millis(15);

/// What was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// `route`, `payment` or `rail`.
    pub rule: &'static str,
    /// In the words of the table.
    pub tried: &'static str,
    /// What should come of it, in a word.
    pub outcome: &'static str,
    /// As it should be.
    pub expected: Seen,
    /// As it was.
    pub actual: Seen,
}

impl Row {
    /// Whether it came out as it should.
    pub fn is_as_expected(&self) -> bool {
        self.expected == self.actual
    }
}

/// Both ends of one try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The agent's end: status and reason code.
    pub answer: String,
    /// What reached origin, seller and rail.
    pub other_side: String,
}

/// What has reached the other side.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Arrivals {
    requests: usize,
    unpaid: usize,
    paid: usize,
    /// Payments that are not byte for byte what the agent sent.
    altered: usize,
    rail: usize,
    /// Connections to the origin or the seller without a request.
    idle: usize,
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.requests, "request"),
            (self.unpaid, "unpaid request"),
            (self.paid, "payment"),
            (self.altered, "ALTERED payment"),
            (self.rail, "connection to the rail"),
            (self.idle, "idle connection"),
        ];
        let mut first = true;
        for (count, of) in counts.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{}{count} {of}", if first { "" } else { ", " })?;
            first = false;
        }
        if first { f.write_str("nothing") } else { Ok(()) }
    }
}

const NOTHING: Arrivals = Arrivals {
    requests: 0,
    unpaid: 0,
    paid: 0,
    altered: 0,
    rail: 0,
    idle: 0,
};
const REQUEST: Arrivals = Arrivals { requests: 1, ..NOTHING };
/// The challenge is fetched; the payment stays.
const UNPAID: Arrivals = Arrivals { unpaid: 1, ..NOTHING };
const PAID: Arrivals = Arrivals {
    unpaid: 1,
    paid: 1,
    ..NOTHING
};

/// One request.
struct Fetch {
    method: Method,
    host: &'static str,
    port: u16,
    path: &'static str,
    /// JSON, or nothing.
    body: &'static str,
}

/// What is done.
enum Try {
    Fetch(Fetch),
    /// Ask, sign what the 402 asks for, and ask again.
    Buy(Resource),
    /// The last payment once more.
    PayAgain(Resource),
}

/// What should come of it, in a word for the table, and in the answer.
enum Expected {
    Passes(&'static str),
    Denied(&'static str, Reason),
}

const RPC: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x02f8b0"]}"#;
const SETTLE_CALL: &str = r#"{"x402Version":2,"paymentPayload":{"x402Version":2,"payload":{}},"paymentRequirements":{"scheme":"exact"}}"#;

/// Tries everything, in order.
pub(super) async fn all(world: &World) -> Vec<Row> {
    use Expected::{Denied, Passes};
    let (get, post) = (|| Method::GET, || Method::POST);
    let (api, rail) = (world.ports.origin, world.ports.rail);
    let (gated, unjudged) = (&world.gated, &world.unjudged);
    let fetch = |method, host, port, path, body| {
        Try::Fetch(Fetch {
            method,
            host,
            port,
            path,
            body,
        })
    };
    #[rustfmt::skip]
    let cases = [
        ("route", "GET api.demo.test/hello", gated, fetch(get(), ORIGIN, api, "/hello", ""), Passes("pass"), REQUEST),
        ("route", "GET api.demo.test/admin, not listed", gated, fetch(get(), ORIGIN, api, "/admin", ""), Denied("refuse", Reason::PathNotAllowed), NOTHING),
        ("route", "GET elsewhere.demo.test, not listed", gated, fetch(get(), ELSEWHERE, api, "/", ""), Denied("refuse", Reason::HostNotAllowed), NOTHING),
        ("payment", "pay a payee on the list", gated, Try::Buy(Resource::Weather), Passes("GO: pass"), PAID),
        ("payment", "pay with the same signature again", gated, Try::PayAgain(Resource::Weather), Denied("refuse", Reason::PaymentReplayed), NOTHING),
        ("payment", "pay a payee that nobody knows", gated, Try::Buy(Resource::Gossip), Denied("HOLD: refuse", Reason::VerdictHold), UNPAID),
        ("payment", "pay a refused payee", gated, Try::Buy(Resource::Casino), Denied("STOP: refuse", Reason::VerdictStop), UNPAID),
        ("payment", "pay, the verdict service being dead", unjudged, Try::Buy(Resource::Weather), Denied("refuse", Reason::VerdictUnavailable), UNPAID),
        ("rail", "GET rail.demo.test, a rail by name", gated, fetch(get(), RAIL, rail, "/", ""), Denied("refuse", Reason::RailDestination), NOTHING),
        ("rail", "GET mirror.demo.test, one by address", gated, fetch(get(), MIRROR, rail, "/", ""), Denied("refuse", Reason::RailDestination), NOTHING),
        ("rail", "POST /rpc, eth_sendRawTransaction", gated, fetch(post(), ORIGIN, api, "/rpc", RPC), Denied("refuse", Reason::RailBroadcast), NOTHING),
        ("rail", "POST /settle, a facilitator's call", gated, fetch(post(), ORIGIN, api, "/settle", SETTLE_CALL), Denied("refuse", Reason::RailFacilitatorCall), NOTHING),
    ];
    let mut agent = Agent { world, signed: Vec::new() };
    let mut rows = Vec::with_capacity(cases.len());
    for (rule, tried, gated, attempt, expected, arrivals) in cases {
        let (outcome, answer) = match expected {
            Passes(outcome) => (outcome, StatusCode::OK.as_u16().to_string()),
            Denied(outcome, reason) => (outcome, format!("{} {reason}", StatusCode::FORBIDDEN.as_u16())),
        };
        let expected = Seen {
            answer,
            other_side: arrivals.to_string(),
        };
        let actual = agent.attempt(gated, attempt).await;
        rows.push(Row {
            rule,
            tried,
            outcome,
            expected,
            actual,
        });
    }
    rows
}

/// Tries things, and remembers what it has signed.
struct Agent<'w> {
    world: &'w World,
    signed: Vec<HeaderValue>,
}

/// How much had arrived at one moment.
struct Mark {
    connections: usize,
    requests: usize,
    unpaid: usize,
    payments: usize,
    rail: usize,
}

impl Agent<'_> {
    async fn attempt(&mut self, gated: &Gated, attempt: Try) -> Seen {
        let before = self.mark();
        let answer = match attempt {
            Try::Fetch(Fetch {
                method,
                host,
                port,
                path,
                body,
            }) => {
                let body = Bytes::from_static(body.as_bytes());
                let json = field(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
                let headers = if body.is_empty() { HeaderMap::new() } else { json };
                gated
                    .client
                    .ask(Ask {
                        method,
                        host,
                        port,
                        path,
                        headers,
                        body,
                    })
                    .await
            }
            Try::Buy(resource) => self.buy(gated, resource).await,
            Try::PayAgain(resource) => match self.signed.last().cloned() {
                Some(payment) => self.ask_seller(gated, resource, Some(payment)).await,
                None => {
                    return Seen {
                        answer: "there is no payment to repeat".to_owned(),
                        other_side: String::new(),
                    };
                }
            },
        };
        tokio::time::sleep(SETTLE).await;
        Seen {
            answer: answer.map_or_else(|error| error.to_string(), |answer| shown(&answer)),
            other_side: self.since(&before).to_string(),
        }
    }

    /// What an x402 client does: ask, read the 402, sign, ask again.
    async fn buy(&mut self, gated: &Gated, resource: Resource) -> Result<Answer, ClientError> {
        let asked = self.ask_seller(gated, resource, None).await?;
        let challenge = asked
            .headers
            .get("payment-required")
            .filter(|_| asked.status == StatusCode::PAYMENT_REQUIRED);
        let payment = challenge
            .zip(seller::asset())
            .and_then(|(challenge, asset)| self.world.payer.pay(challenge, &asset, now()));
        match payment {
            Some(payment) => {
                self.signed.push(payment.clone());
                self.ask_seller(gated, resource, Some(payment)).await
            }
            None => Ok(asked),
        }
    }

    async fn ask_seller(&self, gated: &Gated, resource: Resource, payment: Option<HeaderValue>) -> Result<Answer, ClientError> {
        let headers = payment
            .map(|payment| field(HeaderName::from_static("payment-signature"), payment))
            .unwrap_or_default();
        let port = self.world.ports.seller;
        gated
            .client
            .ask(Ask {
                method: Method::GET,
                host: SELLER,
                port,
                path: resource.path(),
                headers,
                body: Bytes::new(),
            })
            .await
    }

    fn mark(&self) -> Mark {
        let World { origin, seller, rail, .. } = self.world;
        Mark {
            connections: origin.server.connections() + seller.server.connections(),
            requests: origin.requests(),
            unpaid: seller.unpaid(),
            payments: seller.payments().len(),
            rail: rail.connections(),
        }
    }

    fn since(&self, before: &Mark) -> Arrivals {
        let now = self.mark();
        let arrived = self.world.seller.payments().split_off(before.payments);
        let (paid, altered): (Vec<_>, Vec<_>) = arrived.iter().partition(|payment| self.signed.last() == Some(payment));
        let (requests, unpaid) = (now.requests - before.requests, now.unpaid - before.unpaid);
        // Each request has a tunnel of its own, so there are at most as many connections as requests.
        let used = requests + unpaid + arrived.len();
        Arrivals {
            requests,
            unpaid,
            paid: paid.len(),
            altered: altered.len(),
            rail: now.rail - before.rail,
            idle: (now.connections - before.connections).saturating_sub(used),
        }
    }
}

fn field(name: HeaderName, value: HeaderValue) -> HeaderMap {
    HeaderMap::from_iter([(name, value)])
}

fn shown(Answer { status, headers }: &Answer) -> String {
    match headers.get("x-tollgate-reason").and_then(|reason| reason.to_str().ok()) {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}
