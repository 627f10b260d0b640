//! `upstream:`.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error as _};
use tollgate_policy::Host;

use crate::settings::units;

/// How origins are reached.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Addresses of names that are not to be asked of DNS. The address guard applies to them all the same.
    #[serde(deserialize_with = "hosts")]
    pub hosts: BTreeMap<String, Vec<IpAddr>>,
    /// Reserved for chaining to another proxy: refused when written.
    #[serde(deserialize_with = "no_proxy_yet")]
    pub proxy: Option<Infallible>,
    /// How long one attempt to connect may take; the `connect` of [`Limits`](crate::settings::Limits).
    #[serde(deserialize_with = "units::duration")]
    pub connect_timeout: Duration,
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        UpstreamConfig {
            hosts: BTreeMap::new(),
            proxy: None,
            connect_timeout: Duration::from_secs(5),
        }
    }
}

fn hosts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Vec<IpAddr>>, D::Error> {
    let written = BTreeMap::<String, Vec<IpAddr>>::deserialize(deserializer)?;
    let mut hosts = BTreeMap::new();
    for (name, addresses) in written {
        let Ok(Host::Name(canonical)) = Host::parse(&name) else {
            return Err(D::Error::custom(format_args!("`{name}` is not a host name")));
        };
        if addresses.is_empty() {
            return Err(D::Error::custom(format_args!("`{name}` has no address")));
        }
        if hosts.insert(canonical.into_string(), addresses).is_some() {
            return Err(D::Error::custom(format_args!("`{name}` is listed twice, in two spellings")));
        }
    }
    Ok(hosts)
}

/// A proxy that is written and not used would let traffic out by a way the operator ruled out.
fn no_proxy_yet<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Infallible>, D::Error> {
    String::deserialize(deserializer)?;
    Err(D::Error::custom("chaining to an upstream proxy is not supported yet"))
}
