//! Rails stay shut: by name, by address, by what a request does, by how it pays. No rule can open one, and nothing is dialled.

use serde_json::json;
use tollgate_tests::answer::{Answer, Rows};
use tollgate_tests::authority::Alpn;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::{Origin, standard};
use tollgate_tests::payment::{Terms, Wallet};
use tollgate_tests::policy::{self, Entry, HOST};
use tollgate_tests::tollgate::Setup;
use tollgate_tests::world::World;

const FULL: [&str; 3] = ["protocol: rest", "enforcement: enforce", "access: full"];
const AUDIT: [&str; 3] = ["protocol: rest", "enforcement: audit", "access: full"];

fn assert_rail(answer: &Answer, reason: &str, name: &str) {
    assert_eq!((answer.status, answer.reason()), (403, Some(reason)), "{name}: {}", answer.text());
    let body = answer.assert_denied(403, reason);
    assert_eq!(body["error"], "policy_denied", "{name}");
    assert!(
        body["next_steps"].as_array().is_none_or(Vec::is_empty),
        "{name}: advice around a rail: {body}"
    );
}

#[tokio::test]
async fn the_operators_rails_are_shut_by_name_port_and_address_whatever_the_policy_says() {
    let authority = tollgate_tests::authority::Authority::default();
    let rail = Origin::plain().await;
    let elsewhere = Origin::start_at("127.0.0.3:0", None, standard).await;
    let tls = Origin::tls(&authority, tollgate_tests::authority::Alpn::H2).await;
    let neighbour = Origin::plain().await;
    let ports = [rail.port(), elsewhere.port(), tls.port(), neighbour.port()];
    let names = ["rail.example.test", "bank.example.test", "cidr.example.test"];
    for lines in [FULL, AUDIT] {
        let entries: Vec<Entry<'_>> = names
            .iter()
            .map(|host| Entry {
                name: &host[..4],
                host,
                ports: &ports,
                lines: &lines,
            })
            .collect();
        let mut setup = Setup::new(policy::document(&entries));
        setup = setup
            .host("rail.example.test", "127.0.0.1")
            .host("bank.example.test", "127.0.0.1")
            .host("cidr.example.test", "127.0.0.3");
        let bank = format!("bank.example.test:{}", rail.port());
        let gate = setup
            .config(json!({ "rails": { "hosts": ["rail.example.test", bank], "addresses": ["127.0.0.3/32"] } }))
            .start();
        for via in Via::ALL {
            for (host, port) in [
                ("rail.example.test", rail.port()),
                ("RAIL.example.test", tls.port()),
                ("bank.example.test", rail.port()),
                ("cidr.example.test", elsewhere.port()),
            ] {
                let answer = gate.fetch(via, &Ask::get(port, "/").host(host)).await;
                assert_rail(&answer, "rail_destination", &format!("{host} {via:?}"));
            }
        }
        rail.assert_untouched();
        elsewhere.assert_untouched();
        tls.assert_untouched();
        // The same host on another port is no rail.
        let answer = gate
            .fetch(Via::AbsoluteForm, &Ask::get(neighbour.port(), "/").host("bank.example.test"))
            .await;
        answer.assert_allowed();
        assert!(
            gate.metric("tollgate_rail_denied_total", &[("reason_code", "rail_destination")])
                .await
                >= 16.0
        );
    }
}

