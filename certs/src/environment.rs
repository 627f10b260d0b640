//! What clients have to be told: where the proxy is, and which certificates to trust.
//!
//! No variable is read by all clients. Those that *add* to a client's roots get the authority alone; those that *replace* them
//! get the combined bundle, or hosts whose TLS is passed through would fail. A client with built-in roots and no setting for others
//! cannot be helped by environment.

use std::path::{Path, PathBuf};

use url::Url;

use crate::bundle::TrustBundle;

mod java;
mod render;

pub use render::Format;

/// Hosts that clients reach directly when nothing else is said.
pub const DEFAULT_NO_PROXY: &str = "127.0.0.1,localhost,::1";

/// Why there is no environment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// The proxy speaks plain HTTP to its clients; other schemes send them elsewhere.
    #[error("the proxy's URL must start with http:// (it is {0:?})")]
    Scheme(String),
    /// A value that no environment file can hold.
    #[error("{0:?} has control characters and cannot be put into an environment")]
    ControlCharacter(String),
    /// A path that JSON and many clients cannot take.
    #[error("{} is not UTF-8 and cannot be put into an environment", .0.display())]
    NotUtf8(PathBuf),
}

/// One environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its value; may be empty, which overrides an inherited one.
    pub value: String,
    /// What becomes of a value that is there already.
    pub inherited: Inherited,
    /// Who reads it.
    pub why: &'static str,
}

/// What becomes of a variable's earlier value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inherited {
    /// It would lead around the proxy, or to certificates that do not know ours.
    Replaced,
    /// It is a list of options, of which the last one counts.
    AddedTo,
}

impl Variable {
    /// Its value where the variable had the value `earlier`.
    pub fn over(&self, earlier: Option<&str>) -> String {
        match (self.inherited, earlier) {
            (Inherited::AddedTo, Some(earlier)) if !earlier.is_empty() => format!("{earlier} {}", self.value),
            _ => self.value.clone(),
        }
    }
}

/// The environment of a sandbox's clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientEnvironment {
    variables: Vec<Variable>,
}

#[derive(Clone, Copy)]
enum Value {
    Proxy,
    NoProxy,
    Authority,
    Bundle,
    On,
    Java,
    Maven,
    Apt,
    Wget,
}

/// Maven's own HTTP client (3.9 and newer) looks at Java's properties only if it is told to; the second name is that of Maven 4.
const MAVEN_OPTIONS: &str = "-Daether.connector.http.useSystemProperties=true -Daether.transport.apache.useSystemProperties=true";

