//! What a Java virtual machine has to be told: it reads no proxy variable and no PEM, but takes system properties from `JAVA_TOOL_OPTIONS`.
//!
//! In: the proxy, the key store, the hosts reached directly. Out: options, quoted as the virtual machine splits them.

use url::Url;

use crate::bundle::java::PASSWORD;

/// The properties of `java.net` (proxies) and of JSSE (roots).
pub(super) fn options(proxy: &Url, trust_store: &str, no_proxy: &str) -> String {
    let host = proxy.host_str().unwrap_or_default();
    let port = proxy.port_or_known_default().unwrap_or_default().to_string();
    let direct = non_proxy_hosts(no_proxy);
    let properties = [
        ("http.proxyHost", host),
        ("http.proxyPort", &port),
        ("https.proxyHost", host),
        ("https.proxyPort", &port),
        // Both schemes; where it is not set, loopback is reached directly.
        ("http.nonProxyHosts", &direct),
        ("javax.net.ssl.trustStore", trust_store),
        ("javax.net.ssl.trustStoreType", "JKS"),
        ("javax.net.ssl.trustStorePassword", PASSWORD),
    ];
    let options: Vec<_> = properties
        .iter()
        .map(|(name, value)| quoted(&format!("-D{name}={value}")))
        .collect();
    options.join(" ")
}

/// `NO_PROXY` as Java spells it. What it can't spell (ports, CIDR ranges) is left out, and so goes through the proxy.
fn non_proxy_hosts(no_proxy: &str) -> String {
    let mut hosts = Vec::new();
    for entry in no_proxy.split(',').map(str::trim) {
        let suffix = entry.trim_start_matches("*.").trim_start_matches('.');
        match entry {
            "" => {}
            "*" => hosts.push("*".to_owned()),
            _ if entry.parse::<std::net::Ipv6Addr>().is_ok() => hosts.push(format!("[{entry}]")),
            _ if entry.contains([':', '/', '|']) => {}
            _ if suffix != entry => hosts.push(format!("*.{suffix}")),
            _ if entry.parse::<std::net::Ipv4Addr>().is_ok() || entry == "localhost" => hosts.push(entry.to_owned()),
            // Most clients take a name for its subdomains as well.
            _ => hosts.extend([entry.to_owned(), format!("*.{entry}")]),
        }
    }
    hosts.join("|")
}

/// The virtual machine splits at white space and knows both kinds of quotes, without escapes in them.
fn quoted(option: &str) -> String {
    if !option.contains(|c: char| c.is_whitespace() || c == '\'' || c == '"') {
        return option.to_owned();
    }
    format!("'{}'", option.replace('\'', r#"'"'"'"#))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_reached_directly_are_spelled_for_java() {
        for (no_proxy, expected) in [
            ("", ""),
            ("127.0.0.1,localhost,::1", "127.0.0.1|localhost|[::1]"),
            ("*", "*"),
            (".corp.test, *.other.test", "*.corp.test|*.other.test"),
            ("api.test", "api.test|*.api.test"),
            ("api.test:8443,10.0.0.0/8,a|*,fd00::/8", ""),
        ] {
            assert_eq!(non_proxy_hosts(no_proxy), expected, "{no_proxy}");
        }
    }

    #[test]
    fn options_are_quoted_where_they_must_be() {
        for (option, expected) in [
            ("-Da=/run/b.jks", "-Da=/run/b.jks"),
            ("-Da=/with space", "'-Da=/with space'"),
            ("-Da=/it's", r#"'-Da=/it'"'"'s'"#),
            (r#"-Da="b""#, r#"'-Da="b"'"#),
        ] {
            assert_eq!(quoted(option), expected);
        }
    }
}
