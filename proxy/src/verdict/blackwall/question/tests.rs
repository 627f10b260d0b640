#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use serde_json::{Value, json};
use tollgate_policy::Authority;

use super::super::super::sample;
use super::*;

fn told(question: &Question, agent_id: Option<&str>) -> Value {
    let agent_id = agent_id.map(|text| AgentId::parse(text).unwrap());
    serde_json::from_slice(&body(question, agent_id.as_ref())).unwrap()
}

#[test]
fn a_claim_is_told_member_by_member() {
    assert_eq!(
        told(&sample::question(), Some("did:example:agent-1")),
        json!({
            "counterparty": "0x02c2fcafce36b4aadb39625866bc6b1699d83043",
            "amount": "0.014",
            "asset": "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913",
            "chain": "base",
            "resource": "https://api.example.com/v1/data",
            "payer": "0x96d7edc78253c83ffa9dfd7e2fd538e7daa9be56",
            "agent_id": "did:example:agent-1",
        })
    );
    assert!(told(&sample::question(), None).get("agent_id").is_none());
}

/// Hashes and validity belong to the authorisation; together with a signature they could be settled.
#[test]
fn nothing_of_the_authorisation_is_told() {
    let text = String::from_utf8(body(&sample::question(), None).to_vec()).unwrap();
    for secret in [
        "signature",
        "payment_authorization",
        "nonce",
        "valid",
        "hash",
        "2000000000",
        &"aa".repeat(32),
        &"bb".repeat(32),
        &"cc".repeat(32),
    ] {
        assert!(!text.contains(secret), "{secret}");
    }
}

/// Attack: a key in the query, fragment or user information of the URL would leave the host with the question.
#[test]
fn secrets_in_a_url_stay_here() {
    let mut claim = sample::question();
    claim.resource.path = "/v1/data?key=canary#canary".into();
    assert_eq!(told(&claim, None)["resource"], "https://api.example.com/v1/data");
    claim.resource.path = "/v1/data#canary?canary".into();
    assert_eq!(told(&claim, None)["resource"], "https://api.example.com/v1/data");
}

#[test]
fn resources_are_told_whole_or_not_at_all() {
    let mut claim = sample::question();
    claim.resource.authority = Authority::parse("api.example.com:8443", None).unwrap();
    assert_eq!(told(&claim, None)["resource"], "https://api.example.com:8443/v1/data");
    let origin = "https://api.example.com:8443".len();
    claim.resource.path = format!("/{}", "x".repeat(2047 - origin));
    assert_eq!(told(&claim, None)["resource"].as_str().unwrap().len(), 2048);
    claim.resource.path.push('x');
    assert!(told(&claim, None).get("resource").is_none());
}

#[test]
fn chains_are_told_by_the_name_the_service_knows() {
    for (chain_id, name) in [(8453, "base"), (84532, "base-sepolia"), (1, "eip155:1"), (137, "eip155:137")] {
        let mut claim = sample::question();
        claim.asset.network = Caip2::Eip155 { chain_id };
        assert_eq!(told(&claim, None)["chain"], name);
    }
}

#[test]
fn amounts_are_told_in_the_assets_own_units() {
    for (atomic, decimals, expected) in [
        ("14000", 6, "0.014"),
        ("10000001", 6, "10.000001"),
        ("1", 18, "0.000000000000000001"),
        ("7", 0, "7"),
    ] {
        let mut claim = sample::question();
        claim.amount = sample::amount(atomic);
        claim.asset.decimals = decimals;
        assert_eq!(told(&claim, None)["amount"], expected, "{atomic} with {decimals} decimals");
    }
}

#[test]
fn agent_ids_are_one_plain_word() {
    for good in ["a", "did:example:agent-1", &"x".repeat(128)] {
        assert!(AgentId::parse(good).is_some(), "{good}");
    }
    for bad in ["", "two words", "new\nline", "\u{e4}", "quote\"", &"x".repeat(129)] {
        assert!(AgentId::parse(bad).is_none(), "{bad}");
    }
}
