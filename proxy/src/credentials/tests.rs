#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use std::sync::Arc;

use tollgate_policy::{CanonicalPath, EncodedSlash, Host};

use super::config::{Binding, CredentialConfig, CredentialsConfig, Source};
use super::*;

const SECRET: &str = "sk-live-51H";

fn store() -> Arc<CredentialStore> {
    let name = |name: &str| EnvName::parse(name).unwrap();
    let credential = |placeholder: &str, variable: &str, hosts: &[&str]| CredentialConfig {
        placeholder: name(placeholder),
        source: Source::Env(name(variable)),
        hosts: hosts.iter().map(|host| Binding::parse(host).unwrap()).collect(),
    };
    let config = CredentialsConfig(vec![
        credential("KEY", "REAL", &["api.example.com", "[2001:db8::1]:8443"]),
        credential("KEY_2", "REAL_2", &["api.example.com"]),
        credential("OTHER", "REAL_OTHER", &["other.example.com:443"]),
        credential("BELOW", "REAL", &["api.example.com/v1/**"]),
        credential("SLASHED", "REAL_SLASHED", &["api.example.com"]),
        credential("DOTS", "REAL_DOTS", &["api.example.com"]),
    ]);
    let keeping = Keeping::start(config, |name| match name {
        "REAL" => Some(SECRET.into()),
        "REAL_2" => Some("second:&=secret%".into()),
        "REAL_OTHER" => Some("other-secret".into()),
        "REAL_SLASHED" => Some("a/../../b".into()),
        "REAL_DOTS" => Some(".".into()),
        _ => None,
    });
    keeping.unwrap().store().clone()
}

fn attached(store: &CredentialStore, host: &str, port: u16, target: &str, headers: &HeaderMap) -> Result<Attached, CredentialError> {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let destination = Destination {
        host: &Host::parse(host).unwrap(),
        port,
        path: &CanonicalPath::parse(path, EncodedSlash::Keep).unwrap(),
        query,
    };
    store.attach(destination, headers)
}

