//! `SIGN-IN-WITH-X`: a wallet's signature that proves who asks, so that a seller gives what was paid for before. It moves no money, but it
//! opens what the wallet has bought: where it is switched on it may go to the site that it is for, and nowhere else.

use tollgate_policy::Authority;

use super::base64;
use super::json::{self, Value};
use super::network::Caip2;
use super::payment::{MAX_DEPTH, MAX_HEADER_BYTES};
use super::refusal::PaymentRefusal;
use super::resource::{PaymentRequest, ResourceUrl};

const TEXTS: [&str; 13] = [
    "domain",
    "address",
    "uri",
    "version",
    "chainId",
    "type",
    "nonce",
    "issuedAt",
    "statement",
    "expirationTime",
    "notBefore",
    "requestId",
    "signatureScheme",
];

/// Holds the header's value against the request that it travels with.
pub fn check(value: &[u8], request: &PaymentRequest<'_>) -> Result<(), PaymentRefusal> {
    if value.len() > MAX_HEADER_BYTES {
        return Err(PaymentRefusal::malformed("the wallet sign-in is larger than 16 KiB"));
    }
    let bytes = base64::decode_canonical(value).ok_or_else(|| PaymentRefusal::malformed("the wallet sign-in is not canonical base64"))?;
    let document = json::parse(&bytes, MAX_DEPTH).map_err(|error| PaymentRefusal::malformed(format!("the wallet sign-in is {error}")))?;
    let document = document
        .as_object()
        .ok_or_else(|| PaymentRefusal::malformed("the wallet sign-in is not a JSON object"))?;
    for (name, value) in document.members() {
        let known = match (name, value) {
            ("signature", Value::String(_)) => true,
            ("resources", Value::Array(resources)) => resources.iter().all(|resource| resource.as_str().is_some()),
            (name, Value::String(_)) => TEXTS.contains(&name),
            _ => false,
        };
        if !known {
            return Err(PaymentRefusal::malformed(
                "the wallet sign-in has a member that is not known, or not a text",
            ));
        }
    }
    let text = |name: &'static str| {
        document
            .string(name)
            .ok_or_else(|| PaymentRefusal::malformed(format!("the wallet sign-in has no {name}")))
    };
    text("signature")?;
    Caip2::parse(text("chainId")?).map_err(PaymentRefusal::from)?;
    let domain = Authority::parse(text("domain")?, Some(request.scheme.default_port())).ok();
    let uri = ResourceUrl::parse(text("uri")?);
    // Whoever it is for could sign in elsewhere with it: a phishing site collects sign-ins for the shop next door.
    if domain.as_ref() != Some(request.authority) || !uri.is_some_and(|uri| uri.is_on_the_site_of(request)) {
        return Err(PaymentRefusal::mismatch("the wallet sign-in is for another site"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};
    use tollgate_policy::Reason;

    use super::super::resource::UrlScheme;
    use super::*;
    use crate::x402::carriers::Carrier;

    fn outcome(bend: impl FnOnce(&mut Value)) -> Option<Reason> {
        let mut document = json!({
            "domain": "shop.example.test", "address": "0x857b06519E91e3A54538791bDbb0E22373e36b66", "uri": "https://shop.example.test/paid",
            "version": "1", "chainId": "eip155:8453", "type": "eip191", "nonce": "0123456789abcdef", "issuedAt": "2026-11-30T21:21:09Z",
            "resources": ["https://shop.example.test/paid"], "signature": format!("0x{}1b", "11".repeat(64)),
        });
        bend(&mut document);
        let authority = Authority::parse("shop.example.test", Some(443)).unwrap();
        let request = PaymentRequest {
            method: "GET",
            scheme: UrlScheme::Https,
            authority: &authority,
            path: "/paid",
            query: None,
            carrier: Carrier::Head,
        };
        check(base64::encode(document.to_string().as_bytes()).as_bytes(), &request)
            .err()
            .map(|refusal| refusal.reason)
    }

    type Bend = fn(&mut Value);

    #[test]
    fn a_sign_in_goes_to_the_site_that_it_is_for_and_nowhere_else() {
        assert_eq!(outcome(|_| {}), None);
        let bends: [(&str, Bend, Reason); 10] = [
            (
                "another domain",
                |d| d["domain"] = json!("bank.example.test"),
                Reason::PaymentMismatch,
            ),
            (
                "another port",
                |d| d["domain"] = json!("shop.example.test:8443"),
                Reason::PaymentMismatch,
            ),
            (
                "another uri",
                |d| d["uri"] = json!("https://bank.example.test/"),
                Reason::PaymentMismatch,
            ),
            (
                "another scheme",
                |d| d["uri"] = json!("http://shop.example.test/paid"),
                Reason::PaymentMismatch,
            ),
            (
                "user information",
                |d| d["uri"] = json!("https://shop.example.test@bank.example.test/"),
                Reason::PaymentMismatch,
            ),
            (
                "no signature",
                |d| drop(d.as_object_mut().unwrap().remove("signature")),
                Reason::PaymentMalformed,
            ),
            ("a number", |d| d["nonce"] = json!(1), Reason::PaymentMalformed),
            ("an unknown member", |d| d["payload"] = json!("x"), Reason::PaymentMalformed),
            ("a chain that is none", |d| d["chainId"] = json!("8453"), Reason::PaymentMalformed),
            (
                "another chain",
                |d| d["chainId"] = json!("aptos:1"),
                Reason::PaymentNetworkNotAllowed,
            ),
        ];
        for (name, bend, reason) in bends {
            assert_eq!(outcome(bend), Some(reason), "{name}");
        }
    }
}
