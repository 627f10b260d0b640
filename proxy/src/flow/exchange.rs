//! One request from its head to its settlement, top to bottom: the only place where the order of things is written down.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use http::StatusCode;
use pingora::http::RequestHeader;
use pingora::{Error, ErrorType};
use tollgate_policy::{BodyReading, Messages, Reason};

use super::answer;
use super::body::{self, Content, Held, Need};
use super::challenge::{self, Expected, Screening};
use super::connection::Connection;
use super::engine::Engine;
use super::failure::{self, Broken, Failure};
use super::head::{Head, Scope};
use super::outbound::{is_websocket, names_websocket};
use super::payment::{self, Paid, Paying};
use super::record::Record;
use super::relay::Watching;
use super::send::{Resend, Sending, Sent, or_gone};
use super::session::ClientSession;
use super::signing::Vessel;
use super::trailers::TrailerJudge;
use super::websocket::{self, Reading, Upgraded};
use crate::audit::Protocol;
use crate::credentials::{self, Attached, CredentialError};
use crate::egress::{ClientProtocol, Origin};
use crate::gate::{Denial, Layer, Request, Route, Ruleset};
use crate::verdict::Question;
use crate::x402::carriers::Carried;
use crate::x402::detect;

/// How an exchange ended.
pub(crate) enum Outcome {
    /// Answered in full; the session may be used again, as far as it allows that.
    Done,
    /// The same, and the answer was that the request is not well-formed.
    Malformed,
    /// `101`: both ends speak something else now.
    Upgraded(Box<Upgraded>),
    /// The answer was cut, or nobody listens any more.
    Ended,
}

impl Engine {
    /// Serves one request.
    pub(crate) async fn exchange(&self, connection: &Connection, down: &mut ClientSession) -> Outcome {
        let rules = self.gate.rules();
        let protocol = if down.is_h2() { Protocol::Http2 } else { Protocol::Http1 };
        let mut record = Record::begin(self, &connection.client, rules.generation, connection.adapter(), protocol);
        let outcome = match self.run(connection, &rules, down, &mut record).await {
            Ok(outcome) => outcome,
            Err(failure) => Box::pin(self.refuse(down, failure, &mut record)).await,
        };
        record.finish().await;
        outcome
    }