#[tokio::test]
async fn known_facilitators_are_shut_even_when_the_policy_lists_them() {
    let hosts = [
        "x402.org",
        "www.x402.org",
        "facilitator.x402.org",
        "facilitator.payai.network",
        "x402.dexter.cash",
        "facilitator.x402.rs",
    ];
    let origin = Origin::plain().await;
    let ports = [origin.port(), 443];
    let entries: Vec<Entry<'_>> = hosts
        .iter()
        .map(|host| Entry {
            name: host,
            host,
            ports: &ports,
            lines: &FULL,
        })
        .collect();
    let mut setup = Setup::new(policy::document(&entries).replace("  x402.org:\n", "  x402org:\n"));
    for host in hosts {
        setup = setup.host(host, "127.0.0.1");
    }
    let gate = setup.start();
    for host in hosts {
        for via in [Via::AbsoluteForm, Via::PlainTunnel] {
            let answer = gate.fetch(via, &Ask::get(origin.port(), "/").host(host)).await;
            assert_rail(&answer, "rail_destination", host);
        }
        let answer = gate.fetch(Via::PlainTunnel, &Ask::get(443, "/").host(host)).await;
        assert_rail(&answer, "rail_destination", host);
    }
    for (spelling, status, reason) in [("X402.ORG", 403, "rail_destination"), ("x402.org.", 400, "malformed_request")] {
        let answer = gate.fetch(Via::PlainTunnel, &Ask::get(origin.port(), "/").host(spelling)).await;
        answer.assert_denied(status, reason);
    }
    origin.assert_untouched();
    assert!(
        gate.stderr().contains("x402.org"),
        "a policy that lists a rail loads without a word:\n{}",
        gate.stderr()
    );
}

/// Method names that sign or move money.
const BROADCASTS: &[&str] = &[
    "eth_sendRawTransaction",
    "eth_sendRawTransactionSync",
    "eth_sendRawTransactionConditional",
    "eth_sendPrivateTransaction",
    "eth_sendPrivateRawTransaction",
    "eth_sendTransaction",
    "eth_sendBundle",
    "mev_sendBundle",
    "eth_sendUserOperation",
    "wallet_sendCalls",
    "wallet_sendTransaction",
    "eth_sign",
    "eth_signTransaction",
    "eth_signTypedData_v4",
    "personal_sign",
    "sendTransaction",
    "sendBundle",
    "sendrawtransaction",
];

fn call(method: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":[\"0x02\"]}}")
}

#[tokio::test]
async fn calls_that_sign_or_broadcast_are_shut_on_any_allowed_host() {
    let world = World::open().await;
    for method in BROADCASTS {
        let body = call(method);
        for via in [Via::AbsoluteForm, Via::TlsH1, Via::TlsH2] {
            let answer = world.gate.fetch(via, &Ask::get(world.port(via), "/").json(&body)).await;
            assert_rail(&answer, "rail_broadcast", method);
        }
    }
    world.plain.assert_untouched();
    world.tls.assert_untouched();
    assert!(
        world
            .gate
            .metric("tollgate_rail_denied_total", &[("reason_code", "rail_broadcast")])
            .await
            >= 54.0
    );
}

#[tokio::test]
async fn a_broadcast_in_disguise_is_still_a_broadcast() {
    let world = World::open().await;
    let raw = call("eth_sendRawTransaction");
    let disguises = [
        ("in a batch", format!("[{},{}]", call("eth_chainId"), raw)),
        (
            "deep in a batch",
            format!("[{}{}]", format!("{},", call("eth_chainId")).repeat(300), raw),
        ),
        ("escaped", raw.replace("sendRaw", "send\\u0052aw")),
        ("escaped key", raw.replace("\"method\"", "\"\\u006dethod\"")),
        (
            "a duplicate key, last",
            raw.replacen("\"id\":1", "\"method\":\"eth_chainId\",\"id\":1", 1),
        ),
        (
            "a duplicate key, first",
            raw.replacen("\"params\"", "\"method\":\"eth_chainId\",\"params\"", 1),
        ),
        ("after blanks", format!("{}{raw}", " \r\n\t".repeat(500))),
        ("behind a byte order mark", format!("\u{feff}{raw}")),
        (
            "after a large member",
            raw.replacen("\"id\":1", &format!("\"pad\":\"{}\",\"id\":1", "p".repeat(200_000)), 1),
        ),
        (
            "with the method at the end",
            format!(
                "{{\"jsonrpc\":\"2.0\",\"params\":[\"{}\"],\"id\":1,\"method\":\"eth_sendRawTransaction\"}}",
                "f".repeat(100_000)
            ),
        ),
    ];
    let mut rows = Rows::default();
    for (name, body) in &disguises {
        for via in [Via::AbsoluteForm, Via::TlsH1, Via::TlsH2] {
            let answer = world.gate.fetch(via, &Ask::get(world.port(via), "/rpc").json(body)).await;
            rows.check((name, via), &answer, "rail_broadcast");
        }
    }
    rows.assert_all_refused();
    world.plain.assert_no_request();
    world.tls.assert_no_request();
}

