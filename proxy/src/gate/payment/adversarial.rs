//! Every row of the adversarial collection that concerns headers, bodies and names: the outcome and the reason.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};
use tollgate_policy::{Authority, Host, Reason};

use super::judge::{SignerCheck, judge_carried_with, judge_with};
use super::vectors::{Parts, headers, load, text};
use super::{Terms, UrlScheme};
use crate::gate::rail::{Rails, RailsConfig};
use crate::x402::claim::Claim;
use crate::x402::detect::{Found, find, find_in_target};
use crate::x402::eip712::SigningDomains;
use crate::x402::scheme::{Signed, Signer};

/// The rows' signatures are dummies.
struct TakenAsSigned;

impl SignerCheck for TakenAsSigned {
    fn signer(&self, _: &dyn Signed, _: &SigningDomains) -> Signer {
        Signer::Payer
    }
}

/// The dummies' `v` is none that a wallet makes; it has to be for the row's own point to be reached.
fn with_wellformed_signature(text: &str) -> String {
    text.replace(&format!("0x{}", "11".repeat(65)), &format!("0x{}1b", "11".repeat(64)))
}

fn with_wellformed_signatures(map: &HeaderMap) -> HeaderMap {
    map.iter()
        .map(|(name, value)| {
            let text = STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let value = text.filter(|text| text.contains("0x1111")).map_or_else(
                || value.clone(),
                |text| HeaderValue::from_str(&STANDARD.encode(with_wellformed_signature(&text))).unwrap(),
            );
            (name.clone(), value)
        })
        .collect()
}

/// What is not about headers, bodies or names, or needs state: other rooms test it.
const ELSEWHERE: [&str; 13] = [
    "v1 baseline without remembered challenge",
    "obs-fold",
    "same nonce again after GO",
    "SNI differs from CONNECT authority",
    "Host differs from SNI/authority",
    "absolute-form target differs from Host",
    "CONNECT tunnel carrying plain HTTP",
    "CONNECT tunnel carrying SSH/other bytes",
    "WebSocket upgrade",
    "h2c upgrade",
    "CONNECT [::ffff:127.0.0.1]",
    "CONNECT api.seller.test.evil.test",
    "CONNECT api.seller.test:0443",
];

/// Rows whose right outcome elsewhere is a verdict; here they are recognised, and refused until they are switched on.
const NOT_SUPPORTED_YET: [&str; 2] = ["permit2 exact", "upto: judged at the ceiling"];

fn expected_reason(name: &str) -> Option<Reason> {
    use Reason as R;
    let malformed = [
        "underscore name",
        "payment header in trailer",
        "payment header nominated in Connection",
        "no padding",
        "base64url",
        "space inside base64",
        "tab inside base64",
        "dash inside base64",
        "dot inside base64",
        "bytes after padding",
        "non-zero trailing bits",
        "double base64",
        "quoted base64",
        "empty value",
        "UTF-16",
        "invalid UTF-8",
        "trailing garbage",
        "dup key authorization.to",
        "case-variant key To",
        "case-variant key ACCEPTED",
        "array at top",
        "NaN number",
        "x402Version \"2\"",
        "x402Version 2.0",
        "x402Version 3",
        "x402Version null",
        "x402Version 2e0",
        "x402Version missing",
        "value as JSON number",
        "value > 2^53 as number",
        "2^256",
        "bad EIP-55 checksum",
        "zero address",
        "signature missing",
        "query string",
        "cookie",
        "authorization bearer wrapper",
        "MCP batch array with one paid call",
        "MCP payment with text/plain",
    ];
    let scheme = [
        "erc7710 delegation",
        "permit2 with attacker spender",
        "permit2 token differs from asset",
        "MaxUint approval in extensions",
        "signed raw tx in extensions",
        "auth-capture",
        "solana opaque",
        "payload base64 inside a JSON string",
        "multipart form field",
    ];
    let pays = [
        "AP2 PaymentMandate",
        "MPP in JSON-RPC root _meta",
        "MPP credential",
        "MPP credential lower-case scheme",
        "L402",
        "cashu",
        "cloudflare pay per crawl",
        "BSV BRC-105",
    ];
    Some(match name {
        _ if malformed.contains(&name) => R::PaymentMalformed,
        _ if scheme.contains(&name) || NOT_SUPPORTED_YET.contains(&name) => R::PaymentSchemeNotAllowed,
        _ if pays.contains(&name) => R::RailPaymentScheme,
        _ if name.starts_with("authorization.value '") || name.starts_with("to spelled ") || name.starts_with("v2 network '") => {
            R::PaymentMalformed
        }
        _ if name.starts_with("v1 network '") => R::PaymentNetworkNotAllowed,
        _ if name.starts_with("scheme '") => R::PaymentSchemeNotAllowed,
        _ if name.starts_with("JSON-RPC ") => R::RailBroadcast,
        "duplicate identical header" | "duplicate header, cheap then dear" | "v1 and v2 headers together" | "comma-joined values" => {
            R::PaymentConflicting
        }
        "1 MiB value" => R::PaymentTooLarge,
        "v2 payload in X-PAYMENT"
        | "accepted.payTo differs from signed to"
        | "resource.url other host"
        | "resource.url other path"
        | "resource.url http vs https" => R::PaymentMismatch,
        "unknown asset on known chain" | "USDC of another chain" => R::PaymentAssetNotAllowed,
        "far-future validBefore" | "validBefore one day out" | "validBefore already past" | "validAfter in the future" => R::PaymentExpired,
        "facilitator body to an allowed host" => R::RailFacilitatorCall,
        "CONNECT X402.ORG" | "CONNECT x402.org:443" | "CONNECT x402.org:8443" => R::RailDestination,
        // Not canonical: refused while the authority is parsed, before any rule.
        _ if name.starts_with("CONNECT ") => R::MalformedRequest,
        _ => return None,
    })
}

