//! What clients have to be told: where the proxy is, and which certificates to trust.
//!
//! No variable is read by all clients. Those that *add* to a client's roots get the authority alone; those that *replace* them
//! get the combined bundle, or hosts whose TLS is passed through would fail. A client with built-in roots, or with a key
//! store of its own (Java), cannot be helped by environment.

use std::path::{Path, PathBuf};

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

/// How to write an environment down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `export NAME='value'` lines, for `eval "$(tollgate env)"` in a POSIX shell.
    Sh,
    /// `NAME=value` lines with comments, for env files (Docker, Compose, systemd, dotenv). A value is quoted only where it
    /// must be, because Docker takes quotes literally.
    Dotenv,
    /// One object of names and values.
    Json,
}

/// One environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its value; may be empty, which overrides an inherited one.
    pub value: String,
    /// Who reads it.
    pub why: &'static str,
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
}

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
    ("PIP_CERT", Value::Bundle, "pip"),
    ("UV_SYSTEM_CERTS", Value::On, "uv: read SSL_CERT_FILE in every one of its clients"),
    ("AWS_CA_BUNDLE", Value::Bundle, "AWS CLI and SDKs"),
    ("CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", Value::Bundle, "Google Cloud CLI"),
    ("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", Value::Bundle, "gRPC C core (Python, Ruby, C++)"),
    ("NIX_SSL_CERT_FILE", Value::Bundle, "Nix, and programs built by it"),
];

impl ClientEnvironment {
    /// The environment for clients of the proxy at `proxy_url` (`http://host:port`).
    ///
    /// `ca` and `bundle` are the two files of a [`TrustBundle`](crate::TrustBundle). `no_proxy` is the list of hosts reached
    /// directly, by default [`DEFAULT_NO_PROXY`]; empty sends loopback origins through the proxy as well.
    pub fn new(proxy_url: &str, ca: &Path, bundle: &Path, no_proxy: &str) -> Result<Self, EnvironmentError> {
        if !proxy_url.starts_with("http://") {
            return Err(EnvironmentError::Scheme(proxy_url.into()));
        }
        let (ca, bundle) = (text(ca)?, text(bundle)?);
        if let Some(value) = [proxy_url, ca, bundle, no_proxy]
            .into_iter()
            .find(|value| value.contains(char::is_control))
        {
            return Err(EnvironmentError::ControlCharacter(value.into()));
        }
        let variable = |&(name, value, why)| {
            let value = match value {
                Value::Proxy => proxy_url,
                Value::NoProxy => no_proxy,
                Value::Authority => ca,
                Value::Bundle => bundle,
                Value::On => "1",
            };
            Variable {
                name,
                value: value.into(),
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

    /// The whole environment as text, newline at the end.
    pub fn render(&self, format: Format) -> String {
        match format {
            Format::Sh => self.lines(|v| format!("export {}={}\n", v.name, sh_quoted(&v.value))),
            Format::Dotenv => self.lines(|v| format!("# {}\n{}={}\n", v.why, v.name, dotenv_quoted(&v.value))),
            Format::Json => {
                let object: serde_json::Map<_, _> = self.variables.iter().map(|v| (v.name.into(), v.value.as_str().into())).collect();
                format!("{:#}\n", serde_json::Value::Object(object))
            }
        }
    }

    fn lines(&self, line: impl FnMut(&Variable) -> String) -> String {
        self.variables.iter().map(line).collect()
    }
}

fn text(path: &Path) -> Result<&str, EnvironmentError> {
    path.to_str().ok_or_else(|| EnvironmentError::NotUtf8(path.into()))
}

/// Within single quotes a POSIX shell takes everything literally but the single quote.
fn sh_quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

fn dotenv_quoted(value: &str) -> String {
    let bare = |c: char| c.is_alphanumeric() || "_-./:,@%+=".contains(c);
    if value.chars().all(bare) {
        return value.into();
    }
    if !value.contains('\'') {
        return format!("'{value}'");
    }
    let mut quoted = String::from('"');
    for c in value.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
