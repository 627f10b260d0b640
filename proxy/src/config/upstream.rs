//! `upstream:`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error as _};
use tollgate_policy::Host;

use crate::egress::fetch::ServiceUrl;
use crate::egress::upstream_proxy::{AskedFor, Bypass};
use crate::settings::units;

/// How origins are reached.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamConfig {
    /// Addresses of names that are not to be asked of DNS. The address guard applies to them all the same.
    #[serde(deserialize_with = "hosts")]
    pub hosts: BTreeMap<String, Vec<IpAddr>>,
    /// Another proxy, by which every connection is made.
    #[serde(deserialize_with = "proxy")]
    pub proxy: Option<ServiceUrl>,
    /// A file with `user:password` for it.
    pub proxy_credentials: Option<PathBuf>,
    /// What it is asked to connect to.
    pub proxy_connect: ProxyConnect,
    /// Destinations that are dialled without it.
    #[serde(deserialize_with = "no_proxy")]
    pub no_proxy: Bypass,
    /// How long one attempt to connect may take; the `connect` of [`Limits`](crate::settings::Limits).
    #[serde(deserialize_with = "units::duration")]
    pub connect_timeout: Duration,
}

/// What the other proxy is asked to connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProxyConnect {
    /// The address that was judged here.
    #[default]
    Address,
    /// The name; the other proxy asks DNS itself.
    Name,
}

impl From<ProxyConnect> for AskedFor {
    fn from(written: ProxyConnect) -> Self {
        match written {
            ProxyConnect::Address => AskedFor::Address,
            ProxyConnect::Name => AskedFor::Name,
        }
    }
}

impl UpstreamConfig {
    pub(super) fn resolve(&mut self, base: &Path) {
        if let Some(path) = &mut self.proxy_credentials {
            *path = base.join(&*path);
        }
    }
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        UpstreamConfig {
            hosts: BTreeMap::new(),
            proxy: None,
            proxy_credentials: None,
            proxy_connect: ProxyConnect::default(),
            no_proxy: Bypass::default(),
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

fn proxy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ServiceUrl>, D::Error> {
    let written = String::deserialize(deserializer)?;
    if written.contains('@') {
        // Not quoted: it would have the password in it.
        return Err(D::Error::custom(
            "credentials do not belong in the URL; write them into a file and name it in `proxy_credentials`",
        ));
    }
    let url: ServiceUrl = written.parse().map_err(D::Error::custom)?;
    if !url.is_bare() {
        return Err(D::Error::custom("the URL of a proxy has no path"));
    }
    Ok(Some(url))
}

fn no_proxy<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bypass, D::Error> {
    let entries = Vec::<String>::deserialize(deserializer)?;
    Bypass::parse(entries.iter().map(String::as_str)).map_err(D::Error::custom)
}
