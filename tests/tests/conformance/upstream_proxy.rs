//! Another proxy on the way out: every leg is made by it, and its refusals are typed answers.
//!
//! The policy's host has a documentation address (RFC 5737), which only the other proxy leads anywhere: to loopback, which is never
//! reached by it.

use serde_json::{Value, json};
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::chained::CompanyProxy;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::Origin;
use tollgate_tests::policy::{self, Entry, HOST};
use tollgate_tests::tollgate::{Setup, Tollgate};

const ADDRESS: &str = "198.51.100.7";
const ESTABLISHED: &str = "HTTP/1.1 200 Connection established\r\n\r\n";

struct Company {
    gate: Tollgate,
    proxy: CompanyProxy,
    plain: Origin,
    tls: Origin,
}

impl Company {
    async fn open(scheme: &str, answer: &'static str, settings: Value) -> Self {
        let authority = Authority::default();
        let (plain, tls) = (Origin::plain().await, Origin::tls(&authority, Alpn::H2).await);
        let certificate = (scheme == "https").then(|| authority.server("localhost", Alpn::Absent));
        let proxy = CompanyProxy::start(certificate, answer).await;
        let gate = Setup::new(policy::open(&[plain.port(), tls.port()]))
            .host(HOST, ADDRESS)
            .trust(&authority)
            .config(json!({ "upstream": { "proxy": format!("{scheme}://localhost:{}", proxy.port()) } }))
            .config(settings)
            .start();
        Company { gate, proxy, plain, tls }
    }

    fn origin(&self, via: Via) -> &Origin {
        if via.is_tls() { &self.tls } else { &self.plain }
    }
}

