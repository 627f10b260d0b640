#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use super::*;

const SECRET: &str = "sk-live-51H";

fn store() -> CredentialStore {
    let hosts = |hosts: &[&str]| hosts.iter().map(|host| BoundHost::parse(host).unwrap()).collect();
    let name = |name: &str| EnvName::parse(name).unwrap();
    let config = CredentialsConfig(vec![
        CredentialConfig {
            placeholder: name("KEY"),
            from_env: name("REAL"),
            hosts: hosts(&["api.example.com", "[2001:db8::1]:8443"]),
        },
        CredentialConfig {
            placeholder: name("OTHER"),
            from_env: name("REAL_OTHER"),
            hosts: hosts(&["other.example.com:443"]),
        },
    ]);
    CredentialStore::load(&config, |name| match name.as_str() {
        "REAL" => Some(SECRET.into()),
        "REAL_OTHER" => Some("other-secret".into()),
        _ => None,
    })
    .unwrap()
}

fn attach(store: &CredentialStore, host: &str, port: u16, name: &str, value: &str) -> Result<(usize, String), Reason> {
    let mut headers = HeaderMap::new();
    headers.insert(HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
    let count = store
        .attach(&Host::parse(host).unwrap(), port, &mut headers)
        .map_err(|error| error.reason())?;
    Ok((count, headers[name].to_str().unwrap().to_owned()))
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
    let store = store();
    let mut headers = HeaderMap::new();
    headers.append("x-a", "openshell:resolve:env:KEY".parse().unwrap());
    headers.append("x-a", "plain".parse().unwrap());
    headers.append("x-b", "openshell:resolve:env:OTHER".parse().unwrap());
    let before = headers.clone();
    let error = store
        .attach(&Host::parse("api.example.com").unwrap(), 443, &mut headers)
        .unwrap_err();
    assert_eq!(error.openshell_error(), "credential_endpoint_mismatch");
    assert_eq!(headers, before);
}

#[test]
fn repeated_fields_keep_their_order_and_are_marked_sensitive() {
    let store = store();
    let mut headers = HeaderMap::new();
    for value in ["first", "openshell:resolve:env:KEY", "third"] {
        headers.append("x-a", value.parse().unwrap());
    }
    assert_eq!(store.attach(&Host::parse("api.example.com").unwrap(), 443, &mut headers), Ok(1));
    let values: Vec<_> = headers
        .get_all("x-a")
        .iter()
        .map(|value| (value.as_bytes().to_vec(), value.is_sensitive()))
        .collect();
    let expected = [("first", false), (SECRET, true), ("third", false)];
    assert_eq!(values, expected.map(|(value, sensitive)| (value.as_bytes().to_vec(), sensitive)));
    assert_eq!(store.resolved(), 1);
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
fn a_variable_that_is_missing_or_would_inject_a_field_stops_the_start() {
    let config = CredentialsConfig(vec![CredentialConfig {
        placeholder: EnvName::parse("KEY").unwrap(),
        from_env: EnvName::parse("REAL").unwrap(),
        hosts: vec![BoundHost::parse("api.example.com").unwrap()],
    }]);
    let missing = CredentialStore::load(&config, |_| None).unwrap_err();
    assert!(missing.to_string().contains("`REAL`"), "{missing}");
    for value in ["", "a\r\nX-Evil: 1", "a\n", "a\0b", "a\u{7f}"] {
        let unusable = CredentialStore::load(&config, |_| Some(value.into())).unwrap_err();
        assert!(matches!(unusable, CredentialLoadError::Unusable { .. }), "{value:?}");
        assert!(!unusable.to_string().contains("X-Evil"), "{unusable}");
    }
}

#[test]
fn no_secret_shows_in_debug_output() {
    let store = store();
    assert_eq!(
        attach(&store, "api.example.com", 443, "x-a", "openshell:resolve:env:KEY").map(|(count, _)| count),
        Ok(1)
    );
    let debug = format!("{store:?}");
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
