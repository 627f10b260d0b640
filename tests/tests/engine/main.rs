//! HTTP semantics of the engine: one test for each thing that a proxy on session types has to get right by itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod bodies;
mod broken;
mod interim;
mod keepalive;
mod pairings;
mod streams;
mod trailers;
mod upgrades;
mod uploads;

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::h2_origin::H2Origin;
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::scripted::{Conversation, Scripted};
use tollgate_tests::tollgate::{Setup, Tollgate};

/// A TLS origin that speaks HTTP/1.1 by script, and the proxy before it.
async fn scripted<F, Fut>(script: F) -> (Tollgate, Scripted)
where
    F: Fn(Conversation) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let authority = Authority::default();
    let origin = Scripted::start(Some(authority.server(HOST, Alpn::H1)), script).await;
    let gate = Setup::new(policy::open(&[origin.port()])).local_host().trust(&authority).start();
    (gate, origin)
}

/// An HTTP/2 origin by script, and the proxy before it.
async fn scripted_h2<F, Fut>(script: F) -> (Tollgate, H2Origin)
where
    F: Fn(http::Request<h2::RecvStream>, h2::server::SendResponse<bytes::Bytes>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let authority = Authority::default();
    let origin = H2Origin::start(authority.server(HOST, Alpn::H2Only), script).await;
    let gate = Setup::new(policy::open(&[origin.port()])).local_host().trust(&authority).start();
    (gate, origin)
}

/// Sends `head` and `size` bytes (whole MiB), and reads as many at the same time: whoever waits for one way before the other locks up.
async fn assert_echoed(stream: impl AsyncRead + AsyncWrite + Send + 'static, head: String, size: usize) {
    let (mut read, mut write) = tokio::io::split(stream);
    let upload = tokio::spawn(async move {
        write.write_all(head.as_bytes()).await.unwrap();
        let piece = vec![b'e'; 1 << 20];
        for _ in 0..size >> 20 {
            write.write_all(&piece).await.unwrap();
        }
        write.flush().await.unwrap();
        write
    });
    let download = async {
        let mut piece = vec![0; 1 << 16];
        let mut count = 0;
        while count < size {
            let got = read.read(&mut piece).await.unwrap();
            assert_ne!(got, 0, "ended after {count} bytes");
            count += got;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), download)
        .await
        .expect("the echo locked up");
    upload.await.unwrap();
}
