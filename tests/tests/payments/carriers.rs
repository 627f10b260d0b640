//! Payments in JSON-RPC bodies: judged as payments in headers are, and let out byte for byte as they were judged; anything that is not
//! exactly one payment in its one place stays in.

use std::io::Write as _;
use std::time::Duration;

use serde_json::json;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{PAYEE, Terms, Wallet, encode};
use tollgate_tests::policy::HOST;
use tollgate_tests::verdict_peer::{Mood, Says};
use tollgate_tests::world::World;

use super::calls::Protocol;
use super::shop;

pub(super) fn endpoint(world: &World, via: Via) -> String {
    let scheme = if via.is_tls() { "https" } else { "http" };
    format!("{scheme}://{HOST}:{}/rpc", world.port(via))
}

pub(super) fn post<'a>(world: &World, via: Via, body: &'a [u8]) -> Ask<'a> {
    let ask = Ask::get(world.port(via), "/rpc").method("POST");
    Ask { body, ..ask }.header("content-type", "application/json")
}

fn coded(coding: &str, text: &str) -> Vec<u8> {
    match coding {
        "gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        }
        "br" => {
            let mut out = Vec::new();
            brotli::CompressorWriter::new(&mut out, 4096, 5, 20)
                .write_all(text.as_bytes())
                .unwrap();
            out
        }
        "zstd" => zstd::encode_all(text.as_bytes(), 1).unwrap(),
        _ => text.as_bytes().to_vec(),
    }
}

#[tokio::test]
async fn go_forwards_a_paid_call_byte_for_byte() {
    let (world, peer) = shop(Mood::Always(Says::Go)).await;
    for protocol in Protocol::BOTH {
        for via in Via::ALL {
            for coding in ["identity", "gzip", "deflate", "br", "zstd"] {
                let url = endpoint(&world, via);
                let text = protocol.paid(&protocol.payment(&url, &Terms::default())).to_string();
                let body = coded(coding, &text);
                let before = peer.questions().len();
                let ask = post(&world, via, &body).header("content-encoding", coding);
                world.gate.fetch(via, &ask).await.assert_allowed();
                let seen = world.origin(via).last();
                assert!(seen.body == body, "{protocol:?} {via:?} {coding}: other bytes arrived");
                assert_eq!((seen.header("payment-signature"), seen.header("x-payment")), (None, None));
                let questions = peer.questions().split_off(before);
                assert_eq!(questions.len(), 1, "asked once per payment");
                let claim = &questions[0].claim;
                assert_eq!(claim["resource"], protocol.resource(&url), "{protocol:?}");
                assert_eq!(
                    (&claim["counterparty"], &claim["amount"]),
                    (&json!(PAYEE.to_ascii_lowercase()), &json!("0.01"))
                );
            }
        }
    }
    world
        .gate
        .audited(json!({ "decision": "allow", "path": "/rpc", "payment": { "amount": "10000", "version": "2" }, "verdict": { "verdict": "go" } }))
        .await;
    let allowed = world.gate.metric("tollgate_payments_total", &[("decision", "allow")]).await;
    assert!((allowed - 40.0).abs() < f64::EPSILON, "{allowed}");
}

