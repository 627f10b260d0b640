#![allow(clippy::unwrap_used)]
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use super::*;

const AWKWARD: &str = r#"/tmp/it's a "test" $HOME `id` \n #1/ä=b"#;

fn files(directory: &Path) -> TrustBundle {
    TrustBundle::within(directory).unwrap()
}

fn environment(directory: &str) -> ClientEnvironment {
    ClientEnvironment::new("http://127.0.0.1:3128", &files(directory.as_ref()), DEFAULT_NO_PROXY).unwrap()
}

fn value<'a>(environment: &'a ClientEnvironment, name: &str) -> &'a str {
    &environment
        .variables()
        .iter()
        .find(|v| v.name == name)
        .unwrap_or_else(|| panic!("no {name}"))
        .value
}

#[test]
fn clients_are_told_the_proxy_and_the_right_file() {
    let environment = environment("/run/tollgate");
    for name in [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "grpc_proxy",
        "CARGO_HTTP_PROXY",
        "npm_config_proxy",
        "npm_config_https_proxy",
    ] {
        assert_eq!(value(&environment, name), "http://127.0.0.1:3128", "{name}");
    }
    for name in ["NO_PROXY", "no_proxy"] {
        assert_eq!(value(&environment, name), "127.0.0.1,localhost,::1", "{name}");
    }
    for name in ["NODE_USE_ENV_PROXY", "UV_SYSTEM_CERTS"] {
        assert_eq!(value(&environment, name), "1", "{name}");
    }
    // These add to the client's own roots.
    for name in ["NODE_EXTRA_CA_CERTS", "DENO_CERT"] {
        assert_eq!(value(&environment, name), "/run/tollgate/tollgate-ca.pem", "{name}");
    }
    // These replace them: with the authority alone, pass-through hosts would fail.
    for name in [
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "CARGO_HTTP_CAINFO",
        "PIP_CERT",
        "AWS_CA_BUNDLE",
        "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
        "npm_config_cafile",
    ] {
        assert_eq!(value(&environment, name), "/run/tollgate/ca-bundle.pem", "{name}");
    }
}

#[test]
fn each_variable_is_named_once_and_explained() {
    let environment = environment("/x");
    let mut names = std::collections::BTreeSet::new();
    for variable in environment.variables() {
        assert!(names.insert(variable.name), "{} twice", variable.name);
        assert!(!variable.why.is_empty() && !variable.why.contains('\n'));
    }
    // Options for the whole of Node would replace what the user set.
    assert!(!names.contains("NODE_OPTIONS"));
}

#[test]
fn java_is_told_all_by_properties() {
    let environment = environment("/with space");
    assert_eq!(
        value(&environment, "JAVA_TOOL_OPTIONS"),
        "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128 \
         -Dhttp.nonProxyHosts=127.0.0.1|localhost|[::1] '-Djavax.net.ssl.trustStore=/with space/truststore.jks' \
         -Djavax.net.ssl.trustStoreType=JKS -Djavax.net.ssl.trustStorePassword=changeit"
    );
}

/// What a user set for Java is no less in force, and what a user set for proxies and roots is.
#[test]
fn options_are_added_to_and_everything_else_is_replaced() {
    let environment = environment("/run/tollgate");
    for variable in environment.variables() {
        let joined = ["JAVA_TOOL_OPTIONS", "MAVEN_OPTS"].contains(&variable.name);
        let expected = if joined {
            format!("-Xmx1g {}", variable.value)
        } else {
            variable.value.clone()
        };
        assert_eq!(variable.over(Some("-Xmx1g")), expected);
        assert_eq!(variable.over(Some("")), variable.value);
        assert_eq!(variable.over(None), variable.value);
        let line = format!("export {}=-Xmx1g\n{}", variable.name, environment.render(Format::Sh));
        assert_eq!(through_sh(&line, true).get(variable.name), Some(&expected));
    }
}

