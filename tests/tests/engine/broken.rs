//! Origins and clients that break off: what came is passed on, the break is visible, and nothing lives on.

use std::time::Duration;

use bytes::Bytes;
use tollgate_tests::answer::Ending;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::h2_client::H2;
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::scripted::Scripted;
use tollgate_tests::tollgate::Setup;
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
    let (response, mut sender) = h2.open(H2::head(&ask), false).await;
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
            HOST,
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

/// The limit is for silence, not for the stream: one that lasts three times as long passes event by event, and ends a second after its last.
#[tokio::test]
async fn event_streams_are_cut_by_silence_and_by_nothing_else() {
    const EVENTS: usize = 6;
    let authority = Authority::default();
    let origin = Scripted::start(Some(authority.server(HOST, Alpn::H1)), |mut peer| async move {
        if peer.request().await.is_some() {
            peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
                .await;
            for number in 0..EVENTS {
                tokio::time::sleep(Duration::from_millis(500)).await;
                peer.send(format!("9\r\ndata: {number}\n\n\r\n")).await;
            }
            peer.linger().await;
        }
    })
    .await;
    let gate = Setup::new(policy::open(&[origin.port()]))
        .local_host()
        .trust(&authority)
        .config(serde_json::json!({ "limits": { "stream_idle": "1s" } }))
        .start();
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await;
    within("head", h1.read_head()).await.unwrap();
    let mut h2 = gate.tls_h2(origin.port()).await;
    let (response, _) = h2.open(H2::head(&Ask::get(origin.port(), "/")), true).await;
    let mut events = within("head", response).await.unwrap().into_body();
    for number in 0..EVENTS {
        let event = within("event", events.data()).await.unwrap().unwrap();
        let _ = events.flow_control().release_capacity(event.len());
        assert_eq!(event, format!("data: {number}\n\n"), "one at a time");
        assert_eq!(h1.some_bytes().await, format!("9\r\ndata: {number}\n\n\r\n"), "one at a time");
    }
    let last = std::time::Instant::now();
    assert!(within("the cut", events.data()).await.is_none_or(|piece| piece.is_err()));
    assert!(h1.some_bytes().await.is_empty(), "no last chunk");
    let silent = last.elapsed();
    assert!((Duration::from_millis(400)..Duration::from_secs(3)).contains(&silent), "{silent:?}");
}

#[tokio::test]
async fn a_slow_http2_reader_holds_the_origin_back_and_memory_stays_flat() {
    let (gate, origin) = scripted_h2(|_, mut respond| async move {
        let mut body = respond.send_response(http::Response::new(()), false).unwrap();
        let _ = tollgate_tests::h2_client::send_all(&mut body, vec![b'd'; 200 << 20].into()).await;
    })
    .await;
    let mut h2 = gate.tls_h2(origin.port()).await;
    let (response, _) = h2.open(H2::head(&Ask::get(origin.port(), "/")), true).await;
    let mut body = within("head", response).await.unwrap().into_body();
    let before = gate.resident();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 32 << 20, "grew by {} MiB while nobody read", grown >> 20);
    let mut count = 0;
    while let Some(piece) = within("data", body.data()).await {
        let piece = piece.unwrap();
        count += piece.len();
        let _ = body.flow_control().release_capacity(piece.len());
    }
    assert_eq!(count, 200 << 20);
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 32 << 20, "grew by {} MiB", grown >> 20);
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
