//! Origins and clients that break off: what came is passed on, the break is visible, and nothing lives on.

use std::time::Duration;

use bytes::Bytes;
use tollgate_tests::answer::Ending;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::within;

use super::{scripted, scripted_h2};

#[tokio::test]
async fn an_origin_that_dies_mid_body_is_not_passed_off_as_complete() {
    for head in ["Content-Length: 100", "Transfer-Encoding: chunked"] {
        let (gate, origin) = scripted(move |mut peer| async move {
            if peer.request().await.is_some() {
                let piece = if head.starts_with("Content") {
                    "part of it"
                } else {
                    "a\r\npart of it\r\n"
                };
                peer.send(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{piece}")).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        })
        .await;
        let answer = gate.fetch(Via::TlsH1, &Ask::get(origin.port(), "/")).await;
        assert_eq!(answer.text(), "part of it", "what came before the break is lost ({head})");
        assert!(matches!(answer.ending, Ending::Cut(_)), "{head}: {answer:?}");
        let answer = gate.fetch(Via::TlsH2, &Ask::get(origin.port(), "/")).await;
        assert!(matches!(answer.ending, Ending::Cut(_)), "{head}: {answer:?}");
    }
}

#[tokio::test]
async fn a_reset_stream_of_the_origin_is_a_reset_stream_for_the_client() {
    let (gate, origin) = scripted_h2(|_, mut respond| async move {
        let mut body = respond.send_response(http::Response::new(()), false).unwrap();
        body.send_data(Bytes::from_static(b"part"), false).unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        body.send_reset(h2::Reason::INTERNAL_ERROR);
    })
    .await;
    let answer = gate.fetch(Via::TlsH2, &Ask::get(origin.port(), "/")).await;
    assert!(matches!(answer.ending, Ending::Cut(_)), "{answer:?}");
    let answer = gate.fetch(Via::TlsH1, &Ask::get(origin.port(), "/")).await;
    assert!(matches!(answer.ending, Ending::Cut(_)), "{answer:?}");
}

#[tokio::test]
async fn a_stream_that_the_client_resets_ends_at_the_origin() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let (gate, origin) = scripted_h2(move |_, mut respond| {
        let tell = tell.clone();
        async move {
            let mut body = respond.send_response(http::Response::new(()), false).unwrap();
            body.send_data(Bytes::from_static(b"hello"), false).unwrap();
            let reset = std::future::poll_fn(|context| body.poll_reset(context)).await;
            let _ = tell.send(reset.is_ok());
        }
    })
    .await;
    let mut h2 = gate.tls_h2(origin.port()).await;
    let ask = Ask::get(origin.port(), "/")
        .method("POST")
        .header("content-type", "application/grpc");
    let (response, mut sender) = h2.open(tollgate_tests::h2_client::H2::head(&ask), false).await;
    let answer = within("head", response).await.unwrap();
    sender.send_reset(h2::Reason::CANCEL);
    drop(answer);
    assert!(within("the reset at the origin", told.recv()).await.is_some());
}

#[tokio::test]
async fn a_client_that_leaves_while_waiting_ends_the_origin_connection() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let (gate, origin) = scripted(move |mut peer| {
        let tell = tell.clone();
        async move {
            peer.request().await;
            let _ = tell.send("asked");
            peer.linger().await;
            let _ = tell.send("left");
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await;
    assert_eq!(within("request", told.recv()).await, Some("asked"));
    drop(h1);
    assert_eq!(within("end of the origin connection", told.recv()).await, Some("left"));
}

#[tokio::test]
async fn a_client_that_leaves_a_quiet_stream_ends_the_origin_connection() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let (gate, origin) = scripted(move |mut peer| {
        let tell = tell.clone();
        async move {
            peer.request().await;
            peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nd\r\ndata: hello\n\n\r\n")
                .await;
            peer.linger().await;
            let _ = tell.send("left");
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await;
    within("head", h1.read_head()).await.unwrap();
    assert!(!h1.some_bytes().await.is_empty());
    drop(h1);
    assert_eq!(within("end of the origin connection", told.recv()).await, Some("left"));
}

#[tokio::test]
async fn an_upload_that_breaks_off_is_never_complete_at_the_origin() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let (gate, origin) = scripted(move |mut peer| {
        let tell = tell.clone();
        async move {
            let Some(head) = peer.head().await else { return };
            let framing = if head.header("content-length").is_some() {
                tollgate_tests::answer::Framing::Length
            } else {
                tollgate_tests::answer::Framing::Chunked
            };
            let (_, _, ending) = peer.peer.read_body(framing, &head).await;
            let _ = tell.send(ending);
        }
    })
    .await;
    for framing in ["Content-Length: 1000", "Transfer-Encoding: chunked"] {
        let mut h1 = gate.tls_h1(origin.port()).await;
        let piece = if framing.starts_with("Content") {
            "start"
        } else {
            "5\r\nstart\r\n"
        };
        h1.send(format!(
            "POST / HTTP/1.1\r\nHost: {}:{}\r\n{framing}\r\n\r\n{piece}",
            tollgate_tests::policy::HOST,
            origin.port()
        ))
        .await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        drop(h1);
        // A proxy that has not yet dialled may as well never do so.
        if let Ok(Some(ending)) = tokio::time::timeout(Duration::from_secs(2), told.recv()).await {
            assert!(matches!(ending, Ending::Cut(_)), "{framing}: {ending:?}");
        }
    }
}

/// E15.
#[tokio::test]
async fn event_streams_flow_as_they_come_and_survive_silence() {
    let (gate, origin) = scripted(|mut peer| async move {
        peer.request().await;
        peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            .await;
        for n in 0..3 {
            peer.send(format!("data: {n}\n\n")).await;
            tokio::time::sleep(Duration::from_millis(600)).await;
        }
        peer.peer.finish_sending().await;
    })
    .await;
    let started = std::time::Instant::now();
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await;
    within("head", h1.read_head()).await.unwrap();
    assert!(!h1.some_bytes().await.is_empty());
    assert!(started.elapsed() < Duration::from_millis(550), "held back: {:?}", started.elapsed());
    assert!(h1.stays_quiet_for(Duration::from_millis(200)).await);
    assert!(!h1.some_bytes().await.is_empty());
}

#[tokio::test]
async fn a_slow_reader_holds_the_origin_back_and_memory_stays_flat() {
    let (gate, origin) = scripted(|mut peer| async move {
        if peer.request().await.is_some() {
            peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 256_usize << 20))
                .await;
            let piece = vec![b'd'; 1 << 20];
            for _ in 0..256 {
                if peer.peer.try_send(&piece).await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await;
    within("head", h1.read_head()).await.unwrap();
    let before = gate.resident();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 32 << 20, "grew by {} MiB while nobody read", grown >> 20);
    assert_eq!(h1.exactly(8 << 20).await.len(), 8 << 20);
}
