//! Observations, gathered by host, port and program.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::adopt::{Adopted, Covers};
use super::deep::{Carrier, Deep, Messages, OddToolNames, smallest};
use super::key;
use super::paths::{Paths, path_glob};
use super::rule::{AllowedRequest, Body, Reading, Stands, SuggestedBinary, SuggestedEndpoint, SuggestedEntry, SuggestedRule};
use crate::decide::WEBSOCKET_TEXT;
use crate::host::Host;
use crate::matcher::literal_glob;
use crate::operation::Operation;
use crate::path::{CanonicalPath, EncodedSlash};
use crate::policy::{Enforcement, OtherMethods, Protocol, Tls};

/// What one audit line says was reached.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The host.
    pub host: &'a Host,
    /// The port.
    pub port: u16,
    /// The caller's executable, where somebody looked.
    pub binary: Option<&'a str>,
    /// How.
    pub seen: Seen<'a>,
}

/// How far the traffic was read.
#[derive(Debug, Clone, Copy)]
pub enum Seen<'a> {
    /// A connection was asked for.
    Connection,
    /// Bytes went over it that were not read.
    Bytes,
    /// A request.
    Request {
        /// Its method.
        method: &'a str,
        /// Its path.
        path: &'a CanonicalPath,
    },
    /// A text message on the WebSocket of this path, judged as a whole.
    Message {
        /// The path.
        path: &'a CanonicalPath,
    },
    /// One of the things that a body or message asked for, and for which a rule can be named.
    Operation {
        /// The path of the request, or of the WebSocket.
        path: &'a CanonicalPath,
        /// What.
        operation: &'a Operation,
        /// In what.
        carrier: Carrier,
    },
    /// A request that no rule may ever allow. Its connection proves no need for anything.
    Refused,
}

/// More different paths than a policy could list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the traffic has more than {0} different hosts, programs and path segments: no policy can list them")]
pub struct TooVaried(usize);

/// The most entries that are kept: a policy of a mebibyte has fewer.
const MAX_ENTRIES: usize = 200_000;

/// See the module.
#[derive(Debug, Default)]
pub struct Traffic {
    /// By host as written, then port.
    places: BTreeMap<String, BTreeMap<u16, Place>>,
    entries: usize,
}

#[derive(Debug)]
struct Place {
    host: Host,
    callers: BTreeMap<Option<Box<str>>, Used>,
    refused: bool,
}

/// What one program did at a place.
#[derive(Debug, Default)]
struct Used {
    bytes: bool,
    encoded_slash: EncodedSlash,
    methods: BTreeMap<String, Paths>,
    /// Paths at which more than the head was judged.
    deep: DeepPaths,
}

type DeepPaths = BTreeMap<CanonicalPath, Deep>;

impl Traffic {
    /// Takes one observation in.
    ///
    /// # Errors
    /// There is too much to keep.
    pub fn add(&mut self, observed: &Observed<'_>) -> Result<(), TooVaried> {
        let ports = self.places.entry(observed.host.to_string()).or_default();
        let place = ports.entry(observed.port).or_insert_with(|| {
            self.entries += 1;
            Place {
                host: observed.host.clone(),
                callers: BTreeMap::new(),
                refused: false,
            }
        });
        if matches!(observed.seen, Seen::Refused) {
            place.refused = true;
            return Ok(());
        }
        let used = place.callers.entry(observed.binary.map(Box::from)).or_insert_with(|| {
            self.entries += 1;
            Used::default()
        });
        match observed.seen {
            Seen::Connection | Seen::Refused => {}
            Seen::Bytes => used.bytes = true,
            Seen::Request { method, path } => {
                if path.has_encoded_slash() {
                    used.encoded_slash = EncodedSlash::Keep;
                }
                self.entries += used.methods.entry(method.to_ascii_uppercase()).or_default().add(path.as_str());
            }
            Seen::Message { path } => self.entries += used.at(path).add_message(),
            Seen::Operation { path, operation, carrier } => self.entries += used.at(path).add(operation, carrier),
        }
        if self.entries > MAX_ENTRIES {
            return Err(TooVaried(MAX_ENTRIES));
        }
        Ok(())
    }

