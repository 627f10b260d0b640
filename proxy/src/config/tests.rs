#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use super::*;
use crate::audit::Output;

const FILE: &str = "/etc/tollgate/tollgate.yaml";

fn parse(source: &str) -> Result<Config, ConfigError> {
    Config::parse(source, Path::new(FILE))
}

fn refused(source: &str) -> ConfigError {
    match parse(source) {
        Ok(_) => panic!("accepted: {source}"),
        Err(error) => error,
    }
}

#[test]
fn nothing_written_means_every_default() {
    for source in ["", "\n", "# only a comment\n\n", "{}", "listen: {}\nlimits: {}\n"] {
        let config = parse(source).unwrap();
        assert_eq!(config.listen, ListenConfig::default(), "{source:?}");
        assert_eq!(config.limits, Limits::default(), "{source:?}");
        assert_eq!(config.insecure.weakenings(), [], "{source:?}");
        assert_eq!(config.audit.output, None, "{source:?}");
    }
    let config = Config::load(None).unwrap();
    assert_eq!(config.listen.proxy.to_string(), "127.0.0.1:3128");
    assert_eq!(config.listen.admin.to_string(), "127.0.0.1:9465");
}

#[test]
fn every_section_is_read() {
    let config = parse(
        r#"
listen: { proxy: "127.0.0.1:0", admin: "[::1]:9000" }
tls: { ca_dir: ca, leaf_lifetime: 12h, extra_upstream_roots: [roots.pem, /abs/roots.pem] }
upstream:
  hosts: { Git.Example.com: [192.0.2.1, "2001:db8::1"] }
  connect_timeout: 750ms
credentials:
  - { placeholder: GITHUB_TOKEN, from_env: REAL_TOKEN, hosts: [api.github.com, "uploads.github.com:443", "[2001:db8::1]:8443"] }
limits: { header_bytes: 32KiB, connections: 10, idle: 1m }
audit: { path: "audit.jsonl" }
insecure: { allow_loopback: true }
"#,
    )
    .unwrap();
    assert_eq!((config.listen.proxy.port(), config.listen.admin.port()), (0, 9000));
    assert_eq!(config.tls.ca_dir.as_deref(), Some(Path::new("/etc/tollgate/ca")));
    assert_eq!(
        config.tls.extra_upstream_roots,
        [Path::new("/etc/tollgate/roots.pem"), Path::new("/abs/roots.pem")]
    );
    assert_eq!(config.tls.leaf_lifetime, Duration::from_secs(43_200));
    assert_eq!(config.upstream.hosts.get("git.example.com").map(Vec::len), Some(2));
    assert_eq!(config.limits.connect, Duration::from_millis(750));
    assert_eq!((config.limits.header_bytes, config.limits.connections), (32_768, 10));
    assert_eq!(config.limits.idle, Duration::from_secs(60));
    assert_eq!(config.limits.drain, Limits::default().drain);
    assert_eq!(config.audit.output, Some(Output::File("/etc/tollgate/audit.jsonl".into())));
    assert_eq!(config.credentials.0.first().map(|credential| credential.hosts.len()), Some(3));
    let switches: Vec<_> = config.insecure.weakenings().iter().map(|weakening| weakening.switch).collect();
    assert_eq!(switches, ["allow_loopback"]);
    assert_eq!(parse("audit: { path: '-' }").unwrap().audit.output, Some(Output::Stdout));
}

#[test]
fn the_command_line_overrides_the_file() {
    let listen = ListenConfig::default().overridden(Some("127.0.0.1:1".parse().unwrap()), None);
    assert_eq!((listen.proxy.port(), listen.admin.port()), (1, 9465));
}