    async fn run(
        &self,
        connection: &Connection,
        rules: &Arc<Ruleset>,
        down: &mut ClientSession,
        record: &mut Record<'_>,
    ) -> Result<Outcome, Failure> {
        // 1. The head: one authority, one canonical target.
        let head = self.read_head(connection, down, record)?;

        // 2. Rail by name, route, rail by what the head says; then where it goes, at judged addresses only.
        let route = self.judge_head(connection, rules, &head, down, record).await?;
        let origin = self.find_origin(connection, rules, &route, &head, record).await?;

        // 3. A payment in the head, read and checked; nothing is asked yet.
        let paying = payment::find(self, rules, &head, &down.req_header().headers, record)?;

        // 4. The body, where a rule has to read it. So far nothing has touched the origin.
        let Held {
            body,
            to_judge,
            rest,
            trailers,
            reservation,
        } = if down.is_body_empty() {
            Held::nothing(&self.held)
        } else {
            let need = Need::of(route.reading(), &self.limits);
            // Boxed: most requests have no body, and the state of reading one would be part of every idle connection's.
            let judge = TrailerJudge::new(&self.gate, &self.limits);
            let read = Box::pin(body::read(down, &head, need, judge, &self.limits, &self.held));
            let read = record.wait(read).await;
            let in_head = paying.as_ref().map(|paying| &paying.claim);
            read.map_err(|failure| payment::beside(failure, in_head))
                .inspect_err(|failure| record.stopped(failure))?
        };
        let carried = match &to_judge {
            Some(bytes) => {
                let in_head = paying.as_ref().map(|paying| &paying.claim);
                let looked = payment::look(&self.gate, &head, &down.req_header().headers, bytes, in_head);
                looked.inspect_err(|denial| record.payment_suspected(denial))?.map(Box::new)
            }
            None => None,
        };
        let content = Content::of(&body, to_judge);
        if let Some(reading) = route.reading() {
            let request = self.request(connection, rules, &head, down).await;
            let route = self.judge_content(rules, &request, &route, reading, &content)?;
            record.routed(&route);
        }
        let paying = match &carried {
            Some(carried) => {
                let vessel = Vessel::of(&body);
                Some(payment::find_carried(self, rules, &head, carried, vessel, record)?)
            }
            None => paying,
        };

        if paying.is_some() && trailers.is_some() {
            return Err(Denial::new(Reason::MalformedRequest, "a request that pays has no trailers").into());
        }

        // 5. The verdict. Only exact GO comes back as something else than a denial.
        let mut paid = match paying {
            Some(paying) => {
                paying.buys(payment::known(&body))?;
                Some(Box::pin(self.ask(paying, down, record)).await?)
            }
            None => None,
        };
        // Bodies and verdicts take their time: what leaves now leaves under the rules in force now.
        self.judge_again(connection, rules, &head, down, &content, carried.as_deref())
            .await?;
        let expected = Expected::of(&head, &content);
        drop((content, carried));

        // 6. Credentials, now that nothing can refuse the request any more; then it may leave if its line can be written.
        let credentials = self.credentials.attach(bound_for(&head), &down.req_header().headers);
        let credentials = credentials.map_err(|error| credential_denial(&error))?;
        refuse_assembled(&credentials)?;
        self.audit
            .ready()
            .map_err(|_| Denial::new(Reason::OverCapacity, "the audit trail cannot be written, so nothing may leave"))?;

        // 7. Send, relaying interim answers, until the final head is here. A payment that is signed here is signed on the way, with the
        // connection to its origin there already.
        let resend = if paid.is_some() { Resend::Never } else { Resend::WhereSafe };
        let sending = Sending {
            origin: &origin,
            head: &head,
            body: &body,
            rest,
            trailers: trailers.as_ref(),
            credentials: &credentials,
            resend,
            limits: &self.limits,
            paid: paid.as_mut(),
        };
        let sent = record.wait(sending.send(down)).await;
        let sent = sent.inspect_err(|failure| record.stopped(failure))?;
        let awaited = paid.and_then(|paid| paid.answered(&sent.head, self, record));
        record.status = Some(sent.head.status.as_u16());

        // 8. A WebSocket: from here on there are messages, or bytes that nobody reads.
        if sent.head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Box::pin(self.upgrade(connection, &head, down, sent, record)).await;
        }

        // 9. What the answer asks for is judged before the client can sign for it, and remembered; in a stream, event by event.
        let screening = Screening {
            engine: self,
            rules,
            head: &head,
        };
        let (sent, screen) = match challenge::pass(screening, &expected, down, sent, record).await {
            Ok(passed) => passed,
            Err(failure) => {
                if let (Some(awaited), Failure::Denied(_)) = (awaited, &failure) {
                    awaited.kept_back(record);
                }
                return Err(failure);
            }
        };

