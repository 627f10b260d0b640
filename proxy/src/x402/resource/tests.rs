#![allow(clippy::unwrap_used)]
use super::*;

fn names(url: &str, http: HttpResource) -> bool {
    let authority = Authority::parse("api.seller.test:443", None).unwrap();
    let request = PaymentRequest {
        method: "GET",
        scheme: UrlScheme::Https,
        authority: &authority,
        path: "/paid/a%20b",
        query: Some("x=1"),
        carrier: Carrier::Head,
    };
    ResourceUrl::parse(url).is_some_and(|url| url.names(&request, http))
}

#[test]
fn a_go_for_one_resource_never_pays_another() {
    for url in [
        "https://api.seller.test/paid/a%20b",
        "https://API.seller.test:443/paid/a%20b?x=1",
        "https://api.seller.test/p%61id/a%20b",
    ] {
        assert!(names(url, HttpResource::Refused), "{url}");
    }
    for url in [
        "https://evil.example/paid/a%20b",
        "https://api.seller.test/other",
        "https://api.seller.test:8443/paid/a%20b",
        "http://api.seller.test/paid/a%20b",
        "https://api.seller.test/paid/a%20b?x=2",
        "https://api.seller.test/paid/a%20b?",
        "https://api.seller.test/paid%2Fa%20b",
        "https://api.seller.test/paid/a%20b/",
        "https://api.seller.test//paid/a%20b",
        "https://api.seller.test/x/../paid/a%20b",
        "https://api.seller.test/paid/a%20b#frag",
        "https://api.seller.test@evil.example/paid/a%20b",
        "https://u:p@api.seller.test/paid/a%20b",
        "https://api.seller.test\\@evil.example/paid/a%20b",
        "https://api.seller.test/paid/a b",
        "HTTPS://api.seller.test/paid/a%20b",
        "//api.seller.test/paid/a%20b",
        "/paid/a%20b",
        "mcp://tool/weather",
        "",
    ] {
        assert!(!names(url, HttpResource::Refused), "{url}");
    }
}

#[test]
fn http_stands_for_https_only_by_explicit_rule_and_never_for_another_port() {
    assert!(names("http://api.seller.test/paid/a%20b", HttpResource::Allowed));
    assert!(names("http://api.seller.test:443/paid/a%20b", HttpResource::Allowed));
    assert!(!names("http://api.seller.test:80/paid/a%20b", HttpResource::Allowed));
    assert!(!names("http://evil.example/paid/a%20b", HttpResource::Allowed));
}

#[test]
fn a_request_hash_sees_method_query_and_where_parts_end() {
    let authority = Authority::parse("a.test:443", None).unwrap();
    let request = |method, path, query| {
        PaymentRequest {
            method,
            scheme: UrlScheme::Https,
            authority: &authority,
            path,
            query,
            carrier: Carrier::Head,
        }
        .hash()
    };
    let base = request("GET", "/p", None);
    assert_eq!(base, request("GET", "/p", None));
    for other in [
        request("POST", "/p", None),
        request("GET", "/p", Some("")),
        request("GET", "/", Some("p")),
        request("GE", "T/p", None),
    ] {
        assert_ne!(base, other);
    }
}