#[test]
// One table.
#[allow(clippy::too_many_lines)]
fn what_is_wrong_is_refused_where_it_stands() {
    for (source, code, position, text) in [
        ("limit: {}", "unknown-key", (1, 1), "did you mean `limits`?"),
        (
            "limits:\n  header_byte: 1KiB\n",
            "unknown-key",
            (2, 3),
            "did you mean `header_bytes`?",
        ),
        (
            "insecure:\n  allow_everything: true\n",
            "unknown-key",
            (2, 3),
            "known here: allow_loopback",
        ),
        (
            "limits: {}\nlisten: {}\nlimits: {}\n",
            "duplicate-key",
            (3, 1),
            "`limits` stands twice",
        ),
        ("limits:\n  idle: 1s\n  idle: 2s\n", "duplicate-key", (3, 3), "`idle` stands twice"),
        ("limits:\n  idle: 5\n", "invalid-value", (2, 9), "500ms"),
        ("limits:\n  idle: 0s\n", "invalid-value", (2, 9), "zero is not a limit"),
        ("limits:\n  connections: 0\n", "invalid-value", (2, 16), "zero is not a limit"),
        ("limits:\n  header_bytes: 64KB\n", "invalid-value", (2, 17), "64KiB"),
        ("limits:\n  connections: -1\n", "", (2, 16), ""),
        ("listen:\n  proxy: localhost:3128\n", "", (2, 10), ""),
        ("insecure:\n  allow_loopback: yes\n", "", (2, 19), ""),
        ("tls:\n  leaf_lifetime: 1s\n", "invalid-value", (2, 18), ""),
        (
            "upstream:\n  proxy: socks5://10.0.0.1:1080\n",
            "invalid-value",
            (2, 10),
            "http:// or https://",
        ),
        (
            "upstream:\n  proxy: http://user:secret@10.0.0.1:3128\n",
            "invalid-value",
            (2, 10),
            "`proxy_credentials`",
        ),
        (
            "upstream:\n  proxy: http://10.0.0.1:3128/path\n",
            "invalid-value",
            (2, 10),
            "no path",
        ),
        (
            "upstream:\n  no_proxy: ['*']\n",
            "invalid-value",
            (2, 13),
            "leave `upstream.proxy` out",
        ),
        ("upstream:\n  proxy_credentials: file\n", "invalid-value", (2, 22), "no `proxy`"),
        ("tls:\n  hand_over_ca: true\n", "invalid-value", (2, 17), "without `ca_dir`"),
        (
            "upstream:\n  proxy: http://10.0.0.1:3128\n  proxy_credentials: file\n",
            "invalid-value",
            (3, 22),
            "sent in clear",
        ),
        (
            "upstream:\n  hosts: { 127.0.0.1: [192.0.2.1] }\n",
            "invalid-value",
            (2, 10),
            "not a host name",
        ),
        ("upstream:\n  hosts: { a.example: [] }\n", "invalid-value", (2, 10), "no address"),
        ("upstream:\n  hosts: { a.example: [127.1] }\n", "", (2, 24), ""),
        (
            "upstream:\n  hosts: { a.example: [192.0.2.1], A.example: [192.0.2.2] }\n",
            "invalid-value",
            (2, 10),
            "two spellings",
        ),
        (
            "credentials:\n  - { placeholder: KEY, from_env: KEY, hosts: [] }\n",
            "invalid-value",
            (2, 0),
            "at least one host",
        ),
        (
            "credentials:\n  - { placeholder: KEY, from_env: KEY }\n",
            "missing-key",
            (2, 0),
            "`hosts` is missing",
        ),
        (
            "credentials:\n  - { placeholder: KEY, from_env: KEY, hosts: ['*.example.com'] }\n",
            "invalid-value",
            (2, 0),
            "*.example.com",
        ),
        (
            "credentials:\n  - { placeholder: 1KEY, from_env: KEY, hosts: [a.example] }\n",
            "invalid-value",
            (2, 0),
            "letters",
        ),
        (
            "credentials:\n  - { placeholder: K, from_env: A, hosts: [a.example] }\n  - { placeholder: K, from_env: B, hosts: [a.example] }\n",
            "invalid-value",
            (2, 0),
            "listed twice",
        ),
        (
            "listen: { proxy: '127.0.0.1:80', admin: '127.0.0.1:80' }\n",
            "invalid-value",
            (1, 1),
            "one address",
        ),
        (
            "rails:\n  hosts:\n    - fine.example\n    - 'not a host'\n",
            "invalid-value",
            (4, 7),
            "rails.hosts[1]",
        ),
        (
            "rails:\n  addresses: [192.0.2.0/24, nonsense]\n",
            "invalid-value",
            (2, 29),
            "rails.addresses[1]",
        ),
        (
            "payments:\n  networks: [eip155:8453]\n  max_amount: 1 dollar\n",
            "invalid-value",
            (3, 15),
            "",
        ),
        ("payments:\n  payees: [12]\n", "", (2, 12), ""),
        (
            "payments:\n  signer: { key_env: KEY }\n",
            "missing-key",
            (2, 0),
            "`wallet` is missing",
        ),
        (
            "payments:\n  signer: { wallet: '0x12', key_env: KEY }\n",
            "invalid-value",
            (2, 21),
            "not 0x and 40 hex digits",
        ),
        (
            "payments:\n  signer: { wallet: '0xe36fafa443a2c47660fd4ea5bc635be9f27c8d81' }\n",
            "invalid-value",
            (2, 3),
            "exactly one of `key_file`, `key_env` and `remote`",
        ),
        (
            "payments:\n  signer: { wallet: '0xe36fafa443a2c47660fd4ea5bc635be9f27c8d81', key: abc }\n",
            "unknown-key",
            (2, 0),
            "key_env",
        ),
        (
            "payments:\n  signer:\n    wallet: '0xe36fafa443a2c47660fd4ea5bc635be9f27c8d81'\n    remote: { url: 'http://signer.example.com' }\n",
            "invalid-value",
            (4, 20),
            "https://",
        ),
        (
            "payments:\n  schemes: [exact, upto]\n  signer: { wallet: '0xe36fafa443a2c47660fd4ea5bc635be9f27c8d81', key_env: KEY }\n",
            "invalid-value",
            (2, 3),
            "only `exact`",
        ),
        (
            "# comment\n\nverdict:\n  backend: blackwall\n",
            "invalid-value",
            (3, 1),
            "verdict.url is required",
        ),
        ("verdict:\n  backend: oracle\n", "", (2, 12), ""),
        ("verdict:\n  urll: x\n", "unknown-key", (2, 3), "did you mean `url`?"),
        ("audit: { path: '' }", "invalid-value", (1, 0), "`-`"),
        ("listen: [", "wrong-type", (1, 9), "expected a map"),
        ("listen: {", "yaml-syntax", (0, 0), ""),
        ("listen: &x {}\n", "yaml-syntax", (0, 0), "anchors are not read"),
        ("listen: {}\n---\nlisten: {}\n", "yaml-syntax", (0, 0), ""),
        ("- a\n", "", (1, 0), ""),
    ] {
        let error = refused(source);
        let printed = error.to_string();
        assert!(code.is_empty() || error.code == code, "{source}\n{printed}");
        let (line, column) = error.position.unwrap_or((0, 0));
        assert!(position.0 == 0 || position.0 == line, "{source}\n{printed}");
        assert!(position.1 == 0 || position.1 == column, "{source}\n{printed}");
        assert!(printed.contains(text), "{source}\n{printed}");
        assert!(
            printed.starts_with(FILE) && printed.contains(&format!("error[{}]: ", error.code)),
            "{printed}"
        );
    }
}

