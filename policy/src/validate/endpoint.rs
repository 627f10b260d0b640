//! An endpoint: host, ports, protocol, treatment.

use super::{addresses, body, pattern, rest, websocket};
use crate::address::AddressScope;
use crate::diagnostic::{Code, Diagnostics, Position};
use crate::document::{At, EndpointSection, LaterField, LaterWhy};
use crate::matcher::{EndpointPath, HostPattern, HostPatternError};
use crate::operation::BodyProtocol;
use crate::path::EncodedSlash;
use crate::policy::{Endpoint, EndpointId, Enforcement, RuleId, Tls, Traffic};

/// The endpoint, still without its place among the others; `None` after an error that leaves nothing to go on with.
pub(super) fn compile(section: EndpointSection, found: &mut Diagnostics) -> Option<Endpoint> {
    let reading = section.reading;
    let mut own = Diagnostics::default();
    let endpoint = compile_into(section, &mut own);
    found.append(own, reading);
    endpoint
}

fn compile_into(mut section: EndpointSection, found: &mut Diagnostics) -> Option<Endpoint> {
    let ports = ports(&section, found);
    let allowed_ips = section.allowed_ips.take();
    let host = host(&section, allowed_ips.is_some(), found);
    let ranges = allowed_ips.map(|list| addresses::compile(&list, found));
    let tls = tls(section.tls.as_ref(), found);
    let protocol = protocol(section.protocol.as_ref(), found);
    for field in &section.later {
        not_yet(field, found);
    }
    body::check_options(&section.body, protocol.as_str(), found);
    let enforcement = enforcement(&section, protocol, found);
    let path = endpoint_path(section.path.as_ref(), protocol, found);
    let traffic = match protocol {
        DeclaredProtocol::L4 => rest::refuse_without_protocol(&section, found),
        DeclaredProtocol::Rest => rest::compile(&mut section, tls, found).map(Traffic::Rest),
        DeclaredProtocol::WebSocket => websocket::compile(&mut section, tls, found).map(Traffic::WebSocket),
        DeclaredProtocol::Body(protocol) => body::compile(&mut section, protocol, tls, found),
        // What stands in the endpoint can't be judged by rules that are not there yet.
        DeclaredProtocol::NotYet => None,
    };
    let host = host?;
    let addresses = match (ranges, host.as_ref().map(HostPattern::as_exact)) {
        (Some(ranges), _) => AddressScope::AllowedRanges(ranges.into()),
        (None, Some(Some(crate::host::Host::Address(address)))) => AddressScope::Literal(*address),
        (None, Some(Some(crate::host::Host::Name(_)))) => AddressScope::DeclaredName,
        (None, _) => AddressScope::PublicOnly,
    };
    Some(Endpoint {
        id: EndpointId(0),
        rule: RuleId(0),
        rule_key: "".into(),
        host,
        ports: ports?,
        path: path?,
        tls,
        enforcement,
        encoded_slash: if section.allow_encoded_slash {
            EncodedSlash::Keep
        } else {
            EncodedSlash::Reject
        },
        addresses,
        traffic: traffic?,
        at: section.at,
        file: None,
    })
}

/// `Some(None)`: any host, as the addresses decide.
#[allow(clippy::option_option)]
fn host(section: &EndpointSection, has_addresses: bool, found: &mut Diagnostics) -> Option<Option<HostPattern>> {
    let host = match &section.host {
        Some(host) if !host.value.is_empty() => host,
        _ if has_addresses => return Some(None),
        _ => {
            found.error(
                Code::MissingKey,
                section.at,
                "an endpoint needs `host`",
                "only an endpoint with `allowed_ips` may leave it out",
            );
            return None;
        }
    };
    match HostPattern::parse_endpoint(&host.value) {
        Ok(pattern) => {
            addresses::warn_never_dialled(&pattern, host.at, found);
            Some(Some(pattern))
        }
        Err(error) => {
            report_host(host, error, found);
            None
        }
    }
}