#[tokio::test]
async fn a_broadcast_under_another_content_type_is_still_a_broadcast() {
    let world = World::open().await;
    let raw = call("eth_sendRawTransaction");
    for content_type in [
        Some("application/json; charset=utf-8"),
        Some("APPLICATION/JSON"),
        Some("application/json-rpc"),
        Some("application/vnd.api+json"),
        Some("text/plain;charset=UTF-8"),
        Some("application/x-www-form-urlencoded"),
        Some("application/octet-stream"),
        Some("application/grpc"),
        Some("x"),
        None,
    ] {
        let mut ask = Ask::get(world.tls.port(), "/rpc").method("POST");
        ask.body = raw.as_bytes();
        if let Some(content_type) = content_type {
            ask = ask.header("content-type", content_type);
        }
        let answer = world.gate.fetch(Via::TlsH1, &ask).await;
        assert_eq!(answer.reason(), Some("rail_broadcast"), "{content_type:?}: {answer:?}");
    }
    // Over HTTP/2 gRPC may stream in both directions; saying so must not keep JSON from being read.
    for content_type in ["application/grpc", "application/grpc-web+json", "application/json"] {
        let mut ask = Ask::get(world.tls.port(), "/rpc")
            .method("POST")
            .header("content-type", content_type);
        ask.body = raw.as_bytes();
        let answer = world.gate.fetch(Via::TlsH2, &ask).await;
        assert_eq!(answer.reason(), Some("rail_broadcast"), "{content_type:?} over HTTP/2: {answer:?}");
    }
    for method in ["PUT", "PATCH"] {
        let answer = world
            .gate
            .fetch(Via::TlsH1, &Ask::get(world.tls.port(), "/rpc").json(&raw).method(method))
            .await;
        assert_eq!(answer.reason(), Some("rail_broadcast"), "{method}");
    }
    world.tls.assert_no_request();
}

#[tokio::test]
async fn a_broadcast_in_a_compressed_body_does_not_pass() {
    use base64::Engine as _;
    let gzip =
        "H4sIAAAAAAACA6tWyirOzysqSFayUjLSM1DSUcpMUbIy1FHKTS3JyAcylYB0fHFqXkpQYnlIUWJecWJySWZ+HlBhQWJRYm6xklW0kkGFgZFSbC0AXoPD70wAAAA=";
    let gzip = base64::engine::general_purpose::STANDARD.decode(gzip).unwrap();
    let world = World::open().await;
    let mut rows = Rows::default();
    for (coding, reason) in [
        ("gzip", "rail_broadcast"),
        ("GZIP", "rail_broadcast"),
        ("x-gzip", "rail_broadcast"),
        // Not what they claim to be, twice packed, or unheard of.
        ("deflate", "uninspectable_traffic"),
        ("br", "uninspectable_traffic"),
        ("zstd", "uninspectable_traffic"),
        ("gzip, gzip", "uninspectable_traffic"),
        ("unheard-of", "uninspectable_traffic"),
    ] {
        let mut ask = Ask::get(world.tls.port(), "/rpc")
            .method("POST")
            .header("content-type", "application/json")
            .header("content-encoding", coding);
        ask.body = &gzip;
        let answer = world.gate.fetch(Via::TlsH1, &ask).await;
        rows.check(coding, &answer, reason);
    }
    rows.assert_all_refused();
    world.tls.assert_no_request();
}