        // 10. Head, then body as it comes; the rest of the request meanwhile goes the other way.
        let outcome = self.relay(down, sent, Watching { screen, awaited }, &origin, record).await;
        drop(reservation);
        outcome
    }

    fn read_head(&self, connection: &Connection, down: &ClientSession, record: &mut Record<'_>) -> Result<Arc<Head>, Failure> {
        let request = down.req_header();
        let last = connection.origin();
        let scope = match (connection.tunnel(), &last) {
            (Some(tunnel), _) => Scope::Tunnel(tunnel),
            (None, last) => Scope::Forward(last.as_ref().map(|origin| origin.destination())),
        };
        let raw = down.raw_head();
        let head = Head::read(scope, request, raw.as_deref(), &self.limits).inspect_err(|_| {
            // Nothing of the head counts, but where its tunnel leads is known.
            if let Some(tunnel) = connection.tunnel() {
                record.towards(tunnel.authority());
            }
        })?;
        let head = Arc::new(head);
        record.read(&head);
        Ok(head)
    }

    async fn judge_head<'r>(
        &self,
        connection: &Connection,
        rules: &'r Ruleset,
        head: &Head,
        down: &ClientSession,
        record: &mut Record<'_>,
    ) -> Result<Route<'r>, Failure> {
        let request = self.request(connection, rules, head, down).await;
        let route = self.gate.judge_head(rules, &request)?;
        refuse_unreadable_websocket(rules, &route, head, down.req_header())?;
        record.routed(&route);
        Ok(route)
    }

    async fn request<'a>(&self, connection: &'a Connection, rules: &Ruleset, head: &'a Head, down: &'a ClientSession) -> Request<'a> {
        Request {
            destination: &head.destination,
            method: &head.method,
            path: &head.path,
            query: head.query.as_deref(),
            headers: &down.req_header().headers,
            caller: self.caller(&connection.client, rules, head.destination.authority()).await,
        }
    }

    /// Where the policy's rules are about the body: the route for each thing that it asks for.
    fn judge_content<'r>(
        &self,
        rules: &'r Ruleset,
        request: &Request<'_>,
        route: &Route<'_>,
        reading: BodyReading,
        content: &Content,
    ) -> Result<Route<'r>, Denial> {
        let operations = self.gate.read_operations(request, route, reading, content.known(reading)?)?;
        self.gate.judge_operations(rules, request, &operations)
    }

    /// The tunnel's origin, the last one again, or a new one at addresses that have just been judged.
    async fn find_origin(
        &self,
        connection: &Connection,
        rules: &Ruleset,
        route: &Route<'_>,
        head: &Head,
        record: &mut Record<'_>,
    ) -> Result<Arc<Origin>, Failure> {
        let known = connection.origin().filter(|origin| *origin.destination() == head.destination);
        let authority = head.destination.authority();
        let origin = if let Some(origin) = known {
            // The rules may have changed since the addresses were judged.
            self.gate.judge_addresses(route, authority, origin.addresses())?;
            origin
        } else {
            let addresses = record.wait(self.resolve(route, authority)).await?;
            let caller = self.caller(&connection.client, rules, authority).await;
            let origin = self.origin(head.destination.clone(), ClientProtocol::Http1, addresses, caller);
            connection.remember(&origin);
            origin
        };
        record.addresses = origin.addresses().clone();
        Ok(origin)
    }

    async fn ask(&self, paying: Paying, down: &mut ClientSession, record: &mut Record<'_>) -> Result<Paid, Failure> {
        if !paying.needs_verdict() {
            return Ok(payment::again(paying, self)?);
        }
        let question = Question::from(&paying.claim);
        let judged = self.gate.desk().judge(&question);
        // A client's goodbye can be told from its body only once that has ended; until then it may wait for the verdict's deadline.
        let ruling = if down.is_body_done() {
            record.wait(or_gone(down, async { Ok(judged.await) })).await?
        } else {
            record.wait(judged).await
        };
        payment::settle(paying, &ruling, self, record)
    }

    /// Holds a request that waited against rules that came meanwhile.
    async fn judge_again(
        &self,
        connection: &Connection,
        judged_by: &Arc<Ruleset>,
        head: &Head,
        down: &ClientSession,
        content: &Content,
        carried: Option<&Carried>,
    ) -> Result<(), Failure> {
        let rules = self.gate.rules();
        if Arc::ptr_eq(&rules, judged_by) {
            return Ok(());
        }
        let request = self.request(connection, &rules, head, down).await;
        let route = self.gate.judge_head(&rules, &request)?;
        refuse_unreadable_websocket(&rules, &route, head, down.req_header())?;
        if let Some(reading) = route.reading() {
            self.judge_content(&rules, &request, &route, reading, content)?;
        }
        if let Some(found) = payment::detect(head, request.headers) {
            payment::check(&self.gate, &rules, head, found, now())?;
        }
        if let Some(carried) = carried {
            payment::check_carried(&self.gate, &rules, head, carried, now())?;
        }
        Ok(())
    }

    async fn upgrade(
        &self,
        connection: &Connection,
        head: &Arc<Head>,
        down: &mut ClientSession,
        sent: Sent,
        record: &Record<'_>,
    ) -> Result<Outcome, Failure> {
        if !is_websocket(down.req_header()) || !names_websocket(&sent.head.headers) {
            // An origin that switches unasked would turn the connection into a tunnel that no rule has seen.
            let error = Error::explain(ErrorType::InvalidHTTPHeader, "101 without a request for it");
            return Err(error.into_up().into());
        }
        // The origin may have taken its time: whether messages are read is for the rules in force now to say.
        let rules = self.gate.rules();
        let request = self.request(connection, &rules, head, down).await;
        let route = self.gate.judge_head(&rules, &request)?;
        refuse_unreadable_websocket(&rules, &route, head, down.req_header())?;
        let upgraded = Upgraded {
            origin: sent.session,
            head: head.clone(),
            reading: Reading::of(route.messages(), &sent.head.headers)?,
            addresses: record.addresses.clone(),
            id: record.id,
        };
        down.write_response_header(sent.head).await?;
        Ok(Outcome::Upgraded(Box::new(upgraded)))
    }

    /// Says no, or cuts what can no longer be answered.
    async fn refuse(&self, down: &mut ClientSession, failure: Failure, record: &mut Record<'_>) -> Outcome {
        let mut denial = match failure {
            Failure::Denied(denial) => *denial,
            Failure::Broken(error) => match failure::judge(&error) {
                Broken::Answer(denial) => denial,
                Broken::ClientSlow => Denial::new(Reason::MalformedRequest, "the request did not arrive in time"),
                Broken::ClientGone => {
                    down.cut();
                    return Outcome::Ended;
                }
            },
        };
        if !down.is_unanswered() {
            // The client has a head already: its status stands, but the cut is written down.
            record.broken(denial.reason);
            down.cut();
            return Outcome::Ended;
        }
        record.redact(&mut denial);
        record.denied(&denial);
        let id = record.id.to_string();
        match answer::deny(down, &denial, &record.subject(Layer::L7, &id)).await {
            Ok(()) if matches!(denial.reason, Reason::MalformedRequest | Reason::AuthorityMismatch) => Outcome::Malformed,
            Ok(()) => Outcome::Done,
            Err(_) => Outcome::Ended,
        }
    }
}