/// How many fields changed, and the value of the one.
fn attach(store: &CredentialStore, host: &str, port: u16, name: &str, value: &str) -> Result<(usize, String), Reason> {
    let mut headers = HeaderMap::new();
    headers.insert(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    let attached = attached(store, host, port, "/", &headers).map_err(|error| error.reason())?;
    assert_eq!(attached.target, None);
    let new = attached.fields.first().map_or(&headers[name], |(_, value)| value);
    Ok((attached.fields.len(), new.to_str().unwrap().to_owned()))
}

fn filled(target: &str) -> Result<Option<String>, Reason> {
    let attached = attached(&store(), "api.example.com", 443, target, &HeaderMap::new()).map_err(|error| error.reason())?;
    Ok(attached.target.map(|target| target.for_the_wire().to_owned()))
}

#[test]
fn placeholders_become_secrets_in_every_shape_that_clients_send() {
    let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
    for (name, value, expected) in [
        (
            "authorization",
            "Bearer openshell:resolve:env:KEY".to_owned(),
            format!("Bearer {SECRET}"),
        ),
        ("x-api-key", "openshell:resolve:env:KEY".to_owned(), SECRET.to_owned()),
        ("x-api-key", "openshell:resolve:env:v12_KEY".to_owned(), SECRET.to_owned()),
        (
            "cookie",
            "a=openshell:resolve:env:KEY; b=openshell:resolve:env:KEY".to_owned(),
            format!("a={SECRET}; b={SECRET}"),
        ),
        (
            "authorization",
            basic("user:openshell:resolve:env:KEY"),
            basic(&format!("user:{SECRET}")),
        ),
        (
            "authorization",
            format!("bAsIc {}", STANDARD_NO_PAD.encode("openshell:resolve:env:KEY:")),
            basic(&format!("{SECRET}:")),
        ),
        (
            "authorization",
            "Basic openshell:resolve:env:KEY".to_owned(),
            format!("Basic {SECRET}"),
        ),
        ("x-api-key", "sk-OPENSHELL-RESOLVE-ENV-KEY-0000".to_owned(), SECRET.to_owned()),
        ("x-api-key", "OPENSHELL-RESOLVE-ENV-KEY".to_owned(), SECRET.to_owned()),
        ("x-api-key", "sk-OPENSHELL-RESOLVE-ENV-v3_KEY".to_owned(), SECRET.to_owned()),
        (
            "x-api-key",
            "sk-OPENSHELL-RESOLVE-ENV-KEY_2".to_owned(),
            "second:&=secret%".to_owned(),
        ),
        (
            "authorization",
            "Bearer ghp_OPENSHELL-RESOLVE-ENV-KEYabc.def".to_owned(),
            format!("Bearer {SECRET}"),
        ),
        (
            "authorization",
            basic("x-access-token:ghp_OPENSHELL-RESOLVE-ENV-KEY"),
            basic(&format!("x-access-token:{SECRET}")),
        ),
        (
            "cookie",
            "a=OPENSHELL-RESOLVE-ENV-KEY; b=openshell:resolve:env:KEY; c=OPENSHELL-RESOLVE-ENV-KEY".to_owned(),
            format!("a={SECRET}; b={SECRET}; c={SECRET}"),
        ),
    ] {
        let (count, got) = attach(&store(), "api.example.com", 443, name, &value).unwrap();
        assert_eq!(got, expected, "{value}");
        assert!(count >= 1, "{value}");
    }
}

#[test]
fn what_is_no_placeholder_stays_as_it_is() {
    for (name, value) in [
        ("authorization", "Bearer sk-own"),
        ("authorization", "Basic dXNlcjpwYXNz"),
        ("authorization", "Basic !!!"),
        ("x-text", "openshell:resolve:en"),
        ("x-text", "OPENSHELL:RESOLVE:ENV:KEY"),
        ("x-text", "dXNlcjpvcGVuc2hlbGw6cmVzb2x2ZTplbnY6S0VZ"),
    ] {
        let store = store();
        assert_eq!(attach(&store, "api.example.com", 443, name, value), Ok((0, value.to_owned())));
        assert_eq!(store.resolved(), 0);
    }
}

#[test]
fn a_credential_cannot_be_lured_to_another_host_or_port() {
    let value = "Bearer openshell:resolve:env:KEY";
    for (host, port) in [
        ("evil.example.com", 443),
        ("api.example.com.evil.com", 443),
        ("xapi.example.com", 443),
        ("2001:db8::1", 443),
        ("192.0.2.1", 443),
    ] {
        let store = store();
        assert_eq!(
            attach(&store, host, port, "authorization", value),
            Err(Reason::CredentialMismatch),
            "{host}:{port}"
        );
        assert_eq!(store.resolved(), 0, "{host}:{port}");
    }
    assert!(attach(&store(), "2001:db8::1", 8443, "authorization", value).is_ok());
    assert!(attach(&store(), "API.example.com", 8443, "authorization", value).is_ok());
}

#[test]
fn a_placeholder_without_a_credential_is_not_sent() {
    for value in [
        "openshell:resolve:env:NONE",
        "openshell:resolve:env:",
        "openshell:resolve:env:1KEY",
        "openshell:resolve:env:KEYS",
        "openshell:resolve:env:v_KEY",
        "openshell:resolve:env:v1_NONE",
        "openshell:resolve:env:openshell:resolve:env:KEY",
        "OPENSHELL-RESOLVE-ENV-",
        "sk-OPENSHELL-RESOLVE-ENV-NONE",
        "OPENSHELL-RESOLVE-ENV-OPENSHELL-RESOLVE-ENV-KEY",
    ] {
        assert_eq!(
            attach(&store(), "api.example.com", 443, "x-api-key", value),
            Err(Reason::CredentialUnavailable),
            "{value}"
        );
    }
}

#[test]
fn one_bad_placeholder_leaves_every_field_untouched() {
    let mut headers = HeaderMap::new();
    headers.append("x-a", "openshell:resolve:env:KEY".parse().unwrap());
    headers.append("x-b", "openshell:resolve:env:OTHER".parse().unwrap());
    let store = store();
    let error = attached(&store, "api.example.com", 443, "/", &headers).unwrap_err();
    assert_eq!((error.openshell_error(), store.resolved()), ("credential_endpoint_mismatch", 0));
}

#[test]
fn repeated_fields_keep_their_order_and_are_marked_sensitive() {
    let store = store();
    let mut headers = HeaderMap::new();
    for value in ["first", "openshell:resolve:env:KEY", "third"] {
        headers.append("x-a", value.parse().unwrap());
    }
    headers.append("x-b", "plain".parse().unwrap());
    let fields = attached(&store, "api.example.com", 443, "/", &headers).unwrap().fields;
    let values: Vec<_> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap(), value.is_sensitive()))
        .collect();
    assert_eq!(values, [("x-a", "first", false), ("x-a", SECRET, true), ("x-a", "third", false)]);
    assert_eq!(store.resolved(), 1);
}

