//! Observations, gathered by host, port and program.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::adopt::Adopted;
use super::key;
use super::paths::Paths;
use super::rule::{AllowedRequest, Body, Stands, SuggestedBinary, SuggestedEndpoint, SuggestedEntry, SuggestedRule};
use crate::host::Host;
use crate::matcher::literal_glob;
use crate::path::{CanonicalPath, EncodedSlash};
use crate::policy::{Enforcement, Tls};

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
}

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
        }
        if self.entries > MAX_ENTRIES {
            return Err(TooVaried(MAX_ENTRIES));
        }
        Ok(())
    }

    /// The rules that allow all of it. `adopt` says what a policy that they join asks of a host and port; no rule gets a key that is
    /// taken.
    pub fn rules(&self, adopt: impl Fn(&Host, u16) -> Adopted, mut taken: BTreeSet<String>) -> Vec<SuggestedRule> {
        let mut rules = Vec::new();
        for (host, ports) in &self.places {
            for (callers, endpoints) in Self::of_host(ports, &adopt) {
                rules.push(rule(host, &callers, endpoints, &mut taken));
            }
        }
        rules
    }

    /// Programs that need the same are one rule, and so are ports.
    fn of_host(ports: &BTreeMap<u16, Place>, adopt: &impl Fn(&Host, u16) -> Adopted) -> Vec<(Vec<Option<Box<str>>>, Endpoints)> {
        let mut by_caller: BTreeMap<&Option<Box<str>>, Endpoints> = BTreeMap::new();
        for (port, place) in ports {
            let adopted = adopt(&place.host, *port);
            for (caller, used) in &place.callers {
                if let Some((body, stands)) = place.need(caller.as_deref(), used, &adopted) {
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
    /// What a program needs here; `None` where another program's rule gives it already, or nothing may.
    fn need(&self, caller: Option<&str>, used: &Used, adopted: &Adopted) -> Option<(Body, Option<Stands>)> {
        // Endpoints of one host and port have to agree on it.
        let encoded_slash = self.callers.values().map(|used| used.encoded_slash).max().unwrap_or_default();
        let body = |requests| Body {
            requests,
            encoded_slash,
            adopted: adopted.clone(),
        };
        let unread = Body {
            encoded_slash: EncodedSlash::Reject,
            ..body(None)
        };
        if used.bytes {
            return Some((unread, Some(Stands::Bytes)));
        }
        if !used.methods.is_empty() {
            return Some(match adopted.tls {
                Tls::Auto => (body(Some(used.requests())), None),
                // Rules can't stand beside an endpoint that is never read.
                Tls::Skip => (unread, Some(Stands::Bytes)),
            });
        }
        // From here on only the connection is known. The narrowest endpoint that lets it be opened is one that is needed anyway.
        let mut others = self.callers.values().filter(|used| !used.methods.is_empty()).peekable();
        if others.peek().is_some() {
            let anybody = self.callers.get(&None).is_some_and(|used| !used.methods.is_empty() || used.bytes);
            if caller.is_none() || anybody || adopted.tls == Tls::Skip {
                return None;
            }
            let mut requests: Vec<AllowedRequest> = others.flat_map(Used::requests).collect();
            requests.sort_by(|a, b| a.by_path().cmp(&b.by_path()));
            requests.dedup();
            return Some((body(Some(requests)), Some(Stands::Borrowed)));
        }
        (!self.refused).then_some((unread, Some(Stands::ConnectionOnly)))
    }
}

impl Used {
    fn requests(&self) -> Vec<AllowedRequest> {
        let get = self.methods.get("GET").map(|paths| paths.globs(&[])).unwrap_or_default();
        let mut requests: Vec<AllowedRequest> = Vec::new();
        for (method, paths) in &self.methods {
            // `GET` covers `HEAD`.
            let others = if method == "HEAD" { get.as_slice() } else { &[] };
            requests.extend(paths.globs(others).into_iter().map(|glob| AllowedRequest::new(method, glob)));
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
