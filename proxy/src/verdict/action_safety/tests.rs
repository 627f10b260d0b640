#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::sample;
use super::*;
use crate::egress::Resolver;
use crate::egress::fetch::scripted::{ScriptedServer, Step};

const KEY: &str = "as-secret-key";

fn config(share_with: &str, access: &str) -> Result<ActionSafetyConfig, String> {
    let text = format!("share_with: \"{share_with}\"\n{access}\nenvironment: production\n");
    serde_yaml::from_str(&text).map_err(|error| error.to_string())
}

fn backend(service: &str) -> ActionSafety {
    let fetcher = Fetcher::new(Arc::default(), Arc::new(Resolver::new(HashMap::new(), Duration::from_secs(2))));
    let service: ServiceUrl = service.parse().unwrap();
    ActionSafety {
        fetcher,
        target: service.target(QUICK).unwrap(),
        service,
        access: Access {
            field: HeaderName::from_static("x-api-key"),
            value: HeaderValue::from_static(KEY),
        },
        environment: Some(Place::parse("production").unwrap()),
        limits: Limits {
            deadline: Duration::from_millis(500),
            max_response: MAX_ANSWER,
        },
    }
}

fn answered(status: &str, body: &str) -> Vec<Step> {
    vec![Step::send(format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ))]
}

fn opinion(hash: &str) -> Value {
    json!({ "status": "scored", "service": "action-safety-quick-gate", "actionBindingVersion": "hermes-action-v1", "actionHash": hash,
        "risk": "low", "requiresApproval": false, "matchedRuleIds": [], "nextRecommendedCall": null })
}

/// The hash of the line that [`sample::question`] becomes.
fn hash() -> String {
    let action = backend("http://127.0.0.1:1").action(&sample::question()).unwrap();
    action.hash().as_str().to_owned()
}

#[tokio::test]
async fn a_payment_is_told_as_one_line_without_secrets() {
    let server = ScriptedServer::plain(answered("200 OK", &opinion(&hash()).to_string())).await;
    let asked = backend(&format!("http://{}", server.address)).object(&sample::question()).await;
    assert_eq!(asked, Ok(Opinion::NoObjection));
    let requests = server.requests();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with(&format!("POST {QUICK} HTTP/1.1\r\n")) && head.contains(KEY),
        "{head}"
    );
    let body: Value = serde_json::from_str(body).unwrap();
    let line = "x402 pay scheme=exact network=eip155:8453 asset=0x833589fcd6edb6e08f4c7c32d4f71b54bda02913 amount=14000 \
                payTo=0x02c2fcafce36b4aadb39625866bc6b1699d83043 method=POST resource=https://api.example.com/v1/data";
    let expected = json!({ "command": line, "environment": "production", "actor": "egress-proxy", "failClosedOnUnmatched": true,
        "target": "eip155:8453/0x02c2fcafce36b4aadb39625866bc6b1699d83043" });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn no_opinion_is_not_no_objection() {
    let good = opinion(&hash()).to_string();
    let other = opinion(&"0".repeat(64)).to_string();
    for (name, script, expected) in [
        (
            "an answer about another action",
            answered("200 OK", &other),
            Failure::Unacceptable(Unacceptable::Opinion),
        ),
        ("a page", answered("200 OK", "<html>"), Failure::NotJson),
        ("401", answered("401 Unauthorized", &good), Failure::Status(401)),
        ("403", answered("403 Forbidden", &good), Failure::Status(403)),
        ("402", answered("402 Payment Required", &good), Failure::PaymentDemanded),
        ("429", answered("429 Too Many Requests", &good), Failure::RateLimited),
        ("500", answered("500 Internal Server Error", &good), Failure::Status(500)),
        ("a redirect", answered("307 Temporary Redirect", &good), Failure::Status(307)),
        ("silence", vec![Step::Linger], Failure::TimedOut),
    ] {
        let server = ScriptedServer::plain(script).await;
        let asked = backend(&format!("http://{}", server.address)).object(&sample::question()).await;
        assert_eq!(asked, Err(expected), "{name}");
    }
}

#[tokio::test]
async fn a_payment_that_is_longer_than_can_be_told_is_not_told() {
    let server = ScriptedServer::plain(answered("200 OK", &opinion(&hash()).to_string())).await;
    let mut question = sample::question();
    question.resource.path = format!("/{}", "x".repeat(2000));
    let asked = backend(&format!("http://{}", server.address)).object(&question).await;
    assert_eq!(asked, Err(Failure::Unacceptable(Unacceptable::Question)));
    assert!(server.requests().is_empty());
}

#[test]
fn only_the_published_origin_or_loopback_may_be_told() {
    let key = "api_key_from_env: KEY";
    for (share_with, access, expected) in [
        ("https://hermesplant.com", key, Ok(())),
        ("https://hermesplant.com:443", "bearer_from_env: KEY", Ok(())),
        ("http://127.0.0.1:8080", key, Ok(())),
        ("http://hermesplant.com", key, Err(ActionSafetyError::Origin)),
        ("https://hermesplant.com:8443", key, Err(ActionSafetyError::Origin)),
        ("https://hermesplant.com.evil.example", key, Err(ActionSafetyError::Origin)),
        ("https://hermesplant.com/base", key, Err(ActionSafetyError::Origin)),
        ("https://evil.example", key, Err(ActionSafetyError::Origin)),
        ("https://hermesplant.com", "", Err(ActionSafetyError::Access)),
        (
            "https://hermesplant.com",
            "api_key_from_env: A\nbearer_from_env: B",
            Err(ActionSafetyError::Access),
        ),
    ] {
        let config = config(share_with, access).unwrap();
        assert_eq!(config.validate(), expected, "{share_with} {access}");
    }
    assert!(
        config("https://hermesplant.com", "api_key: as-secret-key").is_err(),
        "a key in the file"
    );
}

#[test]
fn the_key_is_never_printed() {
    let shown = format!("{:?}", backend("http://127.0.0.1:1"));
    assert!(!shown.contains(KEY), "{shown}");
}