/// What `sh` makes of the rendered text, evaluated as the README says.
fn through_sh(rendered: &str, strict: bool) -> BTreeMap<String, String> {
    let script = if strict {
        "set -eu; eval \"$1\"; env -0"
    } else {
        "eval \"$1\"; env -0"
    };
    let output = Command::new("/bin/sh")
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .args(["-c", script, "sh", rendered])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0')
        .map(|line| line.split_once('=').unwrap())
        .map(|(n, v)| (n.into(), v.into()))
        .collect()
}

#[test]
fn a_shell_reads_back_every_value_byte_for_byte() {
    for directory in ["/run/tollgate", "/with space", AWKWARD] {
        let environment = environment(directory);
        let seen = through_sh(&environment.render(Format::Sh), true);
        for variable in environment.variables() {
            assert_eq!(seen.get(variable.name), Some(&variable.value), "{}", variable.name);
        }
    }
}

/// A directory's name must not run as a command when a shell reads our output.
#[test]
fn a_path_cannot_inject_a_command() {
    let directory = tempfile::tempdir().unwrap();
    let mark = directory.path().join("ran");
    for attack in ["'; touch MARK; '", "$(touch MARK)", "`touch MARK`", "\\'; touch MARK #"] {
        let path = format!("/x/{}", attack.replace("MARK", mark.to_str().unwrap()));
        for format in [Format::Sh, Format::Dotenv] {
            through_sh(&environment(&path).render(format), true);
            assert!(!mark.exists(), "{attack} in {format:?}");
        }
    }
}

#[test]
fn an_env_file_is_bare_where_it_can_be_and_quoted_where_it_must_be() {
    for (directory, expected) in [
        ("/run/tollgate", "SSL_CERT_FILE=/run/tollgate/ca-bundle.pem"),
        ("/with space", "SSL_CERT_FILE='/with space/ca-bundle.pem'"),
        ("/it's", r#"SSL_CERT_FILE="/it's/ca-bundle.pem""#),
        ("/it's $5", r#"SSL_CERT_FILE="/it's \$5/ca-bundle.pem""#),
    ] {
        let rendered = environment(directory).render(Format::Dotenv);
        assert!(rendered.lines().any(|line| line == expected), "{rendered}");
        assert!(rendered.lines().all(|line| line.starts_with("# ") || line.contains('=')));
        // A shell that sources the file agrees.
        assert_eq!(
            through_sh(&format!("set -a\n{rendered}"), true).get("SSL_CERT_FILE"),
            Some(&format!("{directory}/ca-bundle.pem"))
        );
    }
}

#[test]
fn json_is_one_object() {
    let environment = environment(AWKWARD);
    let object: BTreeMap<String, String> = serde_json::from_str(&environment.render(Format::Json)).unwrap();
    assert_eq!(object.len(), environment.variables().len());
    for variable in environment.variables() {
        assert_eq!(object.get(variable.name), Some(&variable.value));
    }
}

#[test]
fn an_empty_no_proxy_overrides_an_inherited_one() {
    let environment = ClientEnvironment::new("http://127.0.0.1:1", &files("/a".as_ref()), "").unwrap();
    let rendered = environment.render(Format::Sh);
    assert!(rendered.contains("export NO_PROXY=''\n") && rendered.contains("export no_proxy=''\n"));
    assert!(environment.render(Format::Dotenv).contains("\nNO_PROXY=\n"));
}

#[test]
fn what_no_environment_can_hold_is_refused() {
    let new = |proxy: &str, directory: &Path| ClientEnvironment::new(proxy, &files(directory), "").unwrap_err();
    let good = "http://127.0.0.1:3128";
    assert!(matches!(
        new("https://127.0.0.1:3128", Path::new("/a")),
        EnvironmentError::Scheme(_)
    ));
    assert!(matches!(new("127.0.0.1:3128", Path::new("/a")), EnvironmentError::Scheme(_)));
    assert!(matches!(
        new("http://a\nSSL_CERT_FILE=/evil", Path::new("/a")),
        EnvironmentError::ControlCharacter(_)
    ));
    assert!(matches!(new(good, Path::new("/a\nb")), EnvironmentError::ControlCharacter(_)));
    assert!(matches!(
        new(good, Path::new(OsStr::from_bytes(b"/\xff"))),
        EnvironmentError::NotUtf8(_)
    ));
}