fn report_host(host: &At<String>, error: HostPatternError, found: &mut Diagnostics) {
    let text = &host.value;
    if text.contains("://") {
        let message = format!("`{text}` is a URL, not a host");
        return found.error(
            Code::InvalidHost,
            host.at,
            message,
            "write the host only, without scheme, port and path",
        );
    }
    if text.split_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        let message = format!("`{text}` is a host with a port");
        return found.error(Code::InvalidHost, host.at, message, "write the port as `port`");
    }
    let (code, hint) = match error {
        HostPatternError::BareWildcard | HostPatternError::TopLevelWildcard => (
            Code::BroadHost,
            "list the hosts, or a wildcard such as `*.example.com` with two labels after it".to_owned(),
        ),
        HostPatternError::MisplacedRecursive => (Code::InvalidHost, "write `**` only as the whole first label".to_owned()),
        _ if text.ends_with('.') => (
            Code::InvalidHost,
            format!("write `{}` without the trailing dot", text.trim_end_matches('.')),
        ),
        _ if text.contains('/') => (
            Code::InvalidHost,
            "networks go into `allowed_ips`, paths into `path` or `rules`".to_owned(),
        ),
        _ => (Code::InvalidHost, String::new()),
    };
    found.error(code, host.at, format!("`{text}`: {error}"), hint);
}

fn ports(section: &EndpointSection, found: &mut Diagnostics) -> Option<Box<[u16]>> {
    let raw: Vec<&At<i64>> = match (&section.port, &section.ports) {
        (Some(port), Some(_)) => {
            found.error(
                Code::InvalidPort,
                port.at,
                "`port` and `ports` together",
                "write all of them in `ports`",
            );
            return None;
        }
        (Some(port), None) => vec![port],
        (None, Some(ports)) => ports.value.iter().collect(),
        (None, None) => Vec::new(),
    };
    if raw.is_empty() {
        let at = section.ports.as_ref().map_or(section.at, |ports| ports.at);
        found.error(Code::MissingPort, at, "an endpoint needs a port", "write `port: 443`");
        return None;
    }
    let mut ports = Vec::with_capacity(raw.len());
    for port in &raw {
        match u16::try_from(port.value) {
            Ok(number) if number > 0 => ports.push(number),
            _ => found.error(
                Code::InvalidPort,
                port.at,
                format!("{} is no port", port.value),
                "ports go from 1 to 65535",
            ),
        }
    }
    ports.sort_unstable();
    ports.dedup();
    Some(ports.into_boxed_slice())
}

fn tls(tls: Option<&At<String>>, found: &mut Diagnostics) -> Tls {
    let Some(tls) = tls else { return Tls::Auto };
    match tls.value.as_str() {
        "" => Tls::Auto,
        "skip" => Tls::Skip,
        old @ ("terminate" | "passthrough") => {
            let message = format!("`tls: {old}` is deprecated and has no effect: TLS is terminated wherever it is spoken");
            found.warn(Code::Deprecated, tls.at, message, "remove it, or write `skip` to leave TLS alone");
            Tls::Auto
        }
        other => {
            let message = format!("`{other}` is no value of `tls`");
            found.error(Code::InvalidTls, tls.at, message, "leave it out, or write `skip`");
            Tls::Auto
        }
    }
}

/// How an endpoint asks for its traffic to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeclaredProtocol {
    L4,
    Rest,
    WebSocket,
    Body(BodyProtocol),
    NotYet,
}

impl DeclaredProtocol {
    /// `None` where there is none whose options could be told from others.
    fn as_str(self) -> Option<&'static str> {
        match self {
            DeclaredProtocol::L4 => Some(""),
            DeclaredProtocol::Rest => Some("rest"),
            DeclaredProtocol::WebSocket => Some("websocket"),
            DeclaredProtocol::Body(protocol) => Some(protocol.as_str()),
            DeclaredProtocol::NotYet => None,
        }
    }
}

fn protocol(protocol: Option<&At<String>>, found: &mut Diagnostics) -> DeclaredProtocol {
    let Some(protocol) = protocol else { return DeclaredProtocol::L4 };
    match protocol.value.to_ascii_lowercase().as_str() {
        "" => DeclaredProtocol::L4,
        "rest" => DeclaredProtocol::Rest,
        "websocket" => DeclaredProtocol::WebSocket,
        "graphql" => DeclaredProtocol::Body(BodyProtocol::Graphql),
        "json-rpc" => DeclaredProtocol::Body(BodyProtocol::JsonRpc),
        "mcp" => DeclaredProtocol::Body(BodyProtocol::Mcp),
        other @ ("tcp" | "sql") => {
            not_ours(other, protocol.at, found);
            DeclaredProtocol::NotYet
        }
        other => {
            let message = format!("`{other}` is no protocol");
            found.error(
                Code::UnknownProtocol,
                protocol.at,
                message,
                "write `rest` or `websocket`, or leave it out to decide by host, port and binary only",
            );
            DeclaredProtocol::NotYet
        }
    }
}

