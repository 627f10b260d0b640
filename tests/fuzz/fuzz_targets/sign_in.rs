//! Wallet sign-ins and the URLs of resources: what is taken for this site's, a browser's URL parser takes for this site's, too.

#![no_main]

use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tollgate::x402::carriers::Carrier;
use tollgate::x402::resource::{HttpResource, PaymentRequest, ResourceUrl, UrlScheme};
use tollgate::x402::sign_in;
use tollgate_policy::Authority;
use url::Url;

static SHOP: LazyLock<Authority> = LazyLock::new(|| Authority::parse("shop.example.test", Some(443)).expect("an authority"));

fn is_the_shop(url: &Url) -> bool {
    let origin = (url.scheme(), url.host_str(), url.port_or_known_default());
    origin == ("https", Some("shop.example.test"), Some(443)) && url.username().is_empty() && url.password().is_none()
}

fuzz_target!(|bytes: &[u8]| {
    let request = PaymentRequest {
        method: "GET",
        scheme: UrlScheme::Https,
        authority: &SHOP,
        path: "/paid",
        query: Some("item=1"),
        carrier: Carrier::Head,
    };
    let _ = sign_in::check(bytes, &request);
    if sign_in::check(BASE64_STANDARD.encode(bytes).as_bytes(), &request).is_ok() {
        let document: Value = serde_json::from_slice(bytes).expect("what is taken strictly every reader takes");
        let uri = Url::parse(document["uri"].as_str().expect("a text")).expect("a URL");
        assert!(is_the_shop(&uri), "{uri}");
        let domain = document["domain"].as_str().expect("a text");
        assert!(is_the_shop(&Url::parse(&format!("https://{domain}/")).expect("a URL")), "{domain}");
        assert!(document["signature"].is_string());
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Some(resource) = ResourceUrl::parse(text)
        && resource.names(&request, HttpResource::Refused)
    {
        let url = Url::parse(text).expect("a URL");
        assert!(is_the_shop(&url), "{url}");
        let path: Vec<u8> = url
            .path()
            .replace("%70", "p")
            .replace("%61", "a")
            .replace("%69", "i")
            .replace("%64", "d")
            .into();
        assert_eq!(path, b"/paid", "{url}");
        assert!(url.query().is_none_or(|query| query == "item=1"), "{url}");
    }
});
