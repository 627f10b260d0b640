//! CONNECT authority, server name, Host, `:authority` and target are one and the same, or the request is refused.

use serde_json::json;
use tollgate_tests::answer::Rows;
use tollgate_tests::authority::Alpn;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::h2_client::H2;
use tollgate_tests::policy::{self, Entry, HOST};
use tollgate_tests::wire::H1;
use tollgate_tests::world::World;

const OTHER: &str = "other.example.test";

/// Both names are listed and resolve to the same origins, so that only the authority check can stop a request.
async fn two_names() -> World {
    World::start(|ports| policy::open_with(OTHER, ports), |setup| setup.host(OTHER, "127.0.0.1")).await
}

/// E12.
#[tokio::test]
async fn a_host_field_that_is_not_the_connect_authority_is_refused() {
    let world = two_names().await;
    let port = world.tls.port();
    let mut h1 = world.gate.tls_h1(port).await;
    let answer = h1.request(format!("GET / HTTP/1.1\r\nHost: {OTHER}:{port}\r\n\r\n")).await;
    let body = answer.assert_denied(403, "authority_mismatch");
    assert_eq!(body["error"], "request_authority_mismatch");

    let mut h2 = world.gate.tls_h2(port).await;
    h2.ask(&Ask::get(port, "/").host(OTHER))
        .await
        .assert_denied(403, "authority_mismatch");

    let mut tunnel = world.gate.tunnel(&format!("{HOST}:{}", world.plain.port())).await.unwrap();
    let ask = Ask::get(world.plain.port(), "/").host(OTHER);
    tunnel
        .request(ask.h1(Via::PlainTunnel))
        .await
        .assert_denied(403, "authority_mismatch");
    world.plain.assert_no_request();
    world.tls.assert_no_request();
}

#[tokio::test]
async fn host_and_authority_that_disagree_over_http2_are_refused() {
    let world = two_names().await;
    let port = world.tls.port();
    let mut h2 = world.gate.tls_h2(port).await;
    h2.ask(&Ask::get(port, "/").header("host", format!("{OTHER}:{port}")))
        .await
        .assert_denied(403, "authority_mismatch");
    world.tls.assert_no_request();
}

/// E8 and E11. OpenShell puts the target's authority in Host's place; Tollgate refuses what disagrees.
#[tokio::test]
async fn an_absolute_form_target_has_to_agree_with_host() {
    let world = two_names().await;
    let port = world.plain.port();
    let texts = [
        format!("GET http://{HOST}:{port}/ HTTP/1.1\r\nHost: {OTHER}:{port}\r\n\r\n"),
        format!("GET http://{HOST}:{port}/ HTTP/1.1\r\nHost: {HOST}:1\r\n\r\n"),
        format!("GET http://{HOST}:{port}/ HTTP/1.1\r\nHost: {HOST}\r\n\r\n"),
    ];
    for text in texts {
        world
            .gate
            .dial()
            .await
            .request(&text)
            .await
            .assert_denied(403, "authority_mismatch");
    }
    let port = world.tls.port();
    let mut h1 = world.gate.tls_h1(port).await;
    let inside = format!("GET https://{OTHER}:{port}/ HTTP/1.1\r\nHost: {HOST}:{port}\r\n\r\n");
    h1.request(&inside).await.assert_denied(403, "authority_mismatch");
    world.plain.assert_no_request();
    world.tls.assert_no_request();
}

#[tokio::test]
async fn host_is_required_once() {
    let world = two_names().await;
    let port = world.tls.port();
    let hosts = [
        (String::new(), "malformed_request"),
        (format!("Host: {HOST}:{port}\r\nHost: {HOST}:{port}\r\n"), "malformed_request"),
        (format!("Host: {HOST}:{port}\r\nHost: {OTHER}:{port}\r\n"), "malformed_request"),
        (format!("Host: user@{HOST}:{port}\r\n"), "malformed_request"),
        (format!("Host: {HOST}:{port}, {OTHER}\r\n"), "malformed_request"),
        ("Host:\r\n".to_owned(), "malformed_request"),
    ];
    let mut rows = Rows::default();
    for (fields, reason) in hosts {
        let text = format!("GET / HTTP/1.1\r\n{fields}\r\n");
        rows.check(&fields, &world.gate.tls_h1(port).await.request(&text).await, reason);
    }
    rows.assert_all_refused();
    world.tls.assert_no_request();
}

