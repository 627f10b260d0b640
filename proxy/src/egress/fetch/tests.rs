#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

use http::header::{CONTENT_TYPE, HeaderValue};
use pingora::connectors::ConnectorOptions;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tollgate_policy::{Authority, HostError};

use super::scripted::{ScriptedServer, Step};
use super::*;

/// Status and body.
type Outcome = Result<(u16, &'static str), FetchError>;

const SECOND: Duration = Duration::from_secs(1);

/// `localhost` has two addresses, in this order.
fn resolver() -> Arc<Resolver> {
    let both: Arc<[IpAddr]> = Arc::from([IpAddr::from([127, 0, 0, 1]), IpAddr::from(Ipv6Addr::LOCALHOST)]);
    Arc::new(Resolver::new(HashMap::from([("localhost".into(), both)]), SECOND))
}

fn fetcher() -> Fetcher {
    Fetcher::new(Arc::default(), resolver())
}

fn request(security: Security, host: &str, port: u16) -> Request {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Request {
        method: Method::POST,
        destination: Destination::new(Authority::parse(host, Some(port)).unwrap(), security),
        target: PathAndQuery::from_static("/v1/ask?x=1"),
        headers,
        body: Bytes::from_static(b"{\"q\":1}"),
    }
}

fn limits(deadline: Duration, max_response: usize) -> Limits {
    Limits { deadline, max_response }
}

/// Fetches from a server that plays `script`.
async fn played(script: Vec<Step>, limits: Limits) -> (Result<Response, FetchError>, Vec<String>) {
    let server = ScriptedServer::plain(script).await;
    let request = request(Security::Plain, "127.0.0.1", server.address.port());
    let outcome = fetcher().fetch(&request, limits).await;
    (outcome, server.requests())
}

#[tokio::test]
async fn the_request_goes_out_once_whole_and_says_that_it_closes() {
    let (outcome, requests) = played(
        vec![Step::send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")],
        limits(SECOND, 100),
    )
    .await;
    assert_eq!(outcome.unwrap().body, "ok");
    assert_eq!(requests.len(), 1);
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert_eq!(body, "{\"q\":1}");
    let mut lines = head.split("\r\n");
    assert_eq!(lines.next(), Some("POST /v1/ask?x=1 HTTP/1.1"));
    let mut fields: Vec<String> = lines.map(str::to_ascii_lowercase).collect();
    fields.sort();
    assert_eq!(
        fields[..3],
        ["connection: close", "content-length: 7", "content-type: application/json"]
    );
    assert!(fields[3].starts_with("host: 127.0.0.1:"), "{fields:?}");
    assert_eq!(fields.len(), 4);
}

#[tokio::test]
async fn answers_are_complete_or_errors() {
    let ok = |body: &'static str| Ok((200, body));
    let err = Outcome::Err;
    #[rustfmt::skip]
    let table: Vec<(&str, &str, Outcome)> = vec![
        ("length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", ok("hello")),
        ("HTTP/1.0 with length", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", ok("hello")),
        ("HTTP/1.0 to the end of the connection", "HTTP/1.0 200 OK\r\n\r\nhello", ok("hello")),
        ("chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", ok("hello")),
        ("no body", "HTTP/1.1 204 No Content\r\n\r\n", Ok((204, ""))),
        ("interim answers", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", ok("ok")),
        ("redirects are not followed", "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", Ok((307, ""))),
        ("402 is not paid", "HTTP/1.1 402 Payment Required\r\nContent-Length: 2\r\n\r\n{}", Ok((402, "{}"))),
        ("bytes after the answer are not of it", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n", ok("ok")),
        ("closed before the head", "", err(FetchError::Closed)),
        ("closed in the head", "HTTP/1.1 200 OK\r\nConte", err(FetchError::Closed)),
        ("closed mid-body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", err(FetchError::Closed)),
        ("closed mid-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello", err(FetchError::Closed)),
        ("closed before the last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", err(FetchError::Closed)),
        ("not HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n", err(FetchError::Malformed)),
        ("TLS record", "\x15\x03\x01\x00\x02\x02\x0a\r\n\r\n", err(FetchError::Malformed)),
        ("bad chunk size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n", err(FetchError::Malformed)),
        ("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", err(FetchError::Malformed)),
        ("a switch nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", err(FetchError::Malformed)),
        ("announced too large", "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", err(FetchError::Closed)),
        ("exactly as large as allowed", concat!("HTTP/1.0 200 OK\r\n\r\n", "12345678901234567890123456789012345678901234567890", "12345678901234567890123456789012345678901234567890"), ok("1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890")),
        ("one byte too large", concat!("HTTP/1.0 200 OK\r\n\r\n", "12345678901234567890123456789012345678901234567890", "12345678901234567890123456789012345678901234567890", "1"), err(FetchError::TooLarge)),
    ];
    for (name, answer, expected) in table {
        let (outcome, requests) = played(vec![Step::send(answer)], limits(5 * SECOND, 100)).await;
        let outcome = outcome.map(|response| (response.status.as_u16(), String::from_utf8(response.body.to_vec()).unwrap()));
        assert_eq!(outcome, expected.map(|(status, body)| (status, body.to_owned())), "{name}");
        assert_eq!(requests.len(), 1, "{name}: asked more than once");
    }
}

#[tokio::test]
async fn endless_interim_answers_are_not_an_answer() {
    let flood = "HTTP/1.1 100 Continue\r\n\r\n".repeat(50);
    let (outcome, _) = played(vec![Step::send(flood), Step::Linger], limits(5 * SECOND, 100)).await;
    assert_eq!(outcome.unwrap_err(), FetchError::Malformed);
}

#[tokio::test]
async fn a_chunked_flood_is_cut_off_at_the_limit() {
    let mut script = vec![Step::send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")];
    script.extend((0..200).map(|_| Step::send(format!("400\r\n{}\r\n", "x".repeat(1024)))));
    script.push(Step::Linger);
    let (outcome, _) = played(script, limits(5 * SECOND, 10_000)).await;
    assert_eq!(outcome.unwrap_err(), FetchError::TooLarge);
}

#[tokio::test]
async fn an_answer_is_taken_at_its_end_though_the_connection_stays_open() {
    let started = Instant::now();
    let answer = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok";
    let (outcome, _) = played(vec![Step::send(answer), Step::Linger], limits(5 * SECOND, 100)).await;
    assert_eq!(outcome.unwrap().body, "ok");
    assert!(started.elapsed() < 2 * SECOND);
}

#[tokio::test]
async fn one_deadline_covers_every_kind_of_slowness() {
    let slow = || Step::Pause(5 * SECOND);
    let mut drip = vec![Step::send("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")];
    drip.extend((0..99).flat_map(|_| [Step::send("x"), Step::Pause(Duration::from_millis(100))]));
    let table = [
        ("no answer", vec![slow()]),
        ("half a head", vec![Step::send("HTTP/1.1 200 OK\r\n"), slow()]),
        (
            "half a body",
            vec![Step::send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhell"), slow()],
        ),
        ("no end of the connection", vec![Step::send("HTTP/1.0 200 OK\r\n\r\nhello"), slow()]),
        // Each read makes progress, so a timeout per read would never fire.
        ("a byte now and then", drip),
    ];
    for (name, script) in table {
        let started = Instant::now();
        let (outcome, _) = played(script, limits(Duration::from_millis(300), 100)).await;
        assert_eq!(outcome.unwrap_err(), FetchError::Timeout, "{name}");
        assert!(started.elapsed() < 3 * SECOND, "{name}: {:?}", started.elapsed());
    }
}

#[tokio::test]
async fn nobody_there_is_told_apart_from_no_such_name() {
    // Bound but not listening: nobody else gets the port meanwhile.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let free = held.local_addr().unwrap().port();
    let dead = fetcher()
        .fetch(&request(Security::Plain, "127.0.0.1", free), limits(SECOND, 1))
        .await;
    assert_eq!(dead.unwrap_err(), FetchError::Connect);
    let nameless = fetcher()
        .fetch(&request(Security::Plain, "no-such-name.invalid", free), limits(5 * SECOND, 1))
        .await;
    // Where no resolver answers at all, the deadline does.
    assert!(matches!(nameless.unwrap_err(), FetchError::Resolve | FetchError::Timeout));
}

#[tokio::test]
async fn localhost_is_found_at_the_address_that_listens() {
    let Ok(listener) = TcpListener::bind("[::1]:0").await else { return };
    let port = listener.local_addr().unwrap().port();
    let serve = tokio::spawn(async move {
        let (mut tcp, _) = listener.accept().await.unwrap();
        let mut seen = vec![0; 4096];
        tokio::io::AsyncReadExt::read(&mut tcp, &mut seen).await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut tcp, b"HTTP/1.0 200 OK\r\n\r\nsix")
            .await
            .unwrap();
    });
    let response = fetcher()
        .fetch(&request(Security::Plain, "localhost", port), limits(5 * SECOND, 10))
        .await;
    assert_eq!(response.unwrap().body, "six");
    serve.await.unwrap();
}

struct Authorities {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

fn authority() -> Authorities {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    Authorities {
        issuer: Issuer::new(params, key),
        pem,
    }
}

impl Authorities {
    fn acceptor(&self, name: &str) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![name.to_owned()])
            .unwrap()
            .signed_by(&key, &self.issuer)
            .unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap();
        let config = config
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }

    fn trusting(&self) -> Fetcher {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, self.pem.as_bytes()).unwrap();
        let mut options = ConnectorOptions::new(1);
        options.ca_file = Some(file.path().to_str().unwrap().to_owned());
        Fetcher::new(Arc::new(Connector::with(options)), resolver())
    }
}

#[tokio::test]
async fn only_a_trusted_certificate_for_the_very_name_is_spoken_to() {
    let (ours, other) = (authority(), authority());
    let answer = || vec![Step::send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")];
    let table = [
        ("name", ours.acceptor("localhost"), "localhost", Ok("ok")),
        ("address literal", ours.acceptor("127.0.0.1"), "127.0.0.1", Ok("ok")),
        (
            "certificate of another name",
            ours.acceptor("evil.example"),
            "localhost",
            Err(FetchError::Tls),
        ),
        (
            "certificate of a name for an address",
            ours.acceptor("localhost"),
            "127.0.0.1",
            Err(FetchError::Tls),
        ),
        ("unknown issuer", other.acceptor("localhost"), "localhost", Err(FetchError::Tls)),
    ];
    for (name, acceptor, host, expected) in table {
        let server = ScriptedServer::tls(answer(), acceptor).await;
        let outcome = ours
            .trusting()
            .fetch(&request(Security::Tls, host, server.address.port()), limits(5 * SECOND, 10))
            .await;
        assert_eq!(outcome.map(|r| r.body), expected.map(whole), "{name}");
        let asked = usize::from(expected.is_ok());
        assert_eq!(
            server.requests().len(),
            asked,
            "{name}: the request may be seen only by the verified peer"
        );
    }
}

fn whole(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

/// Attack: present a false certificate at the first address and hope that the second one's is good enough for both.
#[tokio::test]
async fn a_false_certificate_is_final_whatever_the_next_address_shows() {
    let (ours, other) = (authority(), authority());
    let answer = || vec![Step::send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")];
    let first = ScriptedServer::tls(answer(), other.acceptor("localhost")).await;
    let port = first.address.port();
    let Ok(second) = ScriptedServer::start(("::1", port), answer(), Some(ours.acceptor("localhost"))).await else {
        return; // no IPv6 here, or the port is taken
    };
    let outcome = ours
        .trusting()
        .fetch(&request(Security::Tls, "localhost", port), limits(5 * SECOND, 10))
        .await;
    assert_eq!(outcome.unwrap_err(), FetchError::Tls);
    assert!(second.requests().is_empty());
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_is_never_told_anything() {
    let server = ScriptedServer::plain(vec![Step::send("HTTP/1.1 200 OK\r\n\r\n")]).await;
    let outcome = fetcher()
        .fetch(
            &request(Security::Tls, "localhost", server.address.port()),
            limits(Duration::from_millis(300), 10),
        )
        .await;
    assert_eq!(outcome.unwrap_err(), FetchError::Timeout);
    assert!(server.requests().is_empty());
}

/// Attack: cut a close-delimited answer short by closing TCP under TLS, so that half of it looks like all of it.
#[tokio::test]
async fn truncation_without_close_notify_is_not_an_end() {
    let ours = authority();
    let script = |end: Vec<Step>| [vec![Step::send("HTTP/1.0 200 OK\r\n\r\nhello")], end].concat();
    for (end, expected) in [(vec![], Ok("hello")), (vec![Step::Cut], Err(FetchError::Closed))] {
        let server = ScriptedServer::tls(script(end), ours.acceptor("localhost")).await;
        let outcome = ours
            .trusting()
            .fetch(&request(Security::Tls, "localhost", server.address.port()), limits(5 * SECOND, 10))
            .await;
        assert_eq!(outcome.map(|r| r.body), expected.map(whole));
    }
}

#[tokio::test]
async fn a_dropped_fetch_closes_its_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let request = request(Security::Plain, "127.0.0.1", listener.local_addr().unwrap().port());
    let task = tokio::spawn(async move { fetcher().fetch(&request, limits(60 * SECOND, 10)).await });
    let (mut tcp, _) = listener.accept().await.unwrap();
    let mut seen = Vec::new();
    tokio::io::AsyncReadExt::read_buf(&mut tcp, &mut seen).await.unwrap();
    task.abort();
    let closed = tokio::time::timeout(SECOND, tokio::io::AsyncReadExt::read_to_end(&mut tcp, &mut seen)).await;
    assert!(closed.is_ok(), "the server still waits for a peer that has gone");
}

#[test]
fn nothing_sent_or_received_is_in_debug_output() {
    let mut request = request(Security::Tls, "api.example.com", 443);
    request.headers.insert("authorization", HeaderValue::from_static("Bearer canary"));
    request.body = Bytes::from_static(b"canary");
    request.target = PathAndQuery::from_static("/v1/ask?key=canary");
    let response = Response {
        status: StatusCode::OK,
        headers: request.headers.clone(),
        body: request.body.clone(),
    };
    assert!(!format!("{request:?} {response:?}").contains("canary"));
}

#[test]
fn service_urls_have_one_spelling() {
    use ServiceUrlError::{Host, Path, QueryOrFragment, Scheme};
    let good = [
        ("http://127.0.0.1:8402", "http://127.0.0.1:8402", "/v1/x"),
        ("https://verdict.example.com", "https://verdict.example.com:443", "/v1/x"),
        ("https://Verdict.Example.com/", "https://verdict.example.com:443", "/v1/x"),
        ("http://[::1]:8402/gate/v2/", "http://[::1]:8402/gate/v2", "/gate/v2/v1/x"),
    ];
    for (text, shown, target) in good {
        let url: ServiceUrl = text.parse().unwrap();
        assert_eq!(url.to_string(), shown);
        assert_eq!(url.target("/v1/x").unwrap().as_str(), target);
    }
    let bad = [
        ("", Scheme),
        ("127.0.0.1:8402", Scheme),
        ("HTTP://a.example", Scheme),
        ("ftp://a.example", Scheme),
        ("http://", Host(HostError::Empty)),
        ("http://user:pass@a.example", Host(HostError::UserInfo)),
        ("http://a.example:0", Host(HostError::BadPort)),
        ("http://0x7f.1:8402", Host(HostError::NumericSpelling)),
        ("http://a.example\\@b.example", Host(HostError::UserInfo)),
        ("http://a.example?x", QueryOrFragment),
        ("http://a.example/#x", QueryOrFragment),
        ("http://a.example/x//y", Path),
        ("http://a.example/x/../y", Path),
        ("http://a.example/%2e", Path),
        ("http://a.example/x y", Path),
    ];
    for (text, error) in bad {
        assert_eq!(text.parse::<ServiceUrl>(), Err(error), "{text}");
    }
}

#[test]
fn cleartext_beyond_loopback_is_noticed() {
    for (text, expected) in [
        ("http://127.0.0.1:8402", false),
        ("http://localhost:8402", false),
        ("https://verdict.example.com", false),
        ("http://verdict.example.com", true),
        ("http://10.0.0.1", true),
    ] {
        assert_eq!(
            text.parse::<ServiceUrl>().unwrap().is_cleartext_beyond_loopback(),
            expected,
            "{text}"
        );
    }
}
