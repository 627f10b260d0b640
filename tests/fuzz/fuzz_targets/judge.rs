//! The whole local check, from the wire to the claim: what passes moves exactly the money of a payment that its wallet has signed.
//!
//! The captured payments are all that was ever signed, and nobody forges a signature by chance. So a claim about any other payee, amount,
//! token, payer, nonce or time is a hole. The first byte says how the payment travels, the rest is the payment or the body.

#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use tollgate::gate::payment::{ChallengeMemory, PaymentRequest, Terms, UrlScheme, judge_carried, judge_header};
use tollgate::gate::rail::{Rails, RailsConfig};
use tollgate::x402::Claim;
use tollgate::x402::carriers::Carrier;
use tollgate::x402::claim::NonceHash;
use tollgate::x402::detect;
use tollgate_policy::Authority;

/// Captured from real clients: the method, the path and the payment.
const CAPTURED: [&str; 6] = [
    include_str!("../../../proxy/testdata/x402/v1-exact-evm-eip3009-py-requests.json"),
    include_str!("../../../proxy/testdata/x402/v2-exact-evm-eip3009-js-fetch.json"),
    include_str!("../../../proxy/testdata/x402/v2-payment-identifier-py.json"),
    include_str!("../../../proxy/testdata/x402/v2-exact-evm-permit2-js.json"),
    include_str!("../../../proxy/testdata/x402/v2-upto-evm-permit2-py.json"),
    include_str!("../../../proxy/testdata/x402/mcp-v2-exact-evm-py.json"),
];

/// What the money is, without the parts that nobody signs.
type Money = (String, String, String, String, u64, u64);

fn money(claim: &Claim) -> Money {
    (
        format!("{}/{}", claim.asset.network, claim.asset.address),
        claim.amount.to_string(),
        claim.payee.to_string(),
        claim.payer.to_string(),
        claim.valid_after,
        claim.valid_before,
    )
}

struct Desk {
    rails: Rails,
    terms: Terms,
    challenges: ChallengeMemory,
}

static DESK: LazyLock<Desk> = LazyLock::new(|| {
    let config = json!({
        "networks": ["eip155:84532"], "assets": ["eip155:84532/0x036CbD53842c5426634e7929541eC2318f3dCF7e"],
        "schemes": ["exact", "exact-permit2", "upto"], "require_challenge": false,
    });
    Desk {
        rails: Rails::new(&RailsConfig::default()).expect("the built-in list"),
        terms: Terms::operator(&serde_json::from_value(config).expect("a section")).expect("terms"),
        challenges: ChallengeMemory::default(),
    }
});

/// Everything that was signed, by its nonce.
static SIGNED: LazyLock<BTreeMap<NonceHash, Money>> = LazyLock::new(|| {
    let claims = CAPTURED.iter().map(|text| {
        let captured: Value = serde_json::from_str(text).expect("a vector");
        let request = &captured["exchanges"].as_array().expect("exchanges").last().expect("one")["request"];
        let header = |wanted: &str| {
            let pairs = request["headers"].as_array().expect("headers").iter();
            let mut named = pairs.filter(|pair| pair[0].as_str().is_some_and(|name| name.eq_ignore_ascii_case(wanted)));
            named.next().and_then(|pair| pair[1].as_str())
        };
        let authority = header("host").expect("a host");
        let paid = ["x-payment", "payment-signature"].into_iter().zip([Way::V1, Way::V2]);
        let paid = paid.filter_map(|(name, way)| header(name).map(|value| (way, value))).next();
        let (way, bytes) = match paid {
            Some((way, value)) => (way, BASE64_STANDARD.decode(value).expect("base64")),
            None => (Way::Body, request["body"].as_str().expect("a body").into()),
        };
        let path = request["start_line"]
            .as_str()
            .and_then(|line| line.split(' ').nth(1))
            .expect("a path");
        let claim = way
            .judge(&bytes, authority, path)
            .unwrap_or_else(|| panic!("{authority}{path} no longer passes"));
        (claim.nonce_hash, money(&claim))
    });
    claims.collect()
});

#[derive(Clone, Copy)]
enum Way {
    V1,
    V2,
    Body,
}

impl Way {
    fn judge(self, bytes: &[u8], authority: &str, target: &str) -> Option<Claim> {
        let authority = Authority::parse(authority, Some(80)).ok()?;
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let mut request = PaymentRequest {
            method: "GET",
            scheme: UrlScheme::Http,
            authority: &authority,
            path,
            query,
            carrier: Carrier::Head,
        };
        let document: Value = serde_json::from_slice(bytes).ok()?;
        let payment = if matches!(self, Way::Body) {
            &document["params"]["_meta"]["x402/payment"]
        } else {
            &document
        };
        let payload = &payment["payload"];
        let before = [
            &payload["authorization"]["validBefore"],
            &payload["permit2Authorization"]["deadline"],
        ];
        let before: u64 = before.into_iter().find_map(Value::as_str)?.parse().ok()?;
        let now = before.saturating_sub(60);
        let name = match self {
            Way::V1 => "x-payment",
            Way::V2 => "payment-signature",
            Way::Body => {
                let carried = DESK.rails.in_body(path, bytes).ok()??;
                assert_eq!(
                    bytes.get(carried.at.clone()),
                    Some(carried.payment.as_bytes()),
                    "what is judged is what leaves"
                );
                request.method = "POST";
                let request = request.carrying(carried.call.carrier());
                return judge_carried(&carried, &request, &DESK.terms, &DESK.challenges, now).ok();
            }
        };
        let value = HeaderValue::try_from(BASE64_STANDARD.encode(bytes)).ok()?;
        let headers = HeaderMap::from_iter([(name.parse().expect("a name"), value)]);
        judge_header(detect::find(&headers), &request, &DESK.terms, now).ok()?
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((way, bytes)) = input.split_first() else { return };
    let way = [Way::V1, Way::V2, Way::Body][usize::from(*way) % 3];
    // The request is the one that the payment says it is for, so that the resource is not what it fails by.
    let document: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let url = document["resource"]["url"].as_str().unwrap_or("http://127.0.0.1:80/mcp");
    let Some((authority, path)) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')) else {
        return;
    };
    if let Some(claim) = way.judge(bytes, authority, &format!("/{path}")) {
        assert_eq!(SIGNED.get(&claim.nonce_hash), Some(&money(&claim)), "nobody has signed this");
    }
});
