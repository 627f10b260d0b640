//! The files that an operator and a policy author would write for the demo's world.

use std::path::Path;

use super::rail;
use super::seller::{PRICE_DECIMAL, Resource};

/// The names of the demo's world; `upstream.hosts` gives them addresses.
pub(super) const ORIGIN: &str = "api.demo.test";
pub(super) const SELLER: &str = "seller.demo.test";
/// Allowed by a careless policy, shut by the operator by its name.
pub(super) const RAIL: &str = "rail.demo.test";
/// Allowed by a careless policy, shut by the operator by its address.
pub(super) const MIRROR: &str = "mirror.demo.test";
/// In no policy.
pub(super) const ELSEWHERE: &str = "elsewhere.demo.test";

pub(super) const POLICY: &str = "policy.yaml";
pub(super) const PAYEES: &str = "payees.yaml";
pub(super) const REFUSED: &str = "refused.yaml";
pub(super) const ORIGIN_ROOTS: &str = "origin-ca.pem";

/// Where things listen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    pub(super) origin: u16,
    pub(super) seller: u16,
    pub(super) rail: u16,
}

/// Who gives verdicts.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verdicts {
    /// The two lists.
    Local,
    /// A service at this port of loopback.
    Service(u16),
}

/// policy.yaml. Its last rule is the careless one that the rail rule is there for.
pub(super) fn policy(Ports { origin, seller, rail }: Ports) -> String {
    format!(
        r#"version: 1
network_policies:
  api:
    endpoints:
      - host: {ORIGIN}
        port: {origin}
        protocol: rest
        enforcement: enforce
        rules:
          - allow: {{ method: GET, path: "/hello" }}
          - allow: {{ method: POST, path: "/rpc" }}
          - allow: {{ method: POST, path: "/settle" }}
    binaries: [ {{ path: "/**" }} ]
  shop:
    endpoints:
      - {{ host: {SELLER}, port: {seller}, protocol: rest, enforcement: enforce, access: read-only }}
    binaries: [ {{ path: "/**" }} ]
  careless:
    endpoints:
      - {{ host: {RAIL}, port: {rail}, protocol: rest, enforcement: enforce, access: full }}
      - {{ host: {MIRROR}, port: {rail}, protocol: rest, enforcement: enforce, access: full }}
    binaries: [ {{ path: "/**" }} ]
"#
    )
}

/// tollgate.yaml.
pub(super) fn settings(name: &str, verdicts: Verdicts) -> String {
    let verdict = match verdicts {
        Verdicts::Local => format!("{{ backend: local, payees: {PAYEES}, refused: {REFUSED} }}"),
        Verdicts::Service(port) => format!("{{ backend: blackwall, url: \"http://127.0.0.1:{port}\", timeout: 2s }}"),
    };
    let rail = rail::ADDRESS;
    format!(
        r#"listen: {{ proxy: "127.0.0.1:0", admin: "127.0.0.1:0" }}
tls: {{ ca_dir: {name}-ca, extra_upstream_roots: [ {ORIGIN_ROOTS} ] }}
verdict: {verdict}
rails: {{ hosts: [ {RAIL} ], addresses: [ "{rail}/32" ] }}
upstream:
  hosts:
    {ORIGIN}: [ 127.0.0.1 ]
    {SELLER}: [ 127.0.0.1 ]
    {RAIL}: [ 127.0.0.1 ]
    {MIRROR}: [ "{rail}" ]
    {ELSEWHERE}: [ 127.0.0.1 ]
audit: {{ path: {name}-audit.jsonl }}
limits: {{ drain: 1s }}
insecure: {{ allow_loopback: true }}
"#
    )
}

/// Writes the lists of the local verdict backend.
pub(super) fn write_lists(folder: &Path) -> std::io::Result<()> {
    let known = format!("- payee: \"{}\"\n  price: \"{PRICE_DECIMAL}\"\n", Resource::Weather.payee());
    std::fs::write(folder.join(PAYEES), known)?;
    std::fs::write(folder.join(REFUSED), format!("- \"{}\"\n", Resource::Casino.payee()))
}
