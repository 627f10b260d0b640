//! Request smuggling: some thousand malformed requests by every way in, before origins that read what reaches them in two ways. What an
//! origin reads is what was judged: the same requests, one audit line each, byte for byte the body that the client framed; and what was
//! smuggled is never a request to anybody.

mod answers;
mod corpus;
mod downgrade;

mod reading;
mod recorder;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::Via;
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::wire::H1;

use corpus::{AUTHORITY, PATH, PREFIX, fill};
use reading::{Read, Rest, all, lenient, strict};
use recorder::Recorder;

/// The ways in that speak HTTP/1.
const WAYS: [Via; 3] = [Via::AbsoluteForm, Via::PlainTunnel, Via::TlsH1];
/// Connections under way at once.
const CROWD: usize = 96;
/// How long a client listens at most; the proxy's own limits are shorter.
const LISTENS: Duration = Duration::from_secs(4);

/// One proxy, and an origin in cleartext and one in TLS behind it.
struct Smuggling {
    gate: Arc<Tollgate>,
    plain: Recorder,
    tls: Recorder,
}

impl Smuggling {
    async fn start() -> Self {
        let authority = Authority::default();
        let plain = Recorder::start(None).await;
        let tls = Recorder::start(Some(authority.server(HOST, Alpn::H1))).await;
        let rules = ["rules: [ { allow: { method: \"*\", path: \"/case/**\" } } ]"];
        let limits = json!({ "limits": { "first_byte": "2s", "header_read": "500ms", "idle": "400ms", "body_read": "500ms" } });
        let gate = Setup::new(policy::ruled(&[plain.port(), tls.port()], &rules))
            .local_host()
            .trust(&authority)
            .config(limits)
            .start();
        Self {
            gate: Arc::new(gate),
            plain,
            tls,
        }
    }

    fn origin(&self, via: Via) -> &Recorder {
        if via.is_tls() { &self.tls } else { &self.plain }
    }

    /// A request of the corpus as it is sent this way, and another behind it that shows who reads where the first one ends.
    fn written(&self, via: Via, case: usize, draft: &[u8]) -> Vec<u8> {
        let authority = format!("{HOST}:{}", self.origin(via).port());
        let prefix = if via == Via::AbsoluteForm {
            format!("http://{authority}")
        } else {
            String::new()
        };
        let path = format!("/case/{case}");
        let end = format!("GET {prefix}{path}/end HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
        let bytes = [draft, end.as_bytes()].concat();
        [(PREFIX, &prefix), (PATH, &path), (AUTHORITY, &authority)]
            .iter()
            .fold(bytes, |bytes, (name, value)| fill(&bytes, name, value.as_bytes()))
    }

    /// Waits until nothing more is written down.
    async fn settled(&self) -> Vec<Value> {
        let mut events = self.gate.audit_events();
        loop {
            tokio::time::sleep(Duration::from_millis(300)).await;
            let now = self.gate.audit_events();
            if now.len() == events.len() {
                return now;
            }
            events = now;
        }
    }
}

/// What reached an origin, by both readings; fails where they differ.
fn reached(origin: &Recorder) -> (Vec<Read>, Vec<Read>) {
    let (mut whole, mut cut) = (Vec::new(), Vec::new());
    for bytes in origin.connections() {
        let by_letter = all(&bytes, strict);
        let loosely = all(&bytes, lenient);
        assert_eq!(
            by_letter,
            loosely,
            "two readings of what reached the origin:\n{}",
            beginning(&bytes)
        );
        let (requests, rest) = by_letter;
        for read in requests.iter().chain(match &rest {
            Rest::Cut(read) => read.as_ref(),
            _ => None,
        }) {
            assert!(read.target.starts_with("/case/"), "{read:?} in\n{}", bytes.escape_ascii());
        }
        whole.extend(requests);
        match rest {
            Rest::Nothing => {}
            Rest::Cut(Some(read)) => cut.push(read),
            rest => panic!("{rest:?} reached the origin:\n{}", bytes.escape_ascii()),
        }
    }
    (whole, cut)
}

/// Parameters of path segments are taken out before a path is judged, and go no further.
fn without_parameters(target: &str) -> String {
    let (path, query) = target.split_at(target.find('?').unwrap_or(target.len()));
    let segments: Vec<&str> = path
        .split('/')
        .map(|segment| segment.split(';').next().unwrap_or_default())
        .collect();
    segments.join("/") + query
}

fn path_of(target: &str) -> &str {
    target.split('?').next().unwrap_or_default()
}

/// The bytes that went up by the lines that let something out, by method and path.
type LetOut = HashMap<(String, String), Vec<u64>>;

/// Those that were answered, and those whose client left or broke off before.
fn let_out(events: &[Value]) -> (LetOut, LetOut) {
    let (mut answered, mut unanswered) = (LetOut::new(), LetOut::new());
    for event in events
        .iter()
        .filter(|event| event["adapter"] != "connect" && event["decision"] == "allow")
    {
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        assert_eq!(text("host"), HOST, "{event}");
        let lines = if event["status"] == 200 { &mut answered } else { &mut unanswered };
        lines
            .entry((text("method"), text("path")))
            .or_default()
            .push(event["bytes_up"].as_u64().unwrap());
    }
    (answered, unanswered)
}

/// Each request that reached an origin whole has its line, and each line with an answer its request.
fn assert_one_to_one(events: &[Value], whole: &[Read]) {
    let (mut answered, mut unanswered) = let_out(events);
    let mut odd = Vec::new();
    for read in whole {
        let key = (read.method.clone(), path_of(&read.target).to_owned());
        let length = read.body.len() as u64;
        let take = |lines: &mut LetOut| {
            let lengths = lines.get_mut(&key)?;
            let at = lengths.iter().position(|known| *known == length)?;
            Some(lengths.swap_remove(at))
        };
        if take(&mut answered).or_else(|| take(&mut unanswered)).is_none() {
            odd.push(format!("no line let this out: {read:?}"));
        }
    }
    answered.retain(|_, lengths| !lengths.is_empty());
    assert!(
        odd.is_empty() && answered.is_empty(),
        "{}\nlines without a request: {answered:?}",
        odd.join("\n")
    );
}

async fn throw(gate: &Tollgate, via: Via, port: u16, bytes: &[u8]) {
    let mut connection: H1 = match via {
        Via::AbsoluteForm => gate.dial().await,
        Via::PlainTunnel => gate.tunnel(&format!("{HOST}:{port}")).await.unwrap(),
        Via::TlsH1 | Via::TlsH2 => gate.tls_h1(port).await,
    };
    let _ = connection.try_send(bytes).await;
    let listen = async { while !connection.next_bytes().await.is_empty() {} };
    assert!(
        tokio::time::timeout(LISTENS, listen).await.is_ok(),
        "{via:?}: the connection hangs after {}",
        beginning(bytes)
    );
}

/// Enough of a request to know it by.
fn beginning(bytes: &[u8]) -> String {
    bytes[..bytes.len().min(400)].escape_ascii().to_string()
}

/// What the clients meant, read to the letter.
#[derive(Default)]
struct Meant {
    sent: Vec<Vec<u8>>,
    whole: HashSet<Read>,
    /// What the last request of a connection began as, where it has no end or no meaning.
    begun: Vec<Read>,
}

impl Meant {
    fn add(&mut self, sent: &[u8]) {
        let (mut whole, rest) = all(sent, strict);
        for read in &mut whole {
            read.target = without_parameters(&read.target);
        }
        self.whole.extend(whole);
        if let Rest::Cut(Some(read)) | Rest::Broken(_, Some(read)) = rest {
            self.begun.push(read);
        }
        self.sent.push(sent.to_vec());
    }

