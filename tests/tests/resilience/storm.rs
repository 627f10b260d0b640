//! Desync storm: many clients with random bodies, framings and aborts over shared origin connections; every answer has to be its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rand::Rng as _;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::Origin;
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::{Setup, Tollgate};

/// One request with a body of its own, over a fresh or kept connection; gives back false after an abort.
async fn exchange(connection: &mut tollgate_tests::wire::H1, port: u16, count: &AtomicUsize) -> bool {
    let (body, chunked, abort) = {
        let mut random = rand::rng();
        let length = if random.random_ratio(1, 4) {
            random.random_range(0..200_000)
        } else {
            random.random_range(0..2000)
        };
        let body: Vec<u8> = format!("{:032x}", random.random::<u128>())
            .bytes()
            .cycle()
            .take(length + 32)
            .collect();
        (body, random.random_bool(0.5), random.random_ratio(1, 8))
    };
    let head = format!("POST /echo HTTP/1.1\r\nHost: {HOST}:{port}\r\nContent-Type: application/octet-stream\r\n");
    let message = if chunked {
        let mut message = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
        for piece in body.chunks(7000) {
            message.extend(format!("{:x}\r\n", piece.len()).bytes());
            message.extend_from_slice(piece);
            message.extend_from_slice(b"\r\n");
        }
        message.extend_from_slice(b"0\r\n\r\n");
        message
    } else {
        [format!("{head}Content-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat()
    };
    if abort {
        let cut = rand::rng().random_range(0..message.len());
        let _ = connection.try_send(&message[..cut]).await;
        return false;
    }
    connection.send(&message).await;
    let answer = connection.answer("POST").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(
        answer.body == body,
        "an answer that belongs to another request: {} bytes for {}",
        answer.body.len(),
        body.len()
    );
    count.fetch_add(1, Ordering::Relaxed);
    true
}

async fn client(gate: Arc<Tollgate>, port: u16, end: Instant, count: Arc<AtomicUsize>) {
    while Instant::now() < end {
        let mut connection = gate.tls_h1(port).await;
        for _ in 0..10 {
            if Instant::now() >= end || !exchange(&mut connection, port, &count).await {
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_is_ever_anothers() {
    for alpn in [Alpn::H1, Alpn::H2] {
        let authority = Authority::default();
        let origin = Origin::tls(&authority, alpn).await;
        let gate = Arc::new(Setup::new(policy::open(&[origin.port()])).local_host().trust(&authority).start());
        let count = Arc::new(AtomicUsize::new(0));
        let end = Instant::now() + Duration::from_secs(4);
        let clients: Vec<_> = (0..40)
            .map(|_| tokio::spawn(client(Arc::clone(&gate), origin.port(), end, Arc::clone(&count))))
            .collect();
        for client in clients {
            client.await.unwrap();
        }
        assert!(
            count.load(Ordering::Relaxed) > 100,
            "only {} exchanges",
            count.load(Ordering::Relaxed)
        );
        gate.fetch(Via::TlsH2, &Ask::get(origin.port(), "/")).await.assert_allowed();
    }
}