#[tokio::test]
async fn a_broadcast_in_another_text_encoding_does_not_pass() {
    // Python's json.loads takes all of these.
    let world = World::open().await;
    let raw = call("eth_sendRawTransaction");
    let utf16: Vec<u16> = raw.encode_utf16().collect();
    let bodies: [(&str, Vec<u8>); 6] = [
        ("UTF-16LE", utf16.iter().flat_map(|unit| unit.to_le_bytes()).collect()),
        ("UTF-16BE", utf16.iter().flat_map(|unit| unit.to_be_bytes()).collect()),
        (
            "UTF-16LE with mark",
            [0xfeff].iter().chain(&utf16).flat_map(|unit| unit.to_le_bytes()).collect(),
        ),
        ("UTF-32LE", raw.chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect()),
        ("UTF-32BE", raw.chars().flat_map(|letter| u32::from(letter).to_be_bytes()).collect()),
        (
            "UTF-16LE after a blank",
            [0x20].iter().chain(&utf16).flat_map(|unit| unit.to_le_bytes()).collect(),
        ),
    ];
    let mut rows = Rows::default();
    for (name, body) in &bodies {
        for via in [Via::AbsoluteForm, Via::TlsH1, Via::TlsH2] {
            let mut ask = Ask::get(world.port(via), "/rpc")
                .method("POST")
                .header("content-type", "application/json");
            ask.body = body;
            let answer = world.gate.fetch(via, &ask).await;
            // What is found out to be UTF-16 is read; what only a lenient reader would find out is refused unread.
            let read = name.starts_with("UTF-16") && !name.ends_with("blank");
            let reason = if read { "rail_broadcast" } else { "uninspectable_traffic" };
            rows.check((name, via), &answer, reason);
        }
    }
    rows.assert_all_refused();
    world.assert_untouched();
}

#[tokio::test]
async fn a_broadcast_behind_megabytes_of_blanks_does_not_pass() {
    let world = World::open().await;
    for size in [100_000, 3 << 20, 6 << 20] {
        let body = format!("{}{}", " ".repeat(size), call("eth_sendRawTransaction"));
        let ask = Ask::get(world.tls.port(), "/rpc").json(&body);
        let mut h1 = world.gate.tls_h1(world.tls.port()).await;
        let _ = tokio::time::timeout(std::time::Duration::from_secs(10), h1.try_send(ask.h1(Via::TlsH1))).await;
        let answer = h1.answer("POST").await;
        answer.assert_denied(403, "rail_broadcast");
    }
    world.tls.assert_no_request();
}

#[tokio::test]
async fn a_broadcast_that_claims_a_coding_it_has_not_does_not_pass() {
    let world = World::open().await;
    let raw = call("eth_sendRawTransaction");
    let mut rows = Rows::default();
    for (coding, reason) in [
        ("identity", "rail_broadcast"),
        ("gzip", "uninspectable_traffic"),
        ("deflate", "uninspectable_traffic"),
        ("br", "uninspectable_traffic"),
        ("zstd", "uninspectable_traffic"),
        ("identity, identity", "uninspectable_traffic"),
        ("aws-chunked", "uninspectable_traffic"),
    ] {
        let ask = Ask::get(world.tls.port(), "/rpc").json(&raw).header("content-encoding", coding);
        let answer = world.gate.fetch(Via::TlsH1, &ask).await;
        rows.check(coding, &answer, reason);
    }
    rows.assert_all_refused();
    world.tls.assert_no_request();
}

#[tokio::test]
async fn a_broadcast_in_a_websocket_handshake_or_a_get_body_does_not_pass() {
    let world = World::open().await;
    let raw = call("eth_sendRawTransaction");
    for method in ["GET", "DELETE", "OPTIONS", "QUERY"] {
        let answer = world
            .gate
            .fetch(Via::TlsH1, &Ask::get(world.tls.port(), "/rpc").json(&raw).method(method))
            .await;
        assert_eq!(answer.reason(), Some("rail_broadcast"), "{method}: {answer:?}");
    }
    world.tls.assert_no_request();
}

