#![allow(clippy::unwrap_used)]
use std::sync::Arc;

use tollgate_policy::{Authority, CanonicalPath, EncodedSlash};

use super::*;
use crate::egress::{Destination, Security};

fn head(path: &str, query: Option<&str>) -> Head {
    let authority = Authority::parse("api.example.com:8443", None).unwrap();
    Head {
        destination: Arc::new(Destination::new(authority, Security::Tls)),
        method: Method::POST,
        path: CanonicalPath::parse(path, EncodedSlash::Keep).unwrap(),
        query: query.map(Into::into),
    }
}

fn h1(fields: &[(&'static str, &str)]) -> RequestHeader {
    let mut request = RequestHeader::build("POST", b"/x?y=1", None).unwrap();
    request.append_header("Host", "API.example.com:8443").unwrap();
    for (name, value) in fields {
        request.append_header(*name, (*value).to_owned()).unwrap();
    }
    request
}

fn h2(fields: &[(&'static str, &str)]) -> RequestHeader {
    let mut request = RequestHeader::build("POST", b"/", None).unwrap();
    request.set_uri("https://api.example.com:8443/x?y=1".parse().unwrap());
    request.set_version(Version::HTTP_2);
    for (name, value) in fields {
        request.append_header(*name, (*value).to_owned()).unwrap();
    }
    request
}

fn field<'h>(head: &'h RequestHeader, name: &str) -> Vec<&'h str> {
    head.headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect()
}

#[test]
fn every_pairing_of_protocols_has_one_authority_one_target_and_one_framing() {
    let known = Framing::Known(3);
    for (request, protocol) in [
        (h1(&[("Content-Length", "3")]), OriginProtocol::Http1),
        (h1(&[("Transfer-Encoding", "chunked")]), OriginProtocol::Http1),
        (h2(&[]), OriginProtocol::Http1),
    ] {
        let out = outbound(&request, &head("/x", Some("y=1")), known, protocol).unwrap();
        assert_eq!(field(&out, "host"), ["api.example.com:8443"]);
        assert_eq!(field(&out, "content-length"), ["3"]);
        assert!(field(&out, "transfer-encoding").is_empty());
        assert_eq!((out.raw_path(), out.version), (&b"/x?y=1"[..], Version::HTTP_11));
    }
    for request in [
        h1(&[("Content-Length", "3")]),
        h1(&[("Transfer-Encoding", "chunked")]),
        h2(&[("content-length", "3")]),
    ] {
        let out = outbound(&request, &head("/x", Some("y=1")), known, OriginProtocol::Http2).unwrap();
        assert!(field(&out, "host").is_empty());
        assert!(field(&out, "transfer-encoding").is_empty());
        assert_eq!(field(&out, "content-length"), ["3"]);
        assert_eq!(
            (out.uri.to_string().as_str(), out.version),
            ("https://api.example.com:8443/x?y=1", Version::HTTP_2)
        );
    }
}

#[test]
fn a_relayed_body_keeps_its_length_or_is_chunked() {
    let chunked = outbound(&h2(&[]), &head("/x", None), Framing::Relayed, OriginProtocol::Http1).unwrap();
    assert_eq!(field(&chunked, "transfer-encoding"), ["chunked"]);
    let length = outbound(
        &h1(&[("Content-Length", "9")]),
        &head("/x", None),
        Framing::Relayed,
        OriginProtocol::Http1,
    )
    .unwrap();
    assert_eq!(
        (field(&length, "content-length"), field(&length, "transfer-encoding")),
        (vec!["9"], vec![])
    );
    let h2_out = outbound(
        &h1(&[("Transfer-Encoding", "chunked")]),
        &head("/x", None),
        Framing::Relayed,
        OriginProtocol::Http2,
    )
    .unwrap();
    assert!(field(&h2_out, "transfer-encoding").is_empty());
}

#[test]
fn what_is_for_this_hop_or_rewrites_the_target_never_leaves() {
    let request = h1(&[
        ("Connection", "keep-alive, X-Guard"),
        ("X-Guard", "1"),
        ("Keep-Alive", "timeout=5"),
        ("Proxy-Authorization", "Basic c2VjcmV0"),
        ("Proxy-Connection", "keep-alive"),
        ("Expect", "100-continue"),
        ("Upgrade", "foo/2"),
        ("TE", "trailers"),
        ("Trailer", "PAYMENT-SIGNATURE"),
        ("X-Forwarded-Host", "evil.example"),
        ("X-Original-URL", "/admin"),
        ("Forwarded", "host=evil.example"),
        ("X-Forwarded-Prefix", "/admin"),
        ("X-Visible", "1"),
    ]);
    for protocol in [OriginProtocol::Http1, OriginProtocol::Http2] {
        let out = outbound(&request, &head("/x", None), Framing::Known(0), protocol).unwrap();
        let left: Vec<&str> = out
            .headers
            .keys()
            .map(HeaderName::as_str)
            .filter(|n| !matches!(*n, "host" | "te" | "connection"))
            .collect();
        assert_eq!(left, ["x-visible"]);
    }
    let to_h2 = outbound(&request, &head("/x", None), Framing::Known(0), OriginProtocol::Http2).unwrap();
    assert_eq!(field(&to_h2, "te"), ["trailers"]); // gRPC needs it
    assert!(field(&to_h2, "connection").is_empty());
    let to_h1 = outbound(&request, &head("/x", None), Framing::Known(0), OriginProtocol::Http1).unwrap();
    assert_eq!((field(&to_h1, "te"), field(&to_h1, "connection")), (vec!["trailers"], vec!["TE"]));
}

#[test]
fn only_trailers_that_may_come_are_announced() {
    let request = h1(&[
        ("Transfer-Encoding", "chunked"),
        ("Trailer", "X-Sum, Host"),
        ("Trailer", "Authorization,x-other"),
    ]);
    for (framing, expected) in [(Framing::Relayed, &["x-sum, x-other"][..]), (Framing::Known(2), &[])] {
        let out = outbound(&request, &head("/x", None), framing, OriginProtocol::Http1).unwrap();
        assert_eq!(field(&out, "trailer"), expected, "{framing:?}");
    }
    for (asked, expected) in [("gzip, Trailers;q=1", 0), ("deflate, trailers", 1), ("trailersx", 0)] {
        let out = outbound(&h1(&[("TE", asked)]), &head("/x", None), Framing::Known(0), OriginProtocol::Http1).unwrap();
        assert_eq!(field(&out, "te").len(), expected, "{asked}");
    }
}

#[test]
fn cookie_crumbs_of_h2_are_one_field_on_h1() {
    let request = h2(&[("cookie", "a=1"), ("cookie", "b=2")]);
    let out = outbound(&request, &head("/x", None), Framing::Known(0), OriginProtocol::Http1).unwrap();
    assert_eq!(field(&out, "cookie"), ["a=1; b=2"]);
}

#[test]
fn the_canonical_path_is_what_leaves() {
    let mut request = h1(&[]);
    request.set_raw_path(b"//x/%2e%2e/secret?y=1").unwrap();
    let out = outbound(
        &request,
        &head("//x/%2e%2e/secret", Some("y=1")),
        Framing::Known(0),
        OriginProtocol::Http1,
    )
    .unwrap();
    assert_eq!(out.raw_path(), b"/secret?y=1");
}

#[test]
fn a_websocket_upgrade_is_written_by_us() {
    let mut request = h1(&[
        ("Connection", "Upgrade"),
        ("Upgrade", "WebSocket"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]);
    request.set_method(Method::GET);
    let out = outbound(&request, &head("/x", None), Framing::Known(0), OriginProtocol::Http1).unwrap();
    assert_eq!(
        (field(&out, "connection"), field(&out, "upgrade")),
        (vec!["Upgrade"], vec!["websocket"])
    );
}

#[test]
fn a_relayed_length_is_one_number_in_one_field() {
    for fields in [
        &[("Content-Length", "9")][..],
        &[("Content-Length", "9"), ("Content-Length", "9")],
        &[("Content-Length", "09")],
        &[("Content-Length", "0009"), ("Content-Length", "9")],
    ] {
        for protocol in [OriginProtocol::Http1, OriginProtocol::Http2] {
            let out = outbound(&h1(fields), &head("/x", None), Framing::Relayed, protocol).unwrap();
            assert_eq!(field(&out, "content-length"), ["9"], "{fields:?}");
        }
    }
    let none = outbound(
        &h1(&[("Content-Length", "0")]),
        &head("/x", None),
        Framing::Relayed,
        OriginProtocol::Http1,
    )
    .unwrap();
    assert_eq!(field(&none, "content-length"), ["0"]);
}