#[tokio::test]
async fn a_call_that_comes_in_chunks_or_with_escapes_is_judged_whole() {
    let (world, peer) = shop(Mood::Always(Says::Go)).await;
    let url = endpoint(&world, Via::TlsH1);
    for text in [
        Protocol::Mcp.paid(&Protocol::Mcp.payment(&url, &Terms::default())).to_string(),
        Protocol::Mcp
            .paid(&Protocol::Mcp.payment(&url, &Terms::default()))
            .to_string()
            .replace("x402/payment", "\\u0078402\\/payment"),
        Protocol::A2a
            .paid(&Protocol::A2a.payment(&url, &Terms::default()))
            .to_string()
            .replace("x402.payment.payload", "x402\\u002epayment.payload"),
    ] {
        let mut h1 = world.gate.tls_h1(world.tls.port()).await;
        let head = format!(
            "POST /rpc HTTP/1.1\r\nHost: {HOST}:{}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
            world.tls.port()
        );
        h1.send(head).await;
        let mut sent = 0;
        for piece in text.as_bytes().chunks(97) {
            assert_eq!(
                world.tls.requests().len(),
                peer.questions().len(),
                "nothing leaves before all of it is here"
            );
            h1.send([format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat())
                .await;
            sent += piece.len();
        }
        h1.send("0\r\n\r\n").await;
        h1.answer("POST").await.assert_allowed();
        assert_eq!(world.tls.last().body.len(), sent);
        assert!(world.tls.last().body == text.as_bytes());
    }
    assert_eq!(peer.questions().len(), 3);
    // Declared with another type by case, or with a charset that says the same.
    let text = Protocol::Mcp.paid(&Protocol::Mcp.payment(&url, &Terms::default())).to_string();
    let ask = Ask::get(world.tls.port(), "/rpc")
        .method("POST")
        .header("content-type", "Application/Json; charset=utf-8");
    let ask = Ask {
        body: text.as_bytes(),
        ..ask
    };
    world.gate.fetch(Via::TlsH2, &ask).await.assert_allowed();
}

#[tokio::test]
async fn v1_pays_in_a_call_as_well() {
    let (world, _peer) = shop(Mood::Always(Says::Go)).await;
    for protocol in Protocol::BOTH {
        let text = protocol.paid(&Wallet::default().v1(&Terms::default())).to_string();
        world
            .gate
            .fetch(Via::TlsH1, &post(&world, Via::TlsH1, text.as_bytes()))
            .await
            .assert_allowed();
    }
    world
        .gate
        .audited(json!({ "decision": "allow", "payment": { "version": "1" } }))
        .await;
}

#[tokio::test]
async fn without_go_a_paid_call_never_reaches_the_origin() {
    for (mood, reason) in [
        (Mood::Always(Says::Hold), "verdict_hold"),
        (Mood::Always(Says::Stop), "verdict_stop"),
        (Mood::Always(Says::Unavailable), "verdict_unavailable"),
        (Mood::Always(Says::WantsMoney), "verdict_unavailable"),
        (Mood::HangsUp, "verdict_unavailable"),
        (Mood::Dead, "verdict_unavailable"),
        (Mood::Slow(Duration::from_secs(3)), "verdict_unavailable"),
    ] {
        let (world, _peer) = shop(mood).await;
        for protocol in Protocol::BOTH {
            for via in Via::ALL {
                let payment = protocol.payment(&endpoint(&world, via), &Terms::default());
                let body = coded("gzip", &protocol.paid(&payment).to_string());
                let ask = post(&world, via, &body).header("content-encoding", "gzip");
                let answer = world.gate.fetch(via, &ask).await;
                assert_eq!(
                    (answer.status, answer.reason()),
                    (403, Some(reason)),
                    "{protocol:?} {via:?}: {answer:?}"
                );
                let signature = payment["payload"]["signature"].as_str().unwrap();
                assert!(!answer.text().contains(&signature[2..]), "a denial shows the signature");
            }
        }
        world.assert_untouched();
        let denied = world.gate.metric("tollgate_payments_total", &[("decision", "deny")]).await;
        assert!((denied - 8.0).abs() < f64::EPSILON, "{denied}");
    }
}

#[tokio::test]
async fn a_payment_in_the_head_and_another_in_the_body_stay_in() {
    let (world, peer) = shop(Mood::Always(Says::Go)).await;
    let url = endpoint(&world, Via::TlsH2);
    let in_head = |terms: &Terms| encode(&Wallet::default().v2(&url, terms));
    let bodies = [
        Protocol::Mcp.paid(&Protocol::Mcp.payment(&url, &Terms::default())).to_string(),
        Protocol::A2a.paid(&Protocol::A2a.payment(&url, &Terms::default())).to_string(),
        Wallet::default().v2(&url, &Terms::default()).to_string(),
        json!([Protocol::Mcp.paid(&Protocol::Mcp.payment(&url, &Terms::default()))]).to_string(),
    ];
    for body in &bodies {
        for via in [Via::TlsH1, Via::TlsH2] {
            let ask = post(&world, via, body.as_bytes()).header("PAYMENT-SIGNATURE", in_head(&Terms::default()));
            world.gate.fetch(via, &ask).await.assert_denied(403, "payment_conflicting");
        }
    }
    assert!(peer.questions().is_empty());
    world.assert_untouched();
    // The authorisation of the refused request was not used up.
    let terms = Terms::default();
    let wallet = Wallet::default();
    let header = encode(&wallet.v2(&url, &terms));
    let twice = post(&world, Via::TlsH2, bodies[0].as_bytes()).header("PAYMENT-SIGNATURE", header.clone());
    world.gate.fetch(Via::TlsH2, &twice).await.assert_denied(403, "payment_conflicting");
    let alone = post(&world, Via::TlsH2, b"{\"free\":1}").header("PAYMENT-SIGNATURE", header);
    world.gate.fetch(Via::TlsH2, &alone).await.assert_allowed();
}

#[tokio::test]
async fn an_authorisation_pays_once_whatever_carries_it() {
    let (world, peer) = shop(Mood::Always(Says::Go)).await;
    let (wallet, terms) = (Wallet::default(), Terms::default());
    let paid = Protocol::Mcp.paid(&wallet.v2("mcp://tool/weather", &terms)).to_string();
    let ask = post(&world, Via::TlsH1, paid.as_bytes());
    world.gate.fetch(Via::TlsH1, &ask).await.assert_allowed();
    world.gate.fetch(Via::TlsH1, &ask).await.assert_denied(403, "payment_replayed");
    let url = endpoint(&world, Via::TlsH1);
    let in_head = post(&world, Via::TlsH1, b"{}").header("PAYMENT-SIGNATURE", encode(&wallet.v2(&url, &terms)));
    world.gate.fetch(Via::TlsH1, &in_head).await.assert_denied(403, "payment_replayed");
    let as_v1 = Protocol::A2a.paid(&wallet.v1(&terms)).to_string();
    let ask = post(&world, Via::TlsH2, as_v1.as_bytes());
    world.gate.fetch(Via::TlsH2, &ask).await.assert_denied(403, "payment_replayed");
    assert_eq!((peer.questions().len(), world.tls.requests().len()), (1, 1));
}

#[tokio::test]
async fn a_paid_call_has_a_connection_of_its_own() {
    let (world, _peer) = shop(Mood::Always(Says::Go)).await;
    let mut h1 = world.gate.dial().await;
    let free = post(
        &world,
        Via::AbsoluteForm,
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
    );
    let paid = Protocol::Mcp.paid(&Protocol::Mcp.payment("", &Terms::default())).to_string();
    let paid = post(&world, Via::AbsoluteForm, paid.as_bytes());
    for ask in [&free, &free, &paid] {
        h1.request(ask.h1(Via::AbsoluteForm)).await.assert_allowed();
    }
    let connections: Vec<usize> = world.plain.requests().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 0, 1], "a dead idle connection could eat a payment");
}