#[tokio::test]
async fn a_server_name_that_is_not_the_connect_authority_is_refused() {
    let world = two_names().await;
    let authority = format!("{HOST}:{}", world.tls.port());
    let tunnel = world.gate.tunnel(&authority).await.unwrap();
    // Either the handshake already fails, or the first request is answered with the reason.
    if let Ok(stream) = world.gate.handshake(tunnel.into_stream(), OTHER, Alpn::H1).await {
        let mut h1 = H1::new(stream);
        let _ = h1.try_send(format!("GET / HTTP/1.1\r\nHost: {authority}\r\n\r\n")).await;
        if let Ok(answer) = h1.answer_or_end("GET").await {
            answer.assert_denied(403, "sni_mismatch");
        }
    }
    world
        .gate
        .audited(json!({ "decision": "deny", "reason_code": "sni_mismatch", "host": HOST }))
        .await;
    world.tls.assert_no_request();
}

#[tokio::test]
async fn a_client_without_server_name_gets_the_connect_authoritys_certificate() {
    let world = World::start(
        |ports| {
            let lines = ["protocol: rest", "enforcement: enforce", "access: full"];
            policy::document(&[Entry {
                name: "literal",
                host: "127.0.0.1",
                ports,
                lines: &lines,
            }])
        },
        |setup| setup,
    )
    .await;
    // An address as server name: no SNI is sent, and the leaf has to carry the address. The origin is certified for its name only.
    let stream = world
        .gate
        .tls_stream(&format!("127.0.0.1:{}", world.tls.port()), Alpn::H1)
        .await
        .unwrap();
    let answer = H1::new(stream)
        .request(format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", world.tls.port()))
        .await;
    answer.assert_denied(502, "upstream_tls_invalid");
}

#[tokio::test]
async fn the_default_port_may_be_left_out_of_host() {
    // Nothing can listen on 443 here; what matters is that the request is not refused for its authority.
    let world = World::start(
        |_| policy::open(&[443, 80]),
        |setup| setup.config(json!({ "upstream": { "connect_timeout": "500ms" } })),
    )
    .await;
    let stream = world.gate.tls_stream(&format!("{HOST}:443"), Alpn::H2).await;
    let Ok(stream) = stream else { return };
    let mut h2 = H2::new(stream).await;
    let request = http::Request::get(format!("https://{HOST}/")).body(()).unwrap();
    let (response, _) = h2.open(request, true).await;
    let answer = tollgate_tests::h2_client::collect(response).await.unwrap();
    assert_eq!(answer.reason(), Some("upstream_unreachable"), "{answer:?}");
}

#[tokio::test]
async fn connect_inside_a_tunnel_is_refused() {
    let world = two_names().await;
    let nested = format!("CONNECT {OTHER}:{0} HTTP/1.1\r\nHost: {OTHER}:{0}\r\n\r\n", world.plain.port());
    world
        .gate
        .tls_h1(world.tls.port())
        .await
        .request(&nested)
        .await
        .assert_refused(&[400, 403, 405], "nested_connect");
    let mut tunnel = world.gate.tunnel(&format!("{HOST}:{}", world.plain.port())).await.unwrap();
    tunnel.request(&nested).await.assert_refused(&[400, 403, 405], "nested_connect");
    let mut h2 = world.gate.tls_h2(world.tls.port()).await;
    let request = http::Request::connect(format!("{OTHER}:{}", world.plain.port())).body(()).unwrap();
    let (response, _body) = h2.open(request, false).await;
    let answer = tollgate_tests::within("answer", tollgate_tests::h2_client::collect(response))
        .await
        .unwrap();
    answer.assert_refused(&[400, 403, 405], "nested_connect");
    world.plain.assert_no_request();
    world.tls.assert_no_request();
}

#[tokio::test]
async fn the_proxy_is_not_a_way_to_itself() {
    let world = World::open().await;
    for target in [world.gate.proxy, world.gate.admin] {
        let policy = policy::document(&[
            Entry {
                name: "self",
                host: HOST,
                ports: &[target.port()],
                lines: &["protocol: rest", "enforcement: enforce", "access: full"],
            },
            Entry {
                name: "literal",
                host: "127.0.0.1",
                ports: &[target.port()],
                lines: &["protocol: rest", "enforcement: enforce", "access: full"],
            },
        ]);
        world.gate.reload(&policy).await;
        for host in [HOST, "127.0.0.1"] {
            for via in [Via::AbsoluteForm, Via::PlainTunnel] {
                let answer = world.gate.fetch(via, &Ask::get(target.port(), "/metrics").host(host)).await;
                answer.assert_denied(403, "self_target");
            }
        }
    }
}