#[test]
fn an_error_prints_as_file_line_column_and_shows_the_line() {
    let printed = refused("limits:\n  idel: 5s\n").to_string();
    let expected =
        "/etc/tollgate/tollgate.yaml:2:3: error[unknown-key]: there is no `idel` here\n2 |   idel: 5s\n  |   ^\nhint: did you mean `idle`?";
    assert_eq!(printed, expected);
}

#[test]
fn a_file_cannot_send_commands_to_the_terminal() {
    let error = ConfigError {
        message: "\u{1b}[2J".into(),
        line: Some(format!("\u{1b}]0;owned\u{7}{}", "x".repeat(5_000)).into()),
        position: Some((1, 3_000)),
        ..refused("limits: {}\nlimits: {}\n")
    };
    let printed = error.to_string();
    assert!(!printed.contains(['\u{1b}', '\u{7}']) && printed.len() < 600, "{printed:?}");
}

#[test]
fn files_that_are_missing_or_endless_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Config::load(Some(&folder.path().join("none.yaml"))).unwrap_err();
    assert_eq!((missing.code, missing.position), ("unreadable", None));
    let endless = Config::load(Some(Path::new("/dev/zero"))).unwrap_err();
    assert_eq!(endless.code, "file-too-large");
}

#[test]
fn a_nested_bomb_is_refused_quickly() {
    let start = std::time::Instant::now();
    refused(&"[".repeat(100_000));
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn the_reference_has_a_row_for_every_limit_and_each_reads_back() {
    let limits = Limits::default();
    let rows = limits.rows();
    let debug = format!("{limits:?}");
    assert_eq!(rows.len(), debug.matches(": ").count(), "{debug}");
    let mut file = String::from("limits:\n");
    for row in &rows {
        assert!(row.meaning.ends_with('.'), "{row:?}");
        if let Some(name) = row.key.strip_prefix("limits.") {
            file.extend(["  ", name, ": ", &row.value, "\n"]);
        }
    }
    assert_eq!(parse(&file).unwrap().limits, limits);
}