/// Protocols that a proxy for HTTP clients has no part in.
fn not_ours(protocol: &str, at: Position, found: &mut Diagnostics) {
    let (message, hint) = match protocol {
        "tcp" => (
            "`protocol: tcp` redirects connections that know no proxy, which is the sandbox's to do",
            "leave `protocol` out: clients that use the proxy reach the host and port by CONNECT",
        ),
        _ => (
            "`protocol: sql` is not enforced: no statement is read",
            "leave `protocol` out to allow host and port, and let the database's own grants say what a statement may do",
        ),
    };
    found.error(Code::NotEnforcedHere, at, message, hint);
}

fn not_yet(field: &LaterField, found: &mut Diagnostics) {
    if let LaterWhy::Credentials = field.why {
        let hint = match field.name {
            "credential_signing" | "signing_service" | "signing_region" => {
                "remove it; let a signing proxy hold the AWS keys and list that proxy's host, or give the client its own short-lived keys"
            }
            "credential_binding" => "remove it; the operator binds placeholders to hosts under `credentials` of tollgate.yaml",
            "allow_uninspected_credentials" => "remove it; a credential is put in only where requests are read",
            _ => "remove it; placeholders are replaced in header values only, for the hosts that `credentials` of tollgate.yaml binds",
        };
        let message = format!("`{}` is not done here: the operator holds the credentials", field.name);
        found.error(Code::NotEnforcedHere, field.at, message, hint);
        return;
    }
    let hint = match field.why {
        LaterWhy::Credentials => "",
        LaterWhy::MessageCredentials => {
            "remove it, since messages are never changed; put the placeholder into a header field of the handshake, where it is replaced"
        }
        LaterWhy::Sql => "remove it; SQL is not read",
    };
    found.error(
        Code::NotSupportedYet,
        field.at,
        format!("`{}` is not supported yet", field.name),
        hint,
    );
}

fn enforcement(section: &EndpointSection, protocol: DeclaredProtocol, found: &mut Diagnostics) -> Enforcement {
    let given = section.enforcement.as_ref().filter(|text| !text.value.is_empty());
    match given.map(|text| (text.value.as_str(), text.at)) {
        Some(("enforce", _)) => Enforcement::Enforce,
        Some(("audit", _)) => Enforcement::Audit,
        Some((other, at)) => {
            let message = format!("`{other}` is no enforcement");
            found.error(
                Code::UnknownEnforcement,
                at,
                message,
                "write `enforce`, or `audit` to forward and log",
            );
            Enforcement::Enforce
        }
        None => {
            if matches!(
                protocol,
                DeclaredProtocol::Rest | DeclaredProtocol::WebSocket | DeclaredProtocol::Body(_)
            ) {
                found.warn(
                    Code::EnforcementOmitted,
                    section.at,
                    "without `enforcement` the endpoint only audits: requests that no rule allows are forwarded and logged",
                    "write `enforcement: enforce`, or `enforcement: audit` if that is meant",
                );
            }
            Enforcement::Audit
        }
    }
}

fn endpoint_path(path: Option<&At<String>>, protocol: DeclaredProtocol, found: &mut Diagnostics) -> Option<EndpointPath> {
    let Some(path) = path.filter(|path| !path.value.is_empty()) else {
        return Some(EndpointPath::Any);
    };
    if protocol == DeclaredProtocol::L4 && !matches!(path.value.as_str(), "**" | "/**") {
        found.error(
            Code::MatcherNotForProtocol,
            path.at,
            "`path` needs a protocol: without one, requests are not read",
            "write `protocol: rest` with rules",
        );
        return None;
    }
    if !path.value.starts_with('/') && !path.value.starts_with("**") {
        let message = format!("the endpoint path `{}` neither starts with `/` nor with `**`", path.value);
        found.error(Code::InvalidEndpointPath, path.at, message, format!("write `/{}`", path.value));
        return None;
    }
    parse_endpoint_path(&path.value, path.at, found)
}

fn parse_endpoint_path(text: &str, at: Position, found: &mut Diagnostics) -> Option<EndpointPath> {
    match EndpointPath::parse(&pattern::canonical(text)) {
        Ok(path) => Some(path),
        Err(error) => {
            found.error(Code::InvalidGlob, at, format!("`{text}`: {error}"), "");
            None
        }
    }
}
