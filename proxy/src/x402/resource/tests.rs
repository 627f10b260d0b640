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

#[test]
fn a_tool_is_paid_only_by_a_call_of_it_and_bound_to_its_host() {
    let (here, there) = (
        Authority::parse("a.test:443", None).unwrap(),
        Authority::parse("b.test:443", None).unwrap(),
    );
    let request = |authority, path, carrier| {
        let head = PaymentRequest {
            method: "GET",
            scheme: UrlScheme::Https,
            authority,
            path,
            query: None,
            carrier: Carrier::Head,
        };
        head.carrying(carrier)
    };
    let names =
        |url: &str, carrier| ResourceUrl::parse(url).is_some_and(|url| url.names(&request(&here, "/mcp", carrier), HttpResource::Refused));
    assert!(names("mcp://tool/weather", Carrier::Tool("weather")));
    assert!(names("https://a.test/mcp", Carrier::Tool("weather")), "the endpoint itself");
    for (url, carrier) in [
        ("mcp://tool/weather", Carrier::Tool("Weather")),
        ("mcp://tool/weather", Carrier::Head),
        ("mcp://tool/weather", Carrier::Prompt("weather")),
        ("mcp://tool/weather", Carrier::Reading("weather")),
        ("mcp://tool/weather", Carrier::Task(Some("weather"))),
        ("mcp://tool/", Carrier::Tool("")),
        ("mcp://tool/weather?x=1", Carrier::Tool("weather")),
        ("mcp://tool/we%61ther", Carrier::Tool("weather")),
        ("mcp://resource/weather", Carrier::Tool("weather")),
        ("https://a.test/other", Carrier::Tool("weather")),
        ("https://b.test/mcp", Carrier::Task(None)),
    ] {
        assert!(!names(url, carrier), "{url} {carrier:?}");
    }
    let hash = |authority, path, carrier| request(authority, path, carrier).hash();
    let base = hash(&here, "/mcp", Carrier::Tool("weather"));
    assert_eq!(
        base,
        hash(&here, "/messages", Carrier::Tool("weather")),
        "an answer may come by another path"
    );
    for other in [
        hash(&there, "/mcp", Carrier::Tool("weather")),
        hash(&here, "/mcp", Carrier::Tool("forecast")),
        hash(&here, "/mcp", Carrier::Prompt("weather")),
        hash(&here, "/mcp", Carrier::Task(Some("weather"))),
        hash(&here, "/mcp", Carrier::Head),
    ] {
        assert_ne!(base, other);
    }
    let tool = request(&here, "/mcp", Carrier::Tool("weather")).resource();
    assert_eq!(
        (tool.to_string(), request(&here, "/a", Carrier::Task(None)).resource().to_string()),
        ("mcp://tool/weather".into(), "https://a.test/a".into())
    );
}