#[test]
fn placeholders_in_a_target_become_secrets_and_all_else_in_it_stays() {
    for (target, expected) in [
        ("/bot/send?a=1", None),
        ("/a%20b?c=%3A", None),
        ("/openshell:resolve:env:KEY/send", Some(format!("/{SECRET}/send"))),
        ("/botopenshell:resolve:env:KEY/send?x=1", Some(format!("/bot{SECRET}/send?x=1"))),
        ("/v1?key=openshell:resolve:env:KEY&b=%20+", Some(format!("/v1?key={SECRET}&b=%20+"))),
        (
            "/v1?b=%2F&key=openshell%3Aresolve%3aenv%3AKEY&c=%2f",
            Some(format!("/v1?b=%2F&key={SECRET}&c=%2f")),
        ),
        ("/a%20b/openshell%3Aresolve%3Aenv%3AKEY", Some(format!("/a%20b/{SECRET}"))),
        ("/v1?key=sk-OPENSHELL-RESOLVE-ENV-KEY", Some(format!("/v1?key={SECRET}"))),
        (
            "/v1?key=openshell:resolve:env:KEY_2&b",
            Some("/v1?key=second%3A%26%3Dsecret%25&b".to_owned()),
        ),
        ("/openshell:resolve:env:KEY_2?b", Some("/second:&=secret%25?b".to_owned())),
        ("/v1/x?key=openshell:resolve:env:BELOW", Some(format!("/v1/x?key={SECRET}"))),
    ] {
        assert_eq!(filled(target), Ok(expected), "{target}");
    }
}

#[test]
fn a_secret_cannot_lead_to_another_path_and_a_bound_one_not_leave_its_own() {
    for (target, expected) in [
        ("/x/openshell:resolve:env:SLASHED", Reason::CredentialUnavailable),
        ("/x/openshell:resolve:env:DOTS/y", Reason::CredentialUnavailable),
        ("/x/.openshell:resolve:env:DOTS", Reason::CredentialUnavailable),
        ("/v1?key=openshell:resolve:env:NONE", Reason::CredentialUnavailable),
        ("/v1?key=openshell:resolve:env:", Reason::CredentialUnavailable),
        ("/v1?key=openshell:resolve:env:OTHER", Reason::CredentialMismatch),
        ("/v2?key=openshell:resolve:env:BELOW", Reason::CredentialMismatch),
        ("/v1/x%2fy?key=openshell:resolve:env:BELOW", Reason::CredentialMismatch),
        (
            "/openshell:resolve:env:KEY?key=openshell:resolve:env:OTHER",
            Reason::CredentialMismatch,
        ),
    ] {
        assert_eq!(filled(target), Err(expected), "{target}");
    }
    assert_eq!(
        filled("/x?q=openshell:resolve:env:SLASHED"),
        Ok(Some("/x?q=a%2F..%2F..%2Fb".to_owned()))
    );
}

#[test]
fn a_payment_leaves_as_it_was_judged() {
    for name in ["x-payment", "payment-signature", "host"] {
        let value = "openshell:resolve:env:KEY";
        assert_eq!(
            attach(&store(), "api.example.com", 443, name, value),
            Ok((0, value.to_owned())),
            "{name}"
        );
    }
}

#[test]
fn a_variable_that_would_inject_a_field_stops_the_start() {
    for value in ["", "a\r\nX-Evil: 1", "a\n", "a\0b", "a\u{7f}"] {
        let config = CredentialsConfig(vec![CredentialConfig {
            placeholder: EnvName::parse("KEY").unwrap(),
            source: Source::Env(EnvName::parse("REAL").unwrap()),
            hosts: vec![Binding::parse("api.example.com").unwrap()],
        }]);
        let unusable = Keeping::start(config, |_| Some(value.into())).map(|_| ()).unwrap_err().to_string();
        assert!(unusable.contains("`REAL`") && !unusable.contains("X-Evil"), "{unusable}");
    }
}

#[test]
fn no_secret_shows_in_debug_output() {
    let store = store();
    assert_eq!(
        attach(&store, "api.example.com", 443, "x-a", "openshell:resolve:env:KEY").map(|(count, _)| count),
        Ok(1)
    );
    let target = attached(&store, "api.example.com", 443, "/?k=openshell:resolve:env:KEY", &HeaderMap::new()).unwrap();
    let debug = format!("{store:?} {target:?}");
    assert!(debug.contains("[REDACTED]") && !debug.contains(SECRET), "{debug}");
}

#[test]
fn without_credentials_nothing_is_looked_at() {
    let value = "openshell:resolve:env:KEY";
    assert_eq!(
        attach(&CredentialStore::default(), "api.example.com", 443, "x-a", value),
        Ok((0, value.to_owned()))
    );
}
