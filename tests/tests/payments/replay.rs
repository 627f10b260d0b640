//! Nothing is paid twice.

use tollgate_tests::authority::Alpn;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::{Origin, standard};
use tollgate_tests::payment::{self, Terms, Wallet, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::Setup;
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};

use super::{paying, shop, url};

#[tokio::test]
async fn the_same_payment_again_is_refused() {
    let (world, peer) = shop(Mood::Always(Says::Go)).await;
    let ask = paying(&world, Via::TlsH1);
    world.gate.fetch(Via::TlsH1, &ask).await.assert_allowed();
    for via in [Via::TlsH1, Via::TlsH2] {
        world.gate.fetch(via, &ask).await.assert_denied(403, "payment_replayed");
    }
    assert_eq!((world.tls.requests().len(), peer.questions().len()), (1, 1));
}

#[tokio::test]
async fn the_same_authorisation_for_another_resource_is_refused() {
    let (world, _peer) = shop(Mood::Always(Says::Go)).await;
    let (wallet, terms) = (Wallet::default(), Terms::default());
    let first = Ask::get(world.tls.port(), "/paid").header("X-PAYMENT", encode(&wallet.v1(&terms)));
    world.gate.fetch(Via::TlsH1, &first).await.assert_allowed();
    let elsewhere = [
        Ask::get(world.tls.port(), "/other").header("X-PAYMENT", encode(&wallet.v1(&terms))),
        Ask::get(world.tls.port(), "/paid")
            .method("POST")
            .header("X-PAYMENT", encode(&wallet.v1(&terms))),
        Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&wallet.v2(&url(&world, Via::TlsH1), &terms))),
    ];
    for ask in elsewhere {
        world.gate.fetch(Via::TlsH1, &ask).await.assert_denied(403, "payment_replayed");
    }
    assert_eq!(world.tls.requests().len(), 1);
}

#[tokio::test]
async fn of_twenty_equal_payments_at_once_one_passes() {
    let (world, _peer) = shop(Mood::Always(Says::Go)).await;
    let ask = paying(&world, Via::TlsH2);
    let mut h2 = world.gate.tls_h2(world.tls.port()).await;
    let mut answers = Vec::new();
    for _ in 0..20 {
        let (response, _) = h2.open(tollgate_tests::h2_client::H2::head(&ask), true).await;
        answers.push(tokio::spawn(tollgate_tests::h2_client::collect(response)));
    }
    let mut passed = 0;
    for answer in answers {
        let answer = tollgate_tests::within("answer", answer).await.unwrap().unwrap();
        match answer.reason() {
            None => passed += 1,
            Some(reason) => assert_eq!(reason, "payment_replayed"),
        }
    }
    assert_eq!((passed, world.tls.requests().len()), (1, 1));
}

#[tokio::test]
async fn a_payment_that_never_reached_its_origin_may_be_sent_once_more_without_a_new_verdict() {
    let peer = VerdictPeer::says(Says::Go).await;
    let authority = tollgate_tests::authority::Authority::default();
    let port = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let gate = Setup::new(policy::open(&[port]))
        .local_host()
        .trust(&authority)
        .config(payment::settings())
        .config(peer.settings())
        .start();
    let payment = Wallet::default().v2(&format!("https://{HOST}:{port}/paid"), &Terms::default());
    let ask = Ask::get(port, "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
    gate.fetch(Via::TlsH1, &ask).await.assert_denied(502, "upstream_unreachable");
    let origin = Origin::start_at(&format!("127.0.0.1:{port}"), Some(authority.server(HOST, Alpn::H1)), standard).await;
    gate.fetch(Via::TlsH1, &ask).await.assert_allowed();
    assert_eq!((origin.requests().len(), peer.questions().len()), (1, 1));
    gate.fetch(Via::TlsH1, &ask).await.assert_denied(403, "payment_replayed");
    assert_eq!(origin.requests().len(), 1);
}

#[tokio::test]
async fn a_payment_is_not_sent_again_when_the_origin_breaks_off() {
    let peer = VerdictPeer::says(Says::Go).await;
    let authority = tollgate_tests::authority::Authority::default();
    // A GET that would be repeated on a closed connection, but not with a payment in it.
    let script = |mut origin: tollgate_tests::scripted::Conversation| async move {
        while let Some((head, _)) = origin.request().await {
            if head.header("payment-signature").is_some() {
                return;
            }
            origin.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
        }
    };
    let origin = tollgate_tests::scripted::Scripted::start(Some(authority.server(HOST, Alpn::H1)), script).await;
    let port = origin.port();
    let gate = Setup::new(policy::open(&[port]))
        .local_host()
        .trust(&authority)
        .config(payment::settings())
        .config(peer.settings())
        .start();
    let payment = Wallet::default().v2(&format!("https://{HOST}:{port}/paid"), &Terms::default());
    let ask = Ask::get(port, "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
    let mut h1 = gate.tls_h1(port).await;
    h1.request(Ask::get(port, "/free").h1(Via::TlsH1)).await.assert_allowed();
    let answer = h1.request(ask.h1(Via::TlsH1)).await;
    answer.assert_denied(502, "upstream_unreachable");
    assert_eq!(origin.heads(), ["GET /free HTTP/1.1", "GET /paid HTTP/1.1"]);
    gate.fetch(Via::TlsH1, &ask).await.assert_denied(403, "payment_replayed");
}