/// A WebSocket whose messages are not judged is opaque once it is open; one whose messages are has to be of the version that is read.
pub(super) fn refuse_unreadable_websocket(rules: &Ruleset, route: &Route<'_>, head: &Head, request: &RequestHeader) -> Result<(), Denial> {
    if !is_websocket(request) {
        return Ok(());
    }
    if route.reading().is_some() {
        let detail = "a WebSocket could ask for what the endpoint's rules are about, unread";
        return Err(Denial::new(Reason::UninspectableTraffic, detail));
    }
    match route.messages() {
        Messages::Judged | Messages::Operations => websocket::check_version(&request.headers),
        Messages::Unread if rules.must_be_readable(&head.destination.authority().host) => {
            let detail = "a WebSocket could carry payments that cannot be read, and a payment rule covers this host";
            Err(Denial {
                next_steps: vec!["give the endpoint `protocol: websocket`, so that its messages are judged".to_owned()],
                ..Denial::new(Reason::UninspectableTraffic, detail)
            })
        }
        Messages::Unread => Ok(()),
    }
}

/// Where its credentials would go.
pub(super) fn bound_for(head: &Head) -> credentials::Destination<'_> {
    let authority = head.destination.authority();
    credentials::Destination {
        host: &authority.host,
        port: authority.port,
        path: &head.path,
        query: head.query.as_deref(),
    }
}

/// A placeholder's shape can be made to fit into an encoding, so that it says something else once the secret is in its place.
pub(super) fn refuse_assembled(attached: &Attached) -> Result<(), Denial> {
    let target = attached.target.as_ref().map(|target| target.for_the_wire().as_bytes());
    let values = attached.fields.iter().map(|(_, value)| value.as_bytes());
    if values.chain(target).any(detect::is_in) {
        let detail = "with a credential in the place of its placeholder, the request holds a payment";
        return Err(Denial::new(Reason::PaymentMalformed, detail));
    }
    Ok(())
}

pub(super) fn credential_denial(error: &CredentialError) -> Denial {
    Denial::new(error.reason(), error.to_string())
}

/// Unix seconds.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