#[tokio::test]
async fn every_inspected_leg_is_made_by_it_and_asks_for_the_judged_address() {
    for scheme in ["http", "https"] {
        let company = Company::open(scheme, ESTABLISHED, json!({})).await;
        for via in Via::ALL {
            let port = company.origin(via).port();
            let asked = company.proxy.heads().len();
            company.gate.fetch(via, &Ask::get(port, "/")).await.assert_allowed();
            let heads = company.proxy.heads();
            let target = format!("{ADDRESS}:{port}");
            assert_eq!(
                heads[asked..],
                [format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")],
                "{scheme} {via:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_tunnel_keeps_its_connection_by_it() {
    let company = Company::open("http", ESTABLISHED, json!({})).await;
    let mut tunnel = company.gate.tls_h1(company.tls.port()).await;
    for _ in 0..3 {
        tunnel
            .request(Ask::get(company.tls.port(), "/").h1(Via::TlsH1))
            .await
            .assert_allowed();
    }
    assert_eq!(company.proxy.heads().len(), 1);
}

#[tokio::test]
async fn names_and_credentials_go_to_it_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proxy-credentials");
    std::fs::write(&file, "agent:pass-CANARY\n").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let settings = json!({ "upstream": { "proxy_credentials": file, "proxy_connect": "name" } });
    let company = Company::open("http", ESTABLISHED, settings).await;
    for via in [Via::AbsoluteForm, Via::TlsH2] {
        let port = company.origin(via).port();
        company.gate.fetch(via, &Ask::get(port, "/")).await.assert_allowed();
        let head = company.proxy.heads().pop().unwrap();
        // agent:pass-CANARY
        let expected =
            format!("CONNECT {HOST}:{port} HTTP/1.1\r\nHost: {HOST}:{port}\r\nProxy-Authorization: Basic YWdlbnQ6cGFzcy1DQU5BUlk=\r\n\r\n");
        assert_eq!(head, expected);
        let request = company.origin(via).requests().pop().unwrap();
        assert!(
            !request
                .headers
                .iter()
                .any(|(name, _)| name.eq_ignore_ascii_case("proxy-authorization"))
        );
    }
    let said = format!(
        "{}{:?}{}",
        company.gate.stderr(),
        company.gate.audit_events(),
        company.gate.metrics().await
    );
    assert!(!said.contains("CANARY") && !said.contains("YWdlbnQ6"), "{said}");
}

#[tokio::test]
async fn what_passes_unread_goes_by_it_too() {
    let origin = Origin::plain().await;
    let proxy = CompanyProxy::start(None, ESTABLISHED).await;
    let unread = policy::document(&[Entry {
        name: "raw",
        host: HOST,
        ports: &[origin.port()],
        lines: &["tls: skip"],
    }]);
    let gate = Setup::new(unread)
        .host(HOST, ADDRESS)
        .config(json!({ "upstream": { "proxy": format!("http://127.0.0.1:{}", proxy.port()) } }))
        .start();
    let mut tunnel = gate.tunnel(&format!("{HOST}:{}", origin.port())).await.unwrap();
    tunnel.send(b"\x00binary".as_slice()).await;
    assert_eq!(proxy.heads().len(), 1);
}

#[tokio::test]
async fn listed_destinations_and_loopback_are_dialled_straight() {
    for (address, no_proxy) in [(ADDRESS, json!(["127.0.0.0/8"])), ("127.0.0.1", json!([]))] {
        let company = Company::open(
            "http",
            ESTABLISHED,
            json!({ "upstream": { "no_proxy": no_proxy, "hosts": { HOST: [address] } } }),
        )
        .await;
        let by_proxy = address == ADDRESS;
        company
            .gate
            .fetch(Via::AbsoluteForm, &Ask::get(company.plain.port(), "/"))
            .await
            .assert_allowed();
        assert_eq!(company.proxy.heads().len(), usize::from(by_proxy), "{address}");
    }
}

#[tokio::test]
async fn its_refusals_are_typed_and_say_whose_they_are() {
    for (answer, detail) in [
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n",
            "wants other credentials (407)",
        ),
        ("HTTP/1.1 403 Forbidden\r\n\r\n", "refused to connect to the origin (status 403)"),
        (
            "HTTP/1.1 302 Found\r\nLocation: http://login.example/\r\n\r\n",
            "refused to connect to the origin (status 302)",
        ),
        ("garbage\r\n\r\n", "not well-formed HTTP"),
        ("", "closed the connection"),
    ] {
        let company = Company::open("http", answer, json!({})).await;
        for via in Via::ALL {
            let body = company
                .gate
                .fetch(via, &Ask::get(company.origin(via).port(), "/"))
                .await
                .assert_denied(502, "upstream_unreachable");
            assert!(body["detail"].as_str().unwrap().contains(detail), "{via:?}: {body}");
        }
        company.plain.assert_untouched();
        company.tls.assert_untouched();
    }
}

#[tokio::test]
async fn one_whose_certificate_does_not_verify_gets_nothing() {
    let foreign = Authority::default();
    let proxy = CompanyProxy::start(Some(foreign.server("localhost", Alpn::Absent)), ESTABLISHED).await;
    let gate = Setup::new(policy::open(&[443]))
        .host(HOST, ADDRESS)
        .config(json!({ "upstream": { "proxy": format!("https://localhost:{}", proxy.port()) } }))
        .start();
    let body = gate
        .fetch(Via::AbsoluteForm, &Ask::get(443, "/"))
        .await
        .assert_denied(502, "upstream_unreachable");
    assert!(body["detail"].as_str().unwrap().contains("certificate does not verify"), "{body}");
    assert_eq!(proxy.heads(), [] as [&str; 0]);
}

#[test]
fn credentials_that_others_may_read_keep_it_from_starting() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proxy-credentials");
    std::fs::write(&file, "agent:secret\n").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let settings = json!({ "upstream": { "proxy": "http://127.0.0.1:9", "proxy_credentials": file } });
    let Err(error) = Setup::new(policy::open(&[443])).config(settings).try_start() else {
        panic!("it started");
    };
    assert!(
        error.contains("upstream.proxy_credentials") && error.contains("chmod 600"),
        "{error}"
    );
}
