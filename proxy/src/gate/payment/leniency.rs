//! The spellings that were tried on real sellers: what any of them takes is either judged or refused here, and never passes unseen.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tollgate_policy::Reason;

use super::vectors::{Parts, load, paying_request, text};
use super::{PaymentsConfig, Terms, judge_header};
use crate::x402::detect::{find, find_in_target};

struct Baseline {
    value: String,
    json: String,
    v1: String,
    parts: Parts,
    now: u64,
}

fn baseline() -> Baseline {
    let vector = load("v2-exact-evm-eip3009-js-fetch");
    let (parts, headers, _) = paying_request(&vector);
    let value = headers["payment-signature"].to_str().unwrap().to_owned();
    let (_, v1, _) = paying_request(&load("v1-exact-evm-eip3009-py-requests"));
    Baseline {
        json: String::from_utf8(STANDARD.decode(&value).unwrap()).unwrap(),
        v1: v1["x-payment"].to_str().unwrap().to_owned(),
        now: text(&vector, "/expected_claim/valid_before").parse::<u64>().unwrap() - 60,
        value,
        parts,
    }
}

fn judge(base: &Baseline, pairs: &[(&str, String)]) -> Option<Reason> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        );
    }
    let terms = Terms::operator(&PaymentsConfig::default()).unwrap();
    match judge_header(find(&headers), &base.parts.request(), &terms, base.now) {
        Ok(Some(_)) => None,
        Ok(None) => panic!("passed unseen: {pairs:?}"),
        Err(refusal) => Some(refusal.reason),
    }
}

