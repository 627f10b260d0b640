#![allow(clippy::unwrap_used)]
use super::*;

async fn read_all(pieces: &[&str]) -> Result<String, Reason> {
    let (mut near, mut far) = tokio::io::duplex(64 << 10);
    let pieces: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
    let writer = tokio::spawn(async move {
        for piece in pieces {
            tokio::io::AsyncWriteExt::write_all(&mut far, piece.as_bytes()).await.unwrap();
            tokio::task::yield_now().await;
        }
    });
    let mut buffer = BytesMut::new();
    let outcome = read(&mut near, &mut buffer, &Limits::default()).await;
    writer.await.unwrap();
    match outcome {
        Ok(_) => Ok(String::from_utf8(buffer.to_vec()).unwrap().lines().next().unwrap().to_owned()),
        Err(HeadError::Refused(denial)) => Err(denial.reason),
        Err(HeadError::Gone) => Err(Reason::UpstreamTimeout), // stands for "gone" in these tables
    }
}

const GONE: Reason = Reason::UpstreamTimeout;

#[tokio::test]
async fn request_lines_are_exact_or_refused() {
    let cases: [(&str, Result<&str, Reason>); 18] = [
        ("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", Ok("GET /x HTTP/1.1")),
        ("\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n", Ok("GET /x HTTP/1.1")),
        ("GET /x HTTP/1.0\r\n\r\n", Ok("GET /x HTTP/1.0")),
        ("GET  /x HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
        ("GET /x  HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
        ("GET /a b HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
        ("GET /x\tHTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
        ("GET /x HTTP/1.2\r\n\r\n", Err(Reason::MalformedRequest)),
        ("GET /x HTTP/2.0\r\n\r\n", Err(Reason::MalformedRequest)),
        ("GET /x\r\n\r\n", Err(Reason::MalformedRequest)),
        ("GET /x http/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
        (" GET /x HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
        ("G(T /x HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
        ("GET /caf\u{e9} HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
        ("GET /a\u{1}b HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
        ("GET /a#b HTTP/1.1\r\n\r\n", Err(Reason::PathNotCanonical)),
        ("GET /x HTTP/1.1\nHost: a\n\n", Err(Reason::MalformedRequest)),
        ("GET /x HTTP/1.1\r\nHost: a\r\n", Err(GONE)),
    ];
    for (text, expected) in cases {
        assert_eq!(read_all(&[text]).await, expected.map(str::to_owned), "{text:?}");
    }
}

#[tokio::test]
async fn line_feeds_of_a_body_that_comes_with_the_head_are_its_own() {
    for body in ["{\n \"a\": 1\n}", "\nx", "hello\nworld\n"] {
        let text = format!("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        assert_eq!(read_all(&[&text]).await.as_deref(), Ok("POST /x HTTP/1.1"), "{body:?}");
        let (head, rest) = text.split_at(20);
        assert_eq!(read_all(&[head, rest]).await.as_deref(), Ok("POST /x HTTP/1.1"), "{body:?}");
    }
}

#[tokio::test]
async fn a_head_in_pieces_is_a_head() {
    let whole = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    for cut in 1..whole.len() {
        let (first, second) = whole.split_at(cut);
        assert_eq!(read_all(&[first, second]).await.as_deref(), Ok("GET /x HTTP/1.1"), "{cut}");
    }
}

#[tokio::test]
async fn an_absolute_target_agrees_with_host_or_is_refused() {
    let cases: [(&str, &str, Result<&str, Reason>); 7] = [
        ("http://a.example/x", "a.example", Ok("GET http://a.example/x HTTP/1.1")),
        ("http://a.example:80/x", "a.example", Ok("GET http://a.example/x HTTP/1.1")),
        ("http://A.example/x?y", "a.example:80", Ok("GET http://a.example:80/x?y HTTP/1.1")),
        ("http://a.example/x", "evil.example", Err(Reason::AuthorityMismatch)),
        ("http://a.example/x", "a.example:81", Err(Reason::AuthorityMismatch)),
        ("http://user@a.example/x", "a.example", Err(Reason::MalformedRequest)),
        (
            "/fetch/http://other.example",
            "a.example",
            Ok("GET /fetch/http://other.example HTTP/1.1"),
        ),
    ];
    for (target, host, expected) in cases {
        let text = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        assert_eq!(read_all(&[&text]).await, expected.map(str::to_owned), "{text:?}");
    }
}

#[tokio::test]
async fn heads_over_their_limits_are_refused_while_they_are_read() {
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(80 << 10));
    let endless = format!("GET / HTTP/1.1\r\nX: {}", "a".repeat(80 << 10));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(200));
    for text in [long, endless, many] {
        let (mut near, mut far) = tokio::io::duplex(256 << 10);
        tokio::io::AsyncWriteExt::write_all(&mut far, text.as_bytes()).await.unwrap();
        let outcome = read(&mut near, &mut BytesMut::new(), &Limits::default()).await;
        assert!(matches!(outcome, Err(HeadError::Refused(denial)) if denial.reason == Reason::HeadersTooLarge));
    }
}

#[tokio::test]
async fn chunks_are_announced_with_what_of_them_is_there() {
    let cases = [
        ("GET /x HTTP/1.1\r\nHost: a\r\n\r\n", Follows::Other),
        ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", Follows::Other),
        (
            "POST /x HTTP/1.1\r\nHost: a\r\nX-Transfer-Encoding: chunked\r\n\r\nhi",
            Follows::Other,
        ),
        (
            "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
            Follows::Chunks(0),
        ),
        (
            "POST /x HTTP/1.1\r\ntransfer-ENCODING: chunked\r\nHost: a\r\n\r\n2\r\nhi",
            Follows::Chunks(5),
        ),
        (
            "POST http://A.test/x HTTP/1.1\r\nHost: a.test:80\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi",
            Follows::Chunks(5),
        ),
    ];
    for (text, expected) in cases {
        let mut buffer = BytesMut::new();
        let read = read(&mut text.as_bytes(), &mut buffer, &Limits::default()).await;
        assert_eq!(read.unwrap(), expected, "{text:?}");
    }
}
