#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;

fn tunnel() -> Arc<Destination> {
    let authority = Authority::parse("api.example.com:443", None).unwrap();
    Arc::new(Destination::new(authority, Security::Tls))
}

/// Reads raw bytes as pingora's HTTP/1 session would hand them over.
fn read(scope: Scope<'_>, raw: &str) -> Result<Head, Reason> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut parsed = httparse::Request::new(&mut fields);
    let length = parsed.parse(raw.as_bytes()).unwrap().unwrap();
    let mut request = RequestHeader::build(parsed.method.unwrap(), parsed.path.unwrap().as_bytes(), None).unwrap();
    for field in parsed.headers.iter() {
        request
            .append_header(field.name.to_owned(), HeaderValue::from_bytes(field.value).unwrap())
            .unwrap();
    }
    request.set_version(if parsed.version == Some(1) {
        Version::HTTP_11
    } else {
        Version::HTTP_10
    });
    if request.headers.contains_key(header::TRANSFER_ENCODING) {
        request.remove_header(&header::CONTENT_LENGTH); // as pingora does
    }
    Head::read(scope, &request, Some(&raw.as_bytes()[..length]), &Limits::default()).map_err(|denial| denial.reason)
}

fn in_tunnel(raw: &str) -> Result<String, Reason> {
    read(Scope::Tunnel(&tunnel()), raw).map(|head| head.origin_form())
}

fn forwarded(raw: &str) -> Result<String, Reason> {
    let head = read(Scope::Forward(None), raw)?;
    Ok(format!("{} {}", head.destination.authority(), head.origin_form()))
}