/// `None`: judged as the same payment. Rows about framing, paths and the request line belong to the engine and are `Err`.
fn outcome(base: &Baseline, case: &str) -> Result<Option<Reason>, &'static str> {
    let name = "payment-signature";
    let one = |value: String| Ok(judge(base, &[(name, value)]));
    let two =
        |first: (&str, &String), second: (&str, &String)| Ok(judge(base, &[(first.0, first.1.clone()), (second.0, second.1.clone())]));
    let edited = |from: &str, to: &str| {
        assert!(base.json.contains(from), "{case}: nothing to replace");
        one(STANDARD.encode(base.json.replacen(from, to, 1)))
    };
    let amount = |to: &str| edited(r#""value":"10000""#, &format!(r#""value":{to}"#));
    let cut = base.value.len() / 2;
    let inside = |junk: &str| one(format!("{}{junk}{}", &base.value[..cut], &base.value[cut..]));
    let payee = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
    let junk = "junk".to_owned();
    match case {
        "baseline" => one(base.value.clone()),
        "header name lower-case" => Ok(judge(base, &[("payment-signature", base.value.clone())])),
        "header name mIxEd" => Ok(judge(base, &[("pAyMeNt-SiGnAtUrE", base.value.clone())])),
        "header name with _ for -" => Ok(judge(base, &[("payment_signature", base.value.clone())])),
        "b64 without padding" => {
            let blanks = " ".repeat((4 - base.json.len() % 3) % 3);
            let padded = STANDARD.encode(format!("{}{blanks}", base.json));
            assert!(padded.ends_with('='), "nothing to leave out");
            one(padded.trim_end_matches('=').to_owned())
        }
        "base64url alphabet" => one(URL_SAFE.encode(base.json.replacen("one cent", "one \u{fb}\u{ff}\u{ff} cent", 1))),
        "space inside b64" => inside(" "),
        "junk chars (!*) inside b64" => inside("!*"),
        "data after = padding" => one(format!("{}==QUJD", base.value.trim_end_matches('='))),
        "same header twice" => two((name, &base.value), (name, &base.value)),
        "two headers: junk first" => two((name, &junk), (name, &base.value)),
        "two headers: junk last" => two((name, &base.value), (name, &junk)),
        "raw JSON (no b64)" => one(base.json.clone()),
        "double b64" => one(STANDARD.encode(&base.value)),
        "quoted value" => one(format!("\"{}\"", base.value)),
        "other version's header name" => Ok(judge(base, &[("x-payment", base.value.clone())])),
        "other version's payload in this header" => one(base.v1.clone()),
        "UTF-8 BOM before JSON" => one(STANDARD.encode(format!("\u{feff}{}", base.json))),
        "UTF-16 JSON" => one(STANDARD.encode(base.json.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>())),
        "trailing bytes after JSON" => one(STANDARD.encode(format!("{}{{}}", base.json))),
        "JSON pretty-printed / newlines" => {
            let value: Value = serde_json::from_str(&base.json).unwrap();
            one(STANDARD.encode(serde_json::to_string_pretty(&value).unwrap()))
        }
        "unicode-escaped key names" => edited(r#""to""#, r#""\u0074o""#),
        "dup key authorization.to (decoy first)" => edited(r#""to":"#, &format!(r#""to":"{payee}","to":"#)),
        "dup key authorization.to (decoy last)" => edited(r#""value":"#, &format!(r#""\u0074o":"{payee}","value":"#)),
        "dup key payload (decoy first)" => edited(r#""payload":"#, r#""payload":{},"payload":"#),
        "unknown extra keys" => edited(r#""value":"#, r#""note":"x","value":"#),
        "x402Version as string" => edited(r#""x402Version":2"#, r#""x402Version":"2""#),
        "x402Version as float" => edited(r#""x402Version":2"#, r#""x402Version":2.0"#),
        "x402Version missing" => edited(r#""x402Version":2,"#, ""),
        "value leading zeros" => amount(r#""0010000""#),
        "value '+10000'" => amount(r#""+10000""#),
        "value ' 10000 '" => amount(r#"" 10000 ""#),
        "value 1_0000" => amount(r#""1_0000""#),
        "value fullwidth digits" => amount("\"１００００\""),
        "value as JSON number" => amount("10000"),
        "value 1e4 string" => amount(r#""1e4""#),
        "value hex string" => amount(r#""0x2710""#),
        "to lower-case" => edited(&format!(r#""to":"{payee}""#), &format!(r#""to":"{}""#, payee.to_ascii_lowercase())),
        "to UPPER hex" => edited(
            &format!(r#""to":"{payee}""#),
            &format!(r#""to":"0x{}""#, payee[2..].to_ascii_uppercase()),
        ),
        "accepted.payTo lower-case (v2)" => edited(
            &format!(r#""payTo":"{payee}""#),
            &format!(r#""payTo":"{}""#, payee.to_ascii_lowercase()),
        ),
        "accepted.amount lower than value (v2)" => edited(r#""amount":"10000""#, r#""amount":"1""#),
        "accepted.network v1 name (v2)" => edited(r#""network":"eip155:84532""#, r#""network":"base-sepolia""#),
        "accepted.extra extra key (v2)" => edited(r#""extra":{"#, r#""extra":{"note":"x","#),
        "resource.url elsewhere (v2)" => edited("/paid", "/elsewhere"),
        "overpay: value 20000 vs 10000" => amount(r#""20000""#),
        "in Cookie" => Ok(judge(base, &[("cookie", format!("p={}", base.value))])),
        "in query string" => Ok(find_in_target(&format!("/paid?p={}", base.value)).map(|refusal| refusal.reason)),
        "in chunked trailer" => Ok(judge(base, &[("trailer", "payment-signature".to_owned())])),
        "space before colon" | "obs-fold continuation" | "tab/space around value" | "HTTP/1.0" | "absolute-form target" => Err("framing"),
        _ if case.contains("path ") => Err("paths"),
        _ => panic!("{case}: no row in this table"),
    }
}

#[test]
fn every_spelling_is_judged_as_the_same_payment_or_refused() {
    let base = baseline();
    let judged = [
        "baseline",
        "header name lower-case",
        "header name mIxEd",
        "JSON pretty-printed / newlines",
        "unicode-escaped key names",
        "to lower-case",
        "to UPPER hex",
        "accepted.payTo lower-case (v2)",
    ];
    let mut rows = 0;
    for row in load("leniency-matrix").as_array().unwrap() {
        let case = text(row, "/case");
        if let Ok(reason) = outcome(&base, case) {
            assert_eq!(reason.is_none(), judged.contains(&case), "{case}: {reason:?}");
            rows += 1;
        }
    }
    assert!(rows >= 45, "{rows}");
}
