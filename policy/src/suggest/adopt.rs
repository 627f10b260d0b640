//! What a new endpoint must take over from the policy that it joins.
//!
//! Endpoints of one host and port have to agree on how their traffic is treated, or the policy does not load; and a new one must not
//! tolerate addresses that the author has ruled out.

use crate::address::AddressScope;
use crate::host::Host;
use crate::path::EncodedSlash;
use crate::policy::{Enforcement, Policy, Tls};

/// The treatment of a host and port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Adopted {
    pub(super) tls: Tls,
    pub(super) enforcement: Enforcement,
    /// `None`: nobody has said anything about it.
    pub(super) encoded_slash: Option<EncodedSlash>,
    pub(super) allowed_ips: Vec<String>,
}

impl Default for Adopted {
    /// For a host that no policy lists: enforced.
    fn default() -> Self {
        Adopted {
            tls: Tls::Auto,
            enforcement: Enforcement::Enforce,
            encoded_slash: None,
            allowed_ips: Vec::new(),
        }
    }
}

impl Adopted {
    /// From the endpoints that list the host and port.
    pub fn from(policy: &Policy, host: &Host, port: u16) -> Self {
        let mut adopted = Adopted::default();
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
            if endpoint.is_read() && endpoint.path.specificity() == 0 {
                adopted.enforcement = endpoint.enforcement;
                adopted.encoded_slash = adopted.encoded_slash.max(Some(endpoint.encoded_slash));
            }
        });
        adopted
    }

    /// Whether no new endpoint can allow a path with `%2F`, as the policy's own refuse it.
    pub fn refuses_encoded_slash(&self) -> bool {
        self.encoded_slash == Some(EncodedSlash::Reject)
    }
}