#[test]
fn targets_are_made_canonical_or_refused() {
    let cases: [(&str, Result<&str, Reason>); 15] = [
        ("/", Ok("/")),
        ("/v1/x?a=1&b=%2F", Ok("/v1/x?a=1&b=%2F")),
        ("/public/%2e%2e/secret", Ok("/secret")),
        ("//public//../secret", Ok("/secret")),
        ("/a;jsessionid=1/b", Ok("/a/b")),
        ("?q=1", Err(Reason::MalformedRequest)),
        ("https://api.example.com?q=1", Ok("/?q=1")),
        ("https://api.example.com/x", Ok("/x")),
        ("https://api.example.com:443/x", Ok("/x")),
        ("https://api.example.com", Ok("/")),
        ("/..", Err(Reason::PathNotCanonical)),
        ("/a%00b", Err(Reason::PathNotCanonical)),
        ("/a%zz", Err(Reason::PathNotCanonical)),
        ("*", Err(Reason::MalformedRequest)),
        ("x", Err(Reason::MalformedRequest)),
    ];
    for (target, expected) in cases {
        let raw = format!("GET {target} HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
        assert_eq!(in_tunnel(&raw), expected.map(str::to_owned), "{target}");
    }
}

#[test]
fn domain_fronting_by_host_field_or_target_is_refused() {
    let cases: [(&str, Result<&str, Reason>); 12] = [
        ("GET / HTTP/1.1\r\nHost: API.example.com\r\n\r\n", Ok("/")),
        ("GET / HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n", Ok("/")),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", Err(Reason::AuthorityMismatch)),
        (
            "GET / HTTP/1.1\r\nHost: api.example.com:8443\r\n\r\n",
            Err(Reason::AuthorityMismatch),
        ),
        ("GET / HTTP/1.1\r\nHost: api.example.com.\r\n\r\n", Err(Reason::MalformedRequest)),
        (
            "GET / HTTP/1.1\r\nHost: user@api.example.com\r\n\r\n",
            Err(Reason::MalformedRequest),
        ),
        (
            "GET / HTTP/1.1\r\nHost: api.example.com\r\nHost: api.example.com\r\n\r\n",
            Err(Reason::MalformedRequest),
        ),
        ("GET / HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
        ("GET / HTTP/1.0\r\n\r\n", Ok("/")),
        (
            "GET https://evil.example/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
            Err(Reason::AuthorityMismatch),
        ),
        (
            "GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
            Err(Reason::AuthorityMismatch),
        ),
        (
            "GET https://api.example.com/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            Err(Reason::AuthorityMismatch),
        ),
    ];
    for (raw, expected) in cases {
        assert_eq!(in_tunnel(raw), expected.map(str::to_owned), "{raw:?}");
    }
}

#[test]
fn a_forward_request_names_its_origin_once() {
    let cases: [(&str, Result<&str, Reason>); 8] = [
        ("GET http://a.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n", Ok("a.example:80 /x")),
        (
            "GET http://A.example:8080?k=v HTTP/1.1\r\nHost: a.example:8080\r\n\r\n",
            Ok("a.example:8080 /?k=v"),
        ),
        ("GET HTTP://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", Ok("a.example:80 /")),
        (
            "GET http://a.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            Err(Reason::AuthorityMismatch),
        ),
        (
            "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            Err(Reason::MalformedRequest),
        ),
        (
            "GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            Err(Reason::MalformedRequest),
        ),
        ("GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n", Err(Reason::MalformedRequest)),
        (
            "GET http://user@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            Err(Reason::MalformedRequest),
        ),
    ];
    for (raw, expected) in cases {
        assert_eq!(forwarded(raw), expected.map(str::to_owned), "{raw:?}");
    }
}

#[test]
fn the_last_destination_is_reused_only_for_itself() {
    let last = Arc::new(Destination::new(Authority::parse("a.example:80", None).unwrap(), Security::Plain));
    let same = read(
        Scope::Forward(Some(&last)),
        "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
    )
    .unwrap();
    assert!(Arc::ptr_eq(&same.destination, &last));
    let other = read(
        Scope::Forward(Some(&last)),
        "GET http://b.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
    )
    .unwrap();
    assert_eq!(other.destination.authority().to_string(), "b.example:80");
    let mixed = read(
        Scope::Forward(Some(&last)),
        "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
    );
    assert_eq!(mixed.map(|_| ()), Err(Reason::AuthorityMismatch));
}

#[test]
fn request_smuggling_by_framing_is_refused() {
    let cases: [(&str, Result<&str, Reason>); 11] = [
        ("Content-Length: 5\r\n", Ok("/")),
        ("Transfer-Encoding: chunked\r\n", Ok("/")),
        ("Transfer-Encoding: Chunked\r\n", Ok("/")),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", Err(Reason::MalformedRequest)),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", Err(Reason::MalformedRequest)),
        ("Transfer-Encoding: gzip, chunked\r\n", Err(Reason::MalformedRequest)),
        ("Transfer-Encoding: chunked, chunked\r\n", Err(Reason::MalformedRequest)),
        ("Transfer-Encoding: chunked,\r\n", Err(Reason::MalformedRequest)),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            Err(Reason::MalformedRequest),
        ),
        ("X-A: 1\nX-B: 2\r\n", Err(Reason::MalformedRequest)),
        ("Transfer-Encoding: identity\r\n", Err(Reason::MalformedRequest)),
    ];
    for (fields, expected) in cases {
        let raw = format!("POST / HTTP/1.1\r\nHost: api.example.com\r\n{fields}\r\n");
        assert_eq!(in_tunnel(&raw), expected.map(str::to_owned), "{fields:?}");
    }
}

#[test]
fn upgrades_nominations_and_overrides_that_hide_something_are_refused() {
    let cases: [(&str, Result<&str, Reason>); 12] = [
        ("Connection: keep-alive, X-Guard\r\n", Ok("/")),
        ("Upgrade: websocket\r\nConnection: Upgrade\r\n", Ok("/")),
        ("Connection: host\r\n", Err(Reason::MalformedRequest)),
        ("Connection: Content-Length\r\n", Err(Reason::MalformedRequest)),
        ("Connection: transfer-encoding\r\n", Err(Reason::MalformedRequest)),
        ("Connection: a b\r\n", Err(Reason::MalformedRequest)),
        ("Upgrade: h2c\r\n", Err(Reason::H2cNotAllowed)),
        ("Upgrade: websocket, H2C\r\n", Err(Reason::H2cNotAllowed)),
        ("HTTP2-Settings: AAMAAABkAAQAAP__\r\n", Err(Reason::H2cNotAllowed)),
        ("X-HTTP-Method-Override: GET\r\n", Ok("/")),
        ("X-HTTP-Method-Override: DELETE\r\n", Err(Reason::MethodNotAllowed)),
        ("X-Method-Override: PUT\r\n", Err(Reason::MethodNotAllowed)),
    ];
    for (fields, expected) in cases {
        let raw = format!("GET / HTTP/1.1\r\nHost: api.example.com\r\n{fields}\r\n");
        assert_eq!(in_tunnel(&raw), expected.map(str::to_owned), "{fields:?}");
    }
}