    /// The rules that allow all of it. `adopt` says what a policy that they join asks of a host and port; no rule gets a key that is
    /// taken.
    pub fn rules(&self, adopt: impl Fn(&Host, u16, Covers<'_>) -> Adopted, mut taken: BTreeSet<String>) -> Vec<SuggestedRule> {
        let mut rules = Vec::new();
        for (host, ports) in &self.places {
            for (callers, endpoints) in Self::of_host(ports, &adopt) {
                rules.push(rule(host, &callers, endpoints, &mut taken));
            }
        }
        rules
    }

    /// Programs that need the same are one rule, and so are ports.
    fn of_host(
        ports: &BTreeMap<u16, Place>,
        adopt: &impl Fn(&Host, u16, Covers<'_>) -> Adopted,
    ) -> Vec<(Vec<Option<Box<str>>>, Endpoints)> {
        let mut by_caller: BTreeMap<&Option<Box<str>>, Endpoints> = BTreeMap::new();
        for (port, place) in ports {
            let adopted = |covers: Covers<'_>| adopt(&place.host, *port, covers);
            for (caller, used) in &place.callers {
                for (body, stands) in place.need(caller.as_deref(), used, &adopted) {
                    let same = by_caller.entry(caller).or_default().entry(body).or_default();
                    same.0.push(*port);
                    same.1.extend(stands);
                }
            }
        }
        let mut rules: Vec<(Vec<Option<Box<str>>>, Endpoints)> = Vec::new();
        for (caller, endpoints) in by_caller {
            match rules
                .iter_mut()
                .find(|(callers, own)| *own == endpoints && !callers.contains(&None))
            {
                Some((callers, _)) => callers.push(caller.clone()),
                None => rules.push((vec![caller.clone()], endpoints)),
            }
        }
        rules
    }
}

/// Ports and remarks by what they have in common.
type Endpoints = BTreeMap<Body, (Vec<u16>, BTreeSet<Stands>)>;

impl Place {
    /// The endpoints that a program needs here; none where another program's rule gives it already, or nothing may.
    fn need(&self, caller: Option<&str>, used: &Used, adopt: &impl Fn(Covers<'_>) -> Adopted) -> Vec<(Body, Option<Stands>)> {
        let adopted = adopt(Covers::Anything);
        let unread = Body {
            requests: None,
            encoded_slash: EncodedSlash::Reject,
            adopted: adopted.clone(),
        };
        if used.bytes {
            return vec![(unread, Some(Stands::Bytes))];
        }
        if used.was_read() {
            return match adopted.tls {
                Tls::Auto => self.endpoints((used.requests(), &used.deep), &adopted, adopt, None),
                // Rules can't stand beside an endpoint that is never read.
                Tls::Skip => vec![(unread, Some(Stands::Bytes))],
            };
        }
        // From here on only the connection is known. The narrowest endpoint that lets it be opened is one that is needed anyway.
        let mut others = self.callers.values().filter(|used| used.was_read()).peekable();
        if others.peek().is_some() {
            let anybody = self.callers.get(&None).is_some_and(|used| used.was_read() || used.bytes);
            if caller.is_none() || anybody || adopted.tls == Tls::Skip {
                return Vec::new();
            }
            let (mut requests, mut deep): (Vec<AllowedRequest>, DeepPaths) = Default::default();
            for other in others {
                requests.extend(other.requests());
                for (path, own) in &other.deep {
                    deep.entry(path.clone()).or_default().merge(own);
                }
            }
            requests.sort_by(|a, b| a.by_path().cmp(&b.by_path()));
            requests.dedup();
            return self.endpoints((requests, &deep), &adopted, adopt, Some(Stands::Borrowed));
        }
        if self.refused {
            Vec::new()
        } else {
            vec![(unread, Some(Stands::ConnectionOnly))]
        }
    }

    /// One endpoint for what is judged by its head, and one for each path at which there is more.
    fn endpoints(
        &self,
        (rules, deep): (Vec<AllowedRequest>, &DeepPaths),
        adopted: &Adopted,
        adopt: &impl Fn(Covers<'_>) -> Adopted,
        stands: Option<Stands>,
    ) -> Vec<(Body, Option<Stands>)> {
        // Endpoints of one host and port have to agree on it.
        let encoded_slash = self.callers.values().map(|used| used.encoded_slash).max().unwrap_or_default();
        let mut endpoints = Vec::new();
        if !rules.is_empty() {
            let protocol = match adopted.protocol {
                Some(Protocol::WebSocket) => Protocol::WebSocket,
                _ => Protocol::Rest,
            };
            let reading = Reading {
                protocol,
                path: None,
                odd_tool_names: OddToolNames::NotSeen,
                rules,
            };
            let body = Body {
                requests: Some(reading),
                encoded_slash,
                adopted: adopted.clone(),
            };
            endpoints.push((body, stands));
        }
        for (path, deep) in deep {
            let adopted = adopt(Covers::Path(path));
            for (reading, alone) in readings(path, deep, &adopted) {
                let body = Body {
                    requests: Some(reading),
                    encoded_slash: if path.has_encoded_slash() {
                        EncodedSlash::Keep
                    } else {
                        EncodedSlash::Reject
                    },
                    adopted: adopted.clone(),
                };
                endpoints.push((body, alone.or(stands)));
            }
        }
        endpoints
    }
}

/// What endpoints of one path allow.
fn readings(path: &CanonicalPath, deep: &Deep, adopted: &Adopted) -> Vec<(Reading, Option<Stands>)> {
    let glob = path_glob(path.as_str());
    let mut readings = Vec::new();
    for (protocol, asked) in &deep.in_requests {
        let mut rules = smallest(&asked.rules);
        let mut stands = None;
        if rules.is_empty() && adopted.other_methods != Some(OtherMethods::Pass) {
            // An endpoint needs a rule, and without this call there is no stream.
            rules.push(AllowedRequest::mcp("initialize", None));
            stands = Some(Stands::StreamsOnly);
        }
        let reading = Reading {
            protocol: (*protocol).into(),
            path: Some(glob.clone()),
            odd_tool_names: asked.odd_tool_names,
            rules,
        };
        readings.push((reading, stands));
    }
    if deep.messages == Messages::Seen || !deep.in_messages.is_empty() {
        let mut rules = vec![AllowedRequest::new("GET", glob.clone())];
        // Rules about operations and about whole messages exclude each other.
        if deep.in_messages.is_empty() {
            rules.push(AllowedRequest::new(WEBSOCKET_TEXT, glob.clone()));
        } else {
            rules.extend(smallest(&deep.in_messages));
        }
        let reading = Reading {
            protocol: Protocol::WebSocket,
            path: Some(glob),
            odd_tool_names: OddToolNames::NotSeen,
            rules,
        };
        readings.push((reading, None));
    }
    readings
}

impl Used {
    fn at(&mut self, path: &CanonicalPath) -> &mut Deep {
        self.deep.entry(path.clone()).or_default()
    }

    /// Whether requests were seen.
    fn was_read(&self) -> bool {
        !self.methods.is_empty() || !self.deep.is_empty()
    }

    /// The rules by method and path, but for what has endpoints of its own: where bodies are judged a rule about the head can allow
    /// nothing, and a WebSocket's handshake stands beside its messages.
    fn requests(&self) -> Vec<AllowedRequest> {
        let get = self.methods.get("GET").map(|paths| paths.globs(&[])).unwrap_or_default();
        let elsewhere = |method: &str| {
            let own = self
                .deep
                .iter()
                .filter(move |(_, deep)| method == "GET" || !deep.in_requests.is_empty());
            own.map(|(path, _)| path_glob(path.as_str())).collect::<Vec<_>>()
        };
        let mut requests: Vec<AllowedRequest> = Vec::new();
        for (method, paths) in &self.methods {
            // `GET` covers `HEAD`.
            let others = if method == "HEAD" { get.as_slice() } else { &[] };
            let others: Vec<String> = others.iter().cloned().chain(elsewhere(method)).collect();
            requests.extend(paths.globs(&others).into_iter().map(|glob| AllowedRequest::new(method, glob)));
        }
        requests.sort_by(|a, b| a.by_path().cmp(&b.by_path()));
        requests
    }
}

fn rule(host: &str, callers: &[Option<Box<str>>], endpoints: Endpoints, taken: &mut BTreeSet<String>) -> SuggestedRule {
    let mut stands: BTreeSet<Stands> = endpoints.values().flat_map(|(_, stands)| stands.iter().copied()).collect();
    if callers.contains(&None) {
        stands.insert(Stands::AnyProgram);
    }
    if endpoints
        .keys()
        .any(|body| body.requests.is_some() && body.adopted.enforcement == Enforcement::Audit)
    {
        stands.insert(Stands::Audits);
    }
    let program = callers.first().and_then(|caller| caller.as_deref());
    let binary = |caller: &Option<Box<str>>| SuggestedBinary {
        path: match caller {
            None => "/**".to_owned(),
            // Only a path with a star is read as a glob.
            Some(path) if path.contains('*') => literal_glob(path),
            Some(path) => path.to_string(),
        },
    };
    SuggestedRule {
        key: key::fresh(host, program, taken),
        entry: SuggestedEntry {
            endpoints: endpoints
                .into_iter()
                .map(|(body, (ports, _))| SuggestedEndpoint::new(host, ports, body))
                .collect(),
            binaries: callers.iter().map(binary).collect(),
        },
        stands: stands.into_iter().collect(),
    }
}
