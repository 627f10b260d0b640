#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::time::Duration;

use tokio::net::TcpListener;

use super::*;

/// What a proxy that answers so makes of a connection, with the bytes that come first, and what it was asked.
async fn asked(answer: &'static [u8], set_up: impl FnOnce(UpstreamProxy) -> UpstreamProxy) -> (Result<Vec<u8>, ChainError>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = BytesMut::new();
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_buf(&mut head).await.unwrap();
        }
        stream.write_all(answer).await.unwrap();
        String::from_utf8(head.to_vec()).unwrap()
    });
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let resolver = Arc::new(Resolver::new(HashMap::new(), Duration::from_secs(2)));
    let proxy = Arc::new(set_up(UpstreamProxy::new(url, Arc::new(tls), resolver)));
    let authority = Authority::parse("api.example.test:443", None).unwrap();
    let address = "198.51.100.7:443".parse::<SocketAddr>().unwrap();
    let connected = proxy.way(&authority, address.ip()).unwrap().connect(address).await;
    let outcome = match connected {
        Err(error) => Err(error),
        Ok(mut stream) => {
            let mut first = Vec::new();
            stream.read_to_end(&mut first).await.unwrap();
            Ok(first)
        }
    };
    (outcome, served.await.unwrap())
}

#[tokio::test]
async fn the_judged_address_is_asked_for_unless_the_operator_wants_names() {
    let (_, head) = asked(b"HTTP/1.1 200 OK\r\n\r\n", |proxy| proxy).await;
    assert_eq!(head, "CONNECT 198.51.100.7:443 HTTP/1.1\r\nHost: 198.51.100.7:443\r\n\r\n");
    let authorization = Zeroizing::new("Basic YTpi".to_owned());
    let (_, head) = asked(b"HTTP/1.1 200 OK\r\n\r\n", |proxy| {
        proxy.asked_for(AskedFor::Name).authorized(Some(authorization))
    })
    .await;
    assert_eq!(
        head,
        "CONNECT api.example.test:443 HTTP/1.1\r\nHost: api.example.test:443\r\nProxy-Authorization: Basic YTpi\r\n\r\n"
    );
}

#[tokio::test]
async fn what_comes_after_the_answer_is_the_origins() {
    let (outcome, _) = asked(b"HTTP/1.0 200 Connection established\r\nVia: x\r\n\r\n220 mail", |proxy| proxy).await;
    assert_eq!(outcome.unwrap(), b"220 mail");
}

#[tokio::test]
async fn every_other_answer_says_what_is_wrong() {
    let long: &'static str = Box::leak(format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(LONGEST_ANSWER)).into_boxed_str());
    for (answer, error) in [
        (&b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"[..], ChainError::Credentials),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno!", ChainError::Refused(403)),
        (
            b"HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\n\r\n",
            ChainError::Refused(302),
        ),
        (b"HTTP/1.1 101 Switching\r\n\r\n", ChainError::Refused(101)),
        (b"SSH-2.0-OpenSSH\r\n", ChainError::Malformed),
        (b"HTTP/1.1 200 OK\r\n", ChainError::Closed),
        (b"", ChainError::Closed),
        (long.as_bytes(), ChainError::Malformed),
    ] {
        let (outcome, _) = asked(answer, |proxy| proxy).await;
        assert_eq!(
            outcome,
            Err(error),
            "{:?}",
            String::from_utf8_lossy(answer.get(..40).unwrap_or(answer))
        );
    }
}
