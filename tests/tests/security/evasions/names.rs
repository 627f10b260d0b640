//! Tricks with the header: its name, its number, its version, and where in the message it stands.

use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{Terms, Wallet, encode};
use tollgate_tests::policy::HOST;

use super::{CONFLICT, assert_refused_untouched, generous, one, url, v2};

#[tokio::test]
async fn underscores_for_dashes_in_the_name() {
    let (world, peer) = generous().await;
    for name in [
        "PAYMENT_SIGNATURE",
        "X_PAYMENT",
        "x_payment",
        "Payment-Signature2",
        "X-402-Payment",
        "X-X402-Payment",
        "payment",
    ] {
        let reasons = ["payment_malformed", "malformed_request", "rail_payment_scheme"];
        assert_refused_untouched(&world, &peer, name, |url| one(name, &encode(&v2(url))), &reasons).await;
    }
}

#[tokio::test]
async fn a_blank_before_the_colon() {
    let (world, peer) = generous().await;
    assert_refused_untouched(
        &world,
        &peer,
        "blank",
        |url| format!("PAYMENT-SIGNATURE : {}\r\n", encode(&v2(url))),
        &["malformed_request"],
    )
    .await;
}

#[tokio::test]
async fn a_folded_value() {
    let (world, peer) = generous().await;
    let folded = |url: &str| {
        let value = encode(&v2(url));
        let (start, end) = value.split_at(40);
        format!("PAYMENT-SIGNATURE: {start}\r\n {end}\r\n")
    };
    assert_refused_untouched(&world, &peer, "fold", folded, &["malformed_request", "payment_malformed"]).await;
}

#[tokio::test]
async fn the_same_header_twice() {
    let (world, peer) = generous().await;
    let good = |url: &str| one("PAYMENT-SIGNATURE", &encode(&v2(url)));
    assert_refused_untouched(&world, &peer, "equal", |url| good(url).repeat(2), CONFLICT).await;
    assert_refused_untouched(&world, &peer, "different", |url| good(url) + &good(url), CONFLICT).await;
    assert_refused_untouched(&world, &peer, "junk after", |url| good(url) + "PAYMENT-SIGNATURE: x\r\n", CONFLICT).await;
    assert_refused_untouched(
        &world,
        &peer,
        "junk before",
        |url| "PAYMENT-SIGNATURE: x\r\n".to_owned() + &good(url),
        CONFLICT,
    )
    .await;
    assert_refused_untouched(&world, &peer, "empty after", |url| good(url) + "payment-signature:\r\n", CONFLICT).await;
}

#[tokio::test]
async fn v1_and_v2_side_by_side() {
    let (world, peer) = generous().await;
    let both = |url: &str| {
        let wallet = Wallet::default();
        one("PAYMENT-SIGNATURE", &encode(&v2(url))) + &one("X-PAYMENT", &encode(&wallet.v1(&Terms::default())))
    };
    assert_refused_untouched(&world, &peer, "both", both, CONFLICT).await;
}

#[tokio::test]
async fn a_payload_under_the_other_versions_name() {
    let (world, peer) = generous().await;
    assert_refused_untouched(
        &world,
        &peer,
        "v2 as v1",
        |url| one("X-PAYMENT", &encode(&v2(url))),
        &["payment_malformed", "payment_mismatch"],
    )
    .await;
    let v1 = |_: &str| one("PAYMENT-SIGNATURE", &encode(&Wallet::default().v1(&Terms::default())));
    assert_refused_untouched(&world, &peer, "v1 as v2", v1, &["payment_malformed", "payment_mismatch"]).await;
}

#[tokio::test]
async fn values_joined_by_a_comma() {
    let (world, peer) = generous().await;
    let joined = |url: &str| one("PAYMENT-SIGNATURE", &format!("{}, {}", encode(&v2(url)), encode(&v2(url))));
    assert_refused_untouched(&world, &peer, "comma", joined, CONFLICT).await;
}

#[tokio::test]
async fn a_payment_in_a_trailer() {
    let (world, peer) = generous().await;
    for announce in ["", "Trailer: PAYMENT-SIGNATURE\r\n"] {
        for name in ["PAYMENT-SIGNATURE", "X-PAYMENT"] {
            let value = encode(&v2(&url(&world, Via::TlsH1)));
            let mut h1 = world.gate.tls_h1(world.tls.port()).await;
            h1.send(format!(
                "POST /paid HTTP/1.1\r\nHost: {HOST}:{}\r\nTransfer-Encoding: chunked\r\n{announce}\r\n2\r\nhi\r\n0\r\n{name}: {value}\r\n\r\n",
                world.tls.port()
            ))
            .await;
            let answer = h1.answer("POST").await;
            answer.assert_denied(403, "payment_malformed");
        }
    }
    world.assert_untouched();
    assert!(peer.questions().is_empty());
}

#[tokio::test]
async fn a_payment_in_http2_trailers() {
    let (world, peer) = generous().await;
    let mut h2 = world.gate.tls_h2(world.tls.port()).await;
    let (response, mut body) = h2
        .open(
            tollgate_tests::h2_client::H2::head(&Ask::get(world.tls.port(), "/paid").method("POST")),
            false,
        )
        .await;
    body.send_data(bytes::Bytes::from_static(b"hi"), false).unwrap();
    let mut trailers = http::HeaderMap::new();
    trailers.insert("payment-signature", encode(&v2(&url(&world, Via::TlsH2))).parse().unwrap());
    body.send_trailers(trailers).unwrap();
    let answer = tollgate_tests::within("answer", tollgate_tests::h2_client::collect(response))
        .await
        .unwrap();
    answer.assert_denied(403, "payment_malformed");
    world.assert_untouched();
    assert!(peer.questions().is_empty());
}

#[tokio::test]
async fn a_payment_header_nominated_in_connection() {
    let (world, peer) = generous().await;
    for nominated in ["PAYMENT-SIGNATURE", "payment-signature, close", "keep-alive,X-PAYMENT"] {
        let lines = |url: &str| one("PAYMENT-SIGNATURE", &encode(&v2(url))) + &one("Connection", nominated);
        assert_refused_untouched(
            &world,
            &peer,
            nominated,
            lines,
            &["payment_malformed", "payment_conflicting", "malformed_request"],
        )
        .await;
    }
}

#[tokio::test]
async fn a_payment_header_on_connect() {
    let (world, peer) = generous().await;
    let authority = format!("{HOST}:{}", world.tls.port());
    let headers = [
        one("PAYMENT-SIGNATURE", &encode(&v2(&url(&world, Via::TlsH1)))),
        one("X-PAYMENT", &encode(&Wallet::default().v1(&Terms::default()))),
        one("Authorization", "Payment e30"),
    ];
    for header in headers {
        let mut connection = world.gate.dial().await;
        let answer = connection
            .request(format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{header}\r\n"))
            .await;
        assert_eq!(answer.status, 403, "{answer:?}");
        assert!(
            answer
                .reason()
                .is_some_and(|reason| reason.starts_with("payment_") || reason.starts_with("rail_")),
            "{answer:?}"
        );
    }
    assert!(peer.questions().is_empty());
    world.assert_untouched();
}