fn outcome(row: &Value, now: u64, terms: &Terms, rails: &Rails) -> Result<Option<Claim>, Reason> {
    let (method, target) = (text(row, "/method"), text(row, "/target"));
    if method == "CONNECT" {
        let authority = Authority::parse(target, None).map_err(|_| Reason::MalformedRequest)?;
        return rails
            .destination(&authority.host, authority.port)
            .map_or(Ok(None), |hit| Err(hit.reason));
    }
    let parts = Parts::new(method, UrlScheme::Https, text(row, "/authority"), target);
    let mut map = with_wellformed_signatures(&row.get("headers").and_then(headers).unwrap_or_default());
    if text(row, "/name") == "1 MiB value" {
        map.insert("payment-signature", HeaderValue::from_str(&"A".repeat(1 << 20)).unwrap());
    }
    let rail = rails
        .destination(&parts.authority.host, parts.authority.port)
        .or_else(|| rails.scheme(&map))
        .or_else(|| rails.target(method, &parts.path, &parts.authority.host));
    if let Some(hit) = rail {
        return Err(hit.reason);
    }
    if let Some(refusal) = find_in_target(target) {
        return Err(refusal.reason);
    }
    let trailers = row.get("trailers").and_then(headers).unwrap_or_default();
    if let Some(reason) = anything_in_trailers(&trailers) {
        return Err(reason);
    }
    let body = row.get("body").and_then(Value::as_str).unwrap_or_default();
    let body = with_wellformed_signature(body);
    let carried = rails.in_body(&parts.path, body.as_bytes()).map_err(|hit| hit.reason)?;
    if let Some(carried) = carried {
        let checked = carried.check_request(&Method::from_bytes(method.as_bytes()).unwrap(), &map);
        let request = parts.request().carrying(carried.call.carrier());
        return checked
            .and_then(|()| judge_carried_with(&carried, &request, terms, None, now, &TakenAsSigned))
            .map(Some)
            .map_err(|refusal| refusal.reason);
    }
    judge_with(find(&map), &parts.request(), terms, None, now, &TakenAsSigned).map_err(|refusal| refusal.reason)
}

fn anything_in_trailers(trailers: &HeaderMap) -> Option<Reason> {
    match find(trailers) {
        Found::Nothing => None,
        Found::Payment { .. } | Found::SignIn { .. } => Some(Reason::PaymentMalformed),
        Found::Refused(refusal) => Some(refusal.reason),
    }
}