#[tokio::test]
async fn a_broadcast_after_empty_http2_frames_does_not_pass() {
    let world = World::open().await;
    for content_type in ["application/json", "application/grpc", "text/plain"] {
        let mut h2 = world.gate.tls_h2(world.tls.port()).await;
        let ask = Ask::get(world.tls.port(), "/rpc")
            .method("POST")
            .header("content-type", content_type);
        let (response, mut body) = h2.open(tollgate_tests::h2_client::H2::head(&ask), false).await;
        for piece in [
            "",
            "",
            "{\"jsonrpc\":\"2.0\",\"id\":1,",
            "",
            "\"method\":\"eth_send",
            "RawTransaction\",\"params\":[]}",
        ] {
            let _ = body.send_data(bytes::Bytes::from(piece), false);
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let _ = body.send_data(bytes::Bytes::new(), true);
        let answer = tollgate_tests::within("answer", tollgate_tests::h2_client::collect(response))
            .await
            .unwrap();
        // A gRPC stream whose first message is late is opened without it; then what comes is no message at all.
        let late = content_type == "application/grpc" && answer.reason() == Some("malformed_request");
        assert!(late || answer.reason() == Some("rail_broadcast"), "{content_type}: {answer:?}");
    }
    world.tls.assert_no_request();
}

#[tokio::test]
async fn a_broadcast_in_small_chunks_does_not_pass() {
    let world = World::open().await;
    let mut h1 = world.gate.tls_h1(world.tls.port()).await;
    h1.send(format!(
        "POST /rpc HTTP/1.1\r\nHost: {HOST}:{}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        world.tls.port()
    ))
    .await;
    for byte in call("eth_sendRawTransaction").bytes() {
        h1.send([b"1\r\n".as_slice(), &[byte], b"\r\n"].concat()).await;
    }
    h1.send("0\r\n\r\n").await;
    assert_rail(&h1.answer("POST").await, "rail_broadcast", "chunks");
    world.tls.assert_no_request();
}

#[tokio::test]
async fn a_json_body_that_is_too_large_to_be_read_does_not_pass_unread() {
    let world = World::open().await;
    let body = format!("{{\"pad\":\"{}\",\"method\":\"eth_sendRawTransaction\"}}", "p".repeat(40 << 20));
    for via in [Via::TlsH1, Via::TlsH2] {
        let ask = Ask::get(world.tls.port(), "/rpc").json(&body);
        let answer = match via {
            Via::TlsH1 => {
                let mut h1 = world.gate.tls_h1(world.tls.port()).await;
                let _ = tokio::time::timeout(std::time::Duration::from_secs(10), h1.try_send(ask.h1(via))).await;
                h1.answer("POST").await
            }
            _ => world.gate.fetch(via, &ask).await,
        };
        answer.assert_denied(413, "body_too_large");
    }
    world.tls.assert_no_request();
    assert!(world.gate.resident() < 200 << 20);
}

#[tokio::test]
async fn a_call_to_a_facilitator_is_shut_on_any_allowed_host() {
    let world = World::open().await;
    let payment = Wallet::default().v2("https://shop.example.test/paid", &Terms::default());
    let body = json!({ "x402Version": 2, "paymentPayload": payment, "paymentRequirements": payment["accepted"] }).to_string();
    for target in [
        "/settle",
        "/verify",
        "/platform/v2/x402/settle",
        "/facilitator/verify",
        "/SETTLE",
        "/settle/",
        "//settle",
        "/anything",
    ] {
        for via in [Via::AbsoluteForm, Via::TlsH1, Via::TlsH2] {
            let answer = world.gate.fetch(via, &Ask::get(world.port(via), target).json(&body)).await;
            assert_rail(&answer, "rail_facilitator_call", target);
        }
    }
    world.assert_untouched();
}

#[tokio::test]
async fn other_ways_to_pay_are_shut() {
    let world = World::open().await;
    let schemes = [
        ("Authorization", "Payment eyJjaGFsbGVuZ2UiOnt9LCJwYXlsb2FkIjp7fX0"),
        ("authorization", "pAyMeNt eyJjaGFsbGVuZ2UiOnt9LCJwYXlsb2FkIjp7fX0"),
        ("Authorization", "Payment\teyJjaGFsbGVuZ2UiOnt9LCJwYXlsb2FkIjp7fX0"),
        ("Authorization", "L402 AGIAJEem:1234"),
        ("Authorization", "LSAT AGIAJEem:1234"),
        ("Authorization", "lsat AGIAJEem:1234"),
        ("Authorization", "X402 abc"),
        ("X-Cashu", "cashuBo2F0gaJhaUgA"),
        ("crawler-max-price", "USD 0.05"),
        ("crawler-exact-price", "USD 0.05"),
        ("x-bsv-payment", "{}"),
    ];
    let mut rows = Rows::default();
    for (name, value) in schemes {
        for via in [Via::AbsoluteForm, Via::TlsH1, Via::TlsH2] {
            if via == Via::TlsH2 && value.contains('\t') {
                continue;
            }
            let answer = world.gate.fetch(via, &Ask::get(world.port(via), "/").header(name, value)).await;
            rows.check((name, value, via), &answer, "rail_payment_scheme");
        }
    }
    rows.assert_all_refused();
    world.assert_untouched();
}

#[tokio::test]
async fn two_authorizations_of_which_one_pays_are_shut() {
    let world = World::open().await;
    let ask = Ask::get(world.tls.port(), "/")
        .header("Authorization", "Bearer x")
        .header("Authorization", "Payment e30");
    let answer = world.gate.fetch(Via::TlsH1, &ask).await;
    answer.assert_denied(403, "rail_payment_scheme");
    world.tls.assert_no_request();
}

#[tokio::test]
async fn harmless_neighbours_of_all_this_pass_untouched() {
    let world = World::open().await;
    let bodies = [
        call("eth_chainId"),
        call("eth_call"),
        call("eth_getBalance"),
        format!("[{},{}]", call("eth_chainId"), call("eth_blockNumber")),
        "{\"text\":\"how does eth_sendRawTransaction work?\"}".to_owned(),
        "{\"messages\":[{\"role\":\"user\",\"content\":\"please settle and verify x402Version 2\"}]}".to_owned(),
        "{ \"spaced\" :  [ 1 , 2.50 ] }".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
    ];
    for body in &bodies {
        for via in Via::ALL {
            let answer = world.gate.fetch(via, &Ask::get(world.port(via), "/v1/chat").json(body)).await;
            answer.assert_allowed();
            assert_eq!(world.origin(via).last().body, *body, "{via:?}");
        }
    }
    for value in [
        "Bearer abc",
        "Basic dXNlcjpwYXNz",
        "Digest username=\"payment\"",
        "AWS4-HMAC-SHA256 Credential=x",
    ] {
        world
            .gate
            .fetch(Via::TlsH1, &Ask::get(world.tls.port(), "/").header("Authorization", value))
            .await
            .assert_allowed();
    }
    for target in ["/settle", "/verify", "/v1/payments/list"] {
        world.get(Via::TlsH1, target).await.assert_allowed();
    }
}

#[tokio::test]
async fn a_broadcast_in_cleartext_through_an_endpoint_that_skips_tls_is_shut() {
    let skip = |ports: &[u16]| {
        policy::document(&[Entry {
            name: "api",
            host: HOST,
            ports,
            lines: &["tls: skip"],
        }])
    };
    let world = World::start(skip, |setup| setup).await;
    let body = call("eth_sendRawTransaction");
    let ask = Ask::get(world.plain.port(), "/rpc").json(&body);
    for via in [Via::AbsoluteForm, Via::PlainTunnel] {
        assert_rail(&world.gate.fetch(via, &ask).await, "rail_broadcast", "cleartext");
    }
    world.plain.assert_no_request();
    // What is no rail's business passes, read or unread.
    world.get(Via::PlainTunnel, "/free").await.assert_allowed();
    let authority = format!("{HOST}:{}", world.tls.port());
    let unread = world.gate.tunnel(&authority).await.unwrap().into_stream();
    assert!(
        world.gate.handshake(unread, HOST, Alpn::H1).await.is_err(),
        "the origin's own certificate, which the gate's CA has not signed, was expected"
    );
}
