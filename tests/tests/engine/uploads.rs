//! Uploads: streamed, held back by slow origins, cut short by early answers, flat in memory.

use std::time::Duration;

use bytes::Bytes;
use tollgate_tests::client::Ask;
use tollgate_tests::h2_client::{H2, collect, send_all};
use tollgate_tests::policy::HOST;
use tollgate_tests::within;

use super::{assert_echoed, scripted, scripted_h2};

/// Reads and drops a request of any length, answers with the count.
async fn count_body(mut body: h2::RecvStream, mut respond: h2::server::SendResponse<Bytes>) {
    let mut count = 0;
    while let Some(Ok(piece)) = body.data().await {
        count += piece.len();
        let _ = body.flow_control().release_capacity(piece.len());
    }
    let mut answer = respond.send_response(http::Response::new(()), false).unwrap();
    let _ = answer.send_data(Bytes::from(count.to_string()), true);
}

const LARGE: usize = 300 << 20;

#[tokio::test]
async fn a_300_megabyte_upload_over_http1_stays_flat_in_memory() {
    let (gate, origin) = scripted(|mut peer| async move {
        let Some(head) = peer.head().await else { return };
        let mut left: usize = head.header("content-length").unwrap().parse().unwrap();
        let total = left;
        while left > 0 {
            let piece = peer.peer.some_bytes().await;
            if piece.is_empty() {
                return;
            }
            left -= piece.len();
        }
        peer.send(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{total}",
            total.to_string().len()
        ))
        .await;
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    let before = gate.resident();
    h1.send(format!(
        "PUT /upload HTTP/1.1\r\nHost: {HOST}:{}\r\nContent-Length: {LARGE}\r\n\r\n",
        origin.port()
    ))
    .await;
    let piece = vec![b'u'; 1 << 20];
    let mut peak = 0;
    for _ in 0..LARGE >> 20 {
        h1.send(&piece).await;
        peak = peak.max(gate.resident());
    }
    assert_eq!(h1.answer("PUT").await.text(), LARGE.to_string());
    let grown = peak.saturating_sub(before);
    assert!(grown < 16 << 20, "grew by {} MiB", grown >> 20);
}

#[tokio::test]
async fn a_large_upload_over_http2_arrives_whole_and_flat() {
    let (gate, origin) = scripted_h2(|request, respond| count_body(request.into_body(), respond)).await;
    let mut h2 = gate.tls_h2(origin.port()).await;
    let before = gate.resident();
    let (response, mut body) = h2.open(H2::head(&Ask::get(origin.port(), "/upload").method("PUT")), false).await;
    let piece = Bytes::from(vec![b'u'; 50 << 20]);
    tokio::time::timeout(Duration::from_secs(60), send_all(&mut body, piece))
        .await
        .expect("in time")
        .unwrap();
    assert_eq!(within("answer", collect(response)).await.unwrap().text(), (50 << 20).to_string());
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 40 << 20, "grew by {} MiB", grown >> 20);
}

#[tokio::test]
async fn an_early_413_reaches_a_client_that_still_uploads() {
    let (gate, origin) = scripted(|mut peer| async move {
        if peer.head().await.is_some() {
            peer.send("HTTP/1.1 413 Payload Too Large\r\nContent-Length: 7\r\nConnection: close\r\n\r\ntoo big")
                .await;
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(format!(
        "PUT /upload HTTP/1.1\r\nHost: {HOST}:{}\r\nContent-Length: 50000000\r\n\r\n",
        origin.port()
    ))
    .await;
    let piece = vec![b'u'; 1 << 16];
    // Keep sending until the answer is there or nothing is taken any more.
    for _ in 0..40 {
        if tokio::time::timeout(Duration::from_millis(200), h1.try_send(&piece)).await.is_err() {
            break;
        }
    }
    let answer = h1.answer("PUT").await;
    assert_eq!((answer.status, answer.text().as_str()), (413, "too big"));

    let mut h2 = gate.tls_h2(origin.port()).await;
    let (response, mut body) = h2.open(H2::head(&Ask::get(origin.port(), "/upload").method("PUT")), false).await;
    let upload = tokio::spawn(async move { send_all(&mut body, Bytes::from(vec![b'u'; 5 << 20])).await });
    assert_eq!(within("answer", collect(response)).await.unwrap().status, 413);
    upload.abort();
}

#[tokio::test]
async fn an_origin_that_answers_while_it_reads_does_not_lock_up() {
    // An echo server over HTTP/1: each piece comes back before the next is sent, and it reads only while its answers are taken.
    let (gate, origin) = scripted(|mut peer| async move {
        let Some(head) = peer.head().await else { return };
        let mut left: usize = head.header("content-length").unwrap().parse().unwrap();
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {left}\r\n\r\n")).await;
        while left > 0 {
            let piece = peer.peer.some_bytes().await;
            if piece.is_empty() {
                return;
            }
            left -= piece.len();
            peer.send(piece).await;
        }
    })
    .await;
    let size = 30 << 20;
    let authority = format!("{HOST}:{}", origin.port());
    let stream = gate.tls_stream(&authority, tollgate_tests::authority::Alpn::H1).await.unwrap();
    let head = format!("POST /echo HTTP/1.1\r\nHost: {authority}\r\nContent-Length: {size}\r\n\r\n");
    assert_echoed(stream, head, size).await;
}

#[tokio::test]
async fn a_held_upload_waits_for_the_origin() {
    // The origin reads nothing for a while: the client must feel that.
    let (gate, origin) = scripted(|mut peer| async move {
        let Some(_head) = peer.head().await else { return };
        tokio::time::sleep(Duration::from_secs(3)).await;
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(format!(
        "PUT /upload HTTP/1.1\r\nHost: {HOST}:{}\r\nContent-Length: 100000000\r\n\r\n",
        origin.port()
    ))
    .await;
    let before = gate.resident();
    let piece = vec![b'u'; 1 << 20];
    let mut taken = 0;
    while taken < 64 && tokio::time::timeout(Duration::from_millis(500), h1.try_send(&piece)).await.is_ok() {
        taken += 1;
    }
    assert!(taken < 64, "64 MiB were taken from the client while the origin read nothing");
    assert!(gate.resident().saturating_sub(before) < 32 << 20);
}