const VARIABLES: &[(&str, Value, &str)] = &[
    ("HTTP_PROXY", Value::Proxy, "most clients, for http:// URLs"),
    ("HTTPS_PROXY", Value::Proxy, "most clients, for https:// URLs"),
    ("ALL_PROXY", Value::Proxy, "curl, git, httpx: any other scheme"),
    ("http_proxy", Value::Proxy, "curl and wget read http_proxy in lower case only"),
    ("https_proxy", Value::Proxy, "clients that read lower case first"),
    ("all_proxy", Value::Proxy, "clients that read lower case first"),
    ("grpc_proxy", Value::Proxy, "gRPC C core (Python, Ruby, C++)"),
    ("NO_PROXY", Value::NoProxy, "hosts reached directly"),
    ("no_proxy", Value::NoProxy, "hosts reached directly, lower case"),
    (
        "NODE_USE_ENV_PROXY",
        Value::On,
        "Node (22.21, 24 and newer): let fetch and http obey the proxy variables",
    ),
    (
        "NODE_EXTRA_CA_CERTS",
        Value::Authority,
        "Node, npm, Bun: added to the built-in roots",
    ),
    ("DENO_CERT", Value::Authority, "Deno: added to the built-in roots"),
    (
        "SSL_CERT_FILE",
        Value::Bundle,
        "OpenSSL, Go, Ruby, Python ssl and httpx, rustls-native-certs",
    ),
    ("REQUESTS_CA_BUNDLE", Value::Bundle, "Python requests"),
    ("CURL_CA_BUNDLE", Value::Bundle, "curl and its bindings"),
    ("GIT_SSL_CAINFO", Value::Bundle, "git, built with OpenSSL or GnuTLS"),
    ("CARGO_HTTP_CAINFO", Value::Bundle, "cargo"),
    ("CARGO_HTTP_PROXY", Value::Proxy, "cargo: before any http.proxy in its files"),
    ("npm_config_cafile", Value::Bundle, "npm, pnpm: before any cafile in .npmrc"),
    ("npm_config_proxy", Value::Proxy, "npm, pnpm: before any proxy in .npmrc"),
    (
        "npm_config_https_proxy",
        Value::Proxy,
        "npm, pnpm: before any https-proxy in .npmrc",
    ),
    ("PIP_CERT", Value::Bundle, "pip"),
    ("UV_SYSTEM_CERTS", Value::On, "uv: read SSL_CERT_FILE in every one of its clients"),
    ("AWS_CA_BUNDLE", Value::Bundle, "AWS CLI and SDKs"),
    ("CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", Value::Bundle, "Google Cloud CLI"),
    ("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", Value::Bundle, "gRPC C core (Python, Ruby, C++)"),
    ("NIX_SSL_CERT_FILE", Value::Bundle, "Nix, and programs built by it"),
    (
        "JAVA_TOOL_OPTIONS",
        Value::Java,
        "every Java virtual machine: proxy and trust store",
    ),
    ("MAVEN_OPTS", Value::Maven, "Maven: let its own HTTP client obey them as well"),
    ("APT_CONFIG", Value::Apt, "apt: a file of settings that names the bundle"),
    (
        "SYSTEM_WGETRC",
        Value::Wget,
        "wget: read in place of /etc/wgetrc, before the user's own settings",
    ),
];

impl ClientEnvironment {
    /// The environment for clients of the proxy at `proxy_url` (`http://host:port`).
    ///
    /// `no_proxy` is the list of hosts reached directly, by default [`DEFAULT_NO_PROXY`]; empty sends loopback origins through the
    /// proxy as well.
    pub fn new(proxy_url: &str, files: &TrustBundle, no_proxy: &str) -> Result<Self, EnvironmentError> {
        let proxy = Url::parse(proxy_url).ok().filter(|url| url.scheme() == "http");
        let proxy = proxy.ok_or_else(|| EnvironmentError::Scheme(proxy_url.into()))?;
        let (ca, bundle, java) = (text(&files.ca)?, text(&files.bundle)?, text(&files.java)?);
        let (apt, wget) = (text(&files.apt)?, text(&files.wget)?);
        if let Some(value) = [proxy_url, ca, bundle, java, apt, wget, no_proxy]
            .into_iter()
            .find(|value| value.contains(char::is_control))
        {
            return Err(EnvironmentError::ControlCharacter(value.into()));
        }
        let java = java::options(&proxy, java, no_proxy);
        let variable = |&(name, value, why)| {
            let (value, inherited) = match value {
                Value::Proxy => (proxy_url, Inherited::Replaced),
                Value::NoProxy => (no_proxy, Inherited::Replaced),
                Value::Authority => (ca, Inherited::Replaced),
                Value::Bundle => (bundle, Inherited::Replaced),
                Value::On => ("1", Inherited::Replaced),
                Value::Java => (&*java, Inherited::AddedTo),
                Value::Maven => (MAVEN_OPTIONS, Inherited::AddedTo),
                Value::Apt => (apt, Inherited::Replaced),
                Value::Wget => (wget, Inherited::Replaced),
            };
            Variable {
                name,
                value: value.into(),
                inherited,
                why,
            }
        };
        Ok(Self {
            variables: VARIABLES.iter().map(variable).collect(),
        })
    }

    /// The variables, in the order to show them.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }
}

fn text(path: &Path) -> Result<&str, EnvironmentError> {
    path.to_str().ok_or_else(|| EnvironmentError::NotUtf8(path.into()))
}

#[cfg(test)]
mod tests;