#[test]
fn a_connect_within_a_tunnel_is_refused() {
    assert_eq!(
        in_tunnel("CONNECT evil.example:443 HTTP/1.1\r\nHost: api.example.com\r\n\r\n"),
        Err(Reason::NestedConnect)
    );
}

#[test]
fn a_header_section_over_its_limits_is_refused() {
    let many = "a: b\r\n".repeat(60);
    let raw = format!("GET / HTTP/1.1\r\nHost: api.example.com\r\n{many}\r\n");
    let mut limits = Limits {
        header_count: 61,
        ..Limits::default()
    };
    let mut request = RequestHeader::build("GET", b"/", None).unwrap();
    request.append_header("Host", "api.example.com").unwrap();
    for _ in 0..60 {
        request.append_header("a", "b").unwrap();
    }
    let tunnel = tunnel();
    let outcome = |limits: &Limits| {
        Head::read(Scope::Tunnel(&tunnel), &request, Some(raw.as_bytes()), limits)
            .map(|_| ())
            .map_err(|denial| denial.reason)
    };
    assert_eq!(outcome(&limits), Ok(()));
    limits.header_count = 60;
    assert_eq!(outcome(&limits), Err(Reason::HeadersTooLarge));
    limits = Limits {
        header_bytes: 100,
        ..Limits::default()
    };
    assert_eq!(outcome(&limits), Err(Reason::HeadersTooLarge));
}

#[test]
fn an_h2_head_is_held_to_the_tunnel() {
    let read = |uri: &str, host: Option<&str>| {
        let mut request = RequestHeader::build("GET", b"/", None).unwrap();
        request.set_uri(uri.parse().unwrap());
        request.set_version(Version::HTTP_2);
        if let Some(host) = host {
            request.append_header("host", host.to_owned()).unwrap();
        }
        let tunnel = tunnel();
        Head::read(Scope::Tunnel(&tunnel), &request, None, &Limits::default())
            .map(|head| head.origin_form())
            .map_err(|d| d.reason)
    };
    assert_eq!(read("https://api.example.com/x?y", None), Ok("/x?y".to_owned()));
    assert_eq!(read("https://api.example.com/x", Some("api.example.com")), Ok("/x".to_owned()));
    assert_eq!(read("https://evil.example/x", None), Err(Reason::AuthorityMismatch));
    assert_eq!(read("http://api.example.com/x", None), Err(Reason::AuthorityMismatch));
    assert_eq!(
        read("https://api.example.com/x", Some("evil.example")),
        Err(Reason::AuthorityMismatch)
    );
}

#[test]
fn a_signature_in_a_path_is_not_written_down() {
    let signature = "ab".repeat(65);
    let raw = format!("GET /paid/{signature}/x HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
    let head = read(Scope::Tunnel(&tunnel()), &raw).unwrap();
    assert_eq!(head.shown_path().as_deref(), Some("/paid/abababababab.../x"));
    let short = read(Scope::Tunnel(&tunnel()), "GET /v1/models HTTP/1.1\r\nHost: api.example.com\r\n\r\n").unwrap();
    assert_eq!(short.shown_path(), None);
}

#[test]
fn a_length_that_is_not_one_number_is_refused() {
    for (fields, expected) in [
        ("Content-Length: 5\r\n", Ok("/")),
        ("Content-Length: 5\r\nContent-Length: 5\r\n", Ok("/")),
        ("Content-Length: 5, 5\r\n", Err(Reason::MalformedRequest)),
        ("Content-Length: 5\r\nContent-Length: 5, 5\r\n", Err(Reason::MalformedRequest)),
        ("Content-Length: \r\n", Err(Reason::MalformedRequest)),
        ("Content-Length: 5 5\r\n", Err(Reason::MalformedRequest)),
        ("Content-Length: +5\r\n", Err(Reason::MalformedRequest)),
    ] {
        let raw = format!("POST / HTTP/1.1\r\nHost: api.example.com\r\n{fields}\r\n");
        assert_eq!(in_tunnel(&raw), expected.map(str::to_owned), "{fields:?}");
    }
}