#[tokio::test]
async fn what_cannot_be_read_where_a_payment_could_be_is_refused() {
    let (world, peer) = shop(Mood::Always(Says::Go)).await;
    let huge = format!("{{\"pad\":\"{}\"", "p".repeat(17 << 20));
    let answer = world.gate.fetch(Via::TlsH1, &post(&world, Via::TlsH1, huge.as_bytes())).await;
    assert_eq!(answer.reason(), Some("body_too_large"), "{answer:?}");
    let bomb = coded("gzip", &huge);
    let ask = post(&world, Via::TlsH2, &bomb).header("content-encoding", "gzip");
    assert_eq!(world.gate.fetch(Via::TlsH2, &ask).await.reason(), Some("body_too_large"));
    // What says that it is MCP or A2A has to be one document to everybody.
    let broken = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",}}"#;
    for name in ["Mcp-Session-Id", "MCP-Protocol-Version", "X-A2A-Extensions", "A2A-Version"] {
        let ask = post(&world, Via::TlsH1, broken).header(name, "1");
        assert_eq!(
            world.gate.fetch(Via::TlsH1, &ask).await.reason(),
            Some("uninspectable_traffic"),
            "{name}"
        );
        let whole = post(&world, Via::TlsH1, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}").header(name, "1");
        world.gate.fetch(Via::TlsH1, &whole).await.assert_allowed();
    }
    assert!(peer.questions().is_empty());
    assert_eq!(world.tls.requests().len(), 4);
}