    fn told(&self, read: &Read) -> String {
        let case = path_of(&read.target).split('/').nth(2).and_then(|case| case.parse::<usize>().ok());
        let sent = case.and_then(|case| self.sent.get(case)).map(|sent| beginning(sent));
        format!(
            "{} {} {:?} came of {}",
            read.method,
            read.target,
            beginning(&read.body),
            sent.unwrap_or_default()
        )
    }

    fn has_begun(&self, read: &Read) -> bool {
        self.begun
            .iter()
            .any(|meant| (&read.method, &read.target) == (&meant.method, &meant.target) && meant.body.starts_with(&read.body))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_origins_read_of_some_thousand_bent_requests_is_what_was_judged() {
    let world = Smuggling::start().await;
    let (honest, tables, products) = (corpus::honest(), corpus::tables(), corpus::products());
    let requests = honest.len() + tables.len() + products.len();
    assert!(requests > 4_000, "only {requests} requests");
    let every_way = |draft| WAYS.map(|via| (via, draft));
    let by_turns = products.iter().zip(WAYS.iter().cycle()).map(|(draft, via)| (*via, draft));
    let mut meant = Meant::default();
    let mut write = |via: Via, draft: &[u8]| {
        let bytes = world.written(via, meant.sent.len(), draft);
        meant.add(&bytes);
        (Arc::clone(&world.gate), via, world.origin(via).port(), bytes)
    };
    // By themselves, so that none of them is late.
    for (via, draft) in honest.iter().flat_map(every_way) {
        let (gate, via, port, bytes) = write(via, draft);
        throw(&gate, via, port, &bytes).await;
    }
    let seats = Arc::new(Semaphore::new(CROWD));
    let mut clients = tokio::task::JoinSet::new();
    for (via, draft) in tables.iter().flat_map(every_way).chain(by_turns) {
        let (gate, via, port, bytes) = write(via, draft);
        let seat = Arc::clone(&seats).acquire_owned().await.unwrap();
        clients.spawn(async move {
            throw(&gate, via, port, &bytes).await;
            drop(seat);
        });
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }

    let events = world.settled().await;
    let (mut whole, mut cut) = reached(&world.plain);
    let (whole_tls, cut_tls) = reached(&world.tls);
    whole.extend(whole_tls);
    cut.extend(cut_tls);
    assert_one_to_one(&events, &whole);
    let odd = whole.iter().filter(|read| !meant.whole.contains(*read));
    let odd: Vec<String> = odd
        .chain(cut.iter().filter(|read| !meant.has_begun(read)))
        .map(|read| meant.told(read))
        .collect();
    assert!(
        odd.is_empty(),
        "{} requests that no client has framed so:\n{}",
        odd.len(),
        odd.join("\n")
    );

    // The honest ones and those behind them have all arrived: it is not for want of trying.
    for case in 0..honest.len() * WAYS.len() {
        for target in [format!("/case/{case}"), format!("/case/{case}/end")] {
            assert!(whole.iter().any(|read| read.target == target), "{target} has not arrived");
        }
    }
    let refused = events.iter().filter(|event| event["decision"] == "deny").count();
    assert!(refused > requests / 2, "only {refused} refusals");
}
