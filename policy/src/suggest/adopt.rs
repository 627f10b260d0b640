//! What a new endpoint must take over from the policy that it joins.
//!
//! Endpoints of one host and port have to agree on how their traffic is treated, or the policy does not load; and a new one must not
//! tolerate addresses that the author has ruled out.

use crate::address::AddressScope;
use crate::host::Host;
use crate::operation::BodyReading;
use crate::path::{CanonicalPath, EncodedSlash};
use crate::policy::{Endpoint, Enforcement, OtherMethods, Policy, Protocol, Tls, Traffic};

/// The treatment of a host and port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Adopted {
    pub(super) tls: Tls,
    pub(super) enforcement: Enforcement,
    /// `None`: nobody has said anything about it.
    pub(super) encoded_slash: Option<EncodedSlash>,
    pub(super) allowed_ips: Vec<String>,
    /// By which it is read; `None`: by none yet.
    pub(super) protocol: Option<Protocol>,
    pub(super) reading: Option<BodyReading>,
    pub(super) other_methods: Option<OtherMethods>,
}

/// What the new endpoint is for.
#[derive(Debug, Clone, Copy)]
pub enum Covers<'a> {
    /// Requests of any path.
    Anything,
    /// One path of its own.
    Path(&'a CanonicalPath),
}

impl Default for Adopted {
    /// For a host that no policy lists: enforced.
    fn default() -> Self {
        Adopted {
            tls: Tls::Auto,
            enforcement: Enforcement::Enforce,
            encoded_slash: None,
            allowed_ips: Vec::new(),
            protocol: None,
            reading: None,
            other_methods: None,
        }
    }
}

impl Adopted {
    /// From the endpoints that list the host and port.
    pub fn from(policy: &Policy, host: &Host, port: u16, covers: Covers<'_>) -> Self {
        let mut adopted = Adopted::default();
        let mut rank = None;
        policy.index().candidates(host, port, |id| {
            let Some(endpoint) = policy.endpoint(id) else { return };
            if endpoint.tls == Tls::Skip {
                adopted.tls = Tls::Skip;
            }
            if let AddressScope::AllowedRanges(ranges) = &endpoint.addresses
                && endpoint.host.is_some()
            {
                adopted.allowed_ips = ranges.iter().map(ToString::to_string).collect();
            }
            // An endpoint with a `path` of its own is of another rank, and has its own treatment.
            if endpoint.is_read() && covers.is_covered_by(endpoint) && rank <= Some(endpoint.path.specificity()) {
                rank = Some(endpoint.path.specificity());
                adopted.enforcement = endpoint.enforcement;
                adopted.encoded_slash = adopted.encoded_slash.max(Some(endpoint.encoded_slash));
                adopted.protocol = Some(endpoint.protocol());
                adopted.reading = endpoint.reading().copied();
                adopted.other_methods = endpoint.other_methods();
            }
        });
        adopted
    }

    /// Whether no new endpoint can allow a path with `%2F`, as the policy's own refuse it.
    pub fn refuses_encoded_slash(&self) -> bool {
        self.encoded_slash == Some(EncodedSlash::Reject)
    }

    /// Whether requests are told apart by their bodies.
    pub fn is_read_by_body(&self) -> bool {
        self.reading.is_some()
    }
}

impl Covers<'_> {
    fn is_covered_by(self, endpoint: &Endpoint) -> bool {
        match (self, &endpoint.traffic) {
            (Covers::Anything, _) => endpoint.path.specificity() == 0,
            (Covers::Path(path), Traffic::Body(rules)) => rules.covers(path.as_str()),
            (Covers::Path(path), _) => endpoint.path.matches(path.as_str()),
        }
    }
}