#[test]
fn every_row_reaches_its_outcome() {
    let collection = load("adversarial");
    let now = collection["now"].as_u64().unwrap();
    let unlimited = "115792089237316195423570985008687907853269984665640564039457584007913129.639935";
    let terms = Terms::operator(&serde_json::from_value(json!({"max_amount": unlimited})).unwrap()).unwrap();
    let rails = Rails::new(&RailsConfig::default()).unwrap();
    let (mut judged, mut refused) = (0, 0);
    for row in collection["cases"].as_array().unwrap() {
        let name = text(row, "/name");
        if ELSEWHERE.contains(&name) {
            continue;
        }
        let outcome = outcome(row, now, &terms, &rails);
        if text(row, "/expect") == "verdict" && !NOT_SUPPORTED_YET.contains(&name) {
            let claim = outcome.unwrap_or_else(|reason| panic!("{name}: {reason}")).unwrap();
            assert_eq!(claim.payee.to_string(), text(row, "/claim/counterparty"), "{name}");
            assert_eq!(claim.amount.to_string(), text(row, "/claim/amount"), "{name}");
            assert_eq!(claim.asset.address.to_string(), text(row, "/claim/asset"), "{name}");
            assert_eq!(claim.asset.network.to_string(), text(row, "/claim/chain"), "{name}");
            assert_eq!(claim.resource.to_string(), text(row, "/claim/resource"), "{name}");
            judged += 1;
        } else {
            let expected = expected_reason(name).unwrap_or_else(|| panic!("{name}: no expectation in this table"));
            assert_eq!(outcome.err(), Some(expected), "{name}");
            refused += 1;
        }
    }
    assert!(judged >= 13 && refused >= 110, "{judged} judged, {refused} refused");
}

#[test]
fn rows_of_the_other_schemes_reach_their_outcome_where_those_are_switched_on() {
    let collection = load("adversarial");
    let now = collection["now"].as_u64().unwrap();
    let all = json!({"schemes": ["exact", "exact-permit2", "upto", "exact-svm"]});
    let terms = Terms::operator(&serde_json::from_value(all).unwrap()).unwrap();
    let rails = Rails::new(&RailsConfig::default()).unwrap();
    for (name, reason) in [
        ("permit2 exact", None),
        ("upto: judged at the ceiling", None),
        ("v2 baseline", None),
        ("permit2 with attacker spender", Some(Reason::PaymentSchemeNotAllowed)),
        ("permit2 token differs from asset", Some(Reason::PaymentMismatch)),
        ("MaxUint approval in extensions", Some(Reason::PaymentSchemeNotAllowed)),
        ("signed raw tx in extensions", Some(Reason::PaymentSchemeNotAllowed)),
        ("solana opaque", Some(Reason::PaymentSchemeNotAllowed)),
        ("auth-capture", Some(Reason::PaymentSchemeNotAllowed)),
        ("erc7710 delegation", Some(Reason::PaymentSchemeNotAllowed)),
        ("scheme 'upto2'", Some(Reason::PaymentSchemeNotAllowed)),
    ] {
        let rows = collection["cases"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        match (outcome(row, now, &terms, &rails), reason) {
            (Ok(Some(claim)), None) => {
                assert_eq!(claim.amount.to_string(), text(row, "/claim/amount"), "{name}");
                assert_eq!(claim.payee.to_string(), text(row, "/claim/counterparty"), "{name}");
                assert_eq!(claim.asset.address.to_string(), text(row, "/claim/asset"), "{name}");
            }
            (outcome, reason) => assert_eq!(outcome.err(), reason, "{name}"),
        }
    }
}

#[test]
fn a_price_over_the_limit_is_refused_before_anybody_is_asked() {
    let collection = load("adversarial");
    let row = collection["cases"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == "max uint256")
        .unwrap();
    let terms = Terms::operator(&super::PaymentsConfig::default()).unwrap();
    let rails = Rails::new(&RailsConfig::default()).unwrap();
    let now = collection["now"].as_u64().unwrap();
    assert_eq!(outcome(row, now, &terms, &rails).err(), Some(Reason::PaymentOverLimit));
}

#[test]
fn dummy_signatures_do_not_pass_the_real_proof() {
    let collection = load("adversarial");
    let terms = Terms::operator(&super::PaymentsConfig::default()).unwrap();
    for (name, reason) in [
        ("v2 baseline", Reason::PaymentMismatch),
        ("v1 baseline", Reason::PaymentAssetNotAllowed),
    ] {
        let row = collection["cases"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["name"] == name)
            .unwrap();
        let map = with_wellformed_signatures(&headers(&row["headers"]).unwrap());
        let parts = Parts::new("GET", UrlScheme::Https, "api.seller.test", "/paid");
        let refusal = super::judge_header(find(&map), &parts.request(), &terms, 1_800_000_000).unwrap_err();
        assert_eq!(refusal.reason, reason, "{name}");
    }
}

#[test]
fn ordinary_hosts_are_no_rails() {
    let rails = Rails::new(&RailsConfig::default()).unwrap();
    for name in [
        "api.seller.test",
        "example.com",
        "myfacilitator.example",
        "x402seller.example",
        "facilitator-docs.example",
    ] {
        assert_eq!(rails.destination(&Host::parse(name).unwrap(), 443), None, "{name}");
    }
}
