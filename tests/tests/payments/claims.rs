//! Our own checks, which come before the service is asked: what is judged is what was signed, for this request, within the limits.

use serde_json::{Value, json};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{ASSET, Terms, Wallet, encode, now};
use tollgate_tests::verdict_peer::{Mood, Says};

use super::{shop, url};

struct Case {
    name: &'static str,
    terms: Terms,
    bend: fn(&mut Value),
    reasons: &'static [&'static str],
}

#[allow(clippy::too_many_lines, reason = "a table")]
fn cases() -> Vec<Case> {
    let case = |name, terms, bend, reasons| Case {
        name,
        terms,
        bend,
        reasons,
    };
    let usual = Terms::default;
    let keep: fn(&mut Value) = |_| {};
    vec![
        case(
            "over the limit",
            Terms {
                value: "1000001".into(),
                ..usual()
            },
            keep,
            &["payment_over_limit"],
        ),
        case(
            "all the money there is",
            Terms {
                value: u128::MAX.to_string(),
                ..usual()
            },
            keep,
            &["payment_over_limit"],
        ),
        case(
            "another asset",
            Terms {
                asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913".into(),
                ..usual()
            },
            keep,
            &["payment_asset_not_allowed"],
        ),
        case(
            "another network",
            Terms { chain_id: 8453, ..usual() },
            keep,
            &["payment_network_not_allowed"],
        ),
        case(
            "expired",
            Terms {
                valid_before: now() - 20,
                ..usual()
            },
            keep,
            &["payment_expired"],
        ),
        case(
            "valid for a day",
            Terms {
                valid_before: now() + 86_400,
                ..usual()
            },
            keep,
            &["payment_expired"],
        ),
        case(
            "valid for ever",
            Terms {
                valid_before: u64::MAX,
                ..usual()
            },
            keep,
            &["payment_expired"],
        ),
        case(
            "not valid yet",
            Terms {
                valid_after: now() + 600,
                valid_before: now() + 660,
                ..usual()
            },
            keep,
            &["payment_expired"],
        ),
        case(
            "the zero address",
            Terms::to("0x0000000000000000000000000000000000000000"),
            keep,
            &["payment_malformed", "payment_payee_not_allowed"],
        ),
        case(
            "a cheaper offer than was signed",
            usual(),
            |p| p["accepted"]["amount"] = json!("1"),
            &["payment_mismatch"],
        ),
        case(
            "another payee than was signed",
            usual(),
            |p| p["accepted"]["payTo"] = json!("0x1111111111111111111111111111111111111111"),
            &["payment_mismatch"],
        ),
        case(
            "a signed payee that was not offered",
            usual(),
            |p| p["payload"]["authorization"]["to"] = json!("0x1111111111111111111111111111111111111111"),
            &["payment_mismatch"],
        ),
        case(
            "a value changed after signing",
            usual(),
            |p| {
                p["payload"]["authorization"]["value"] = json!("10001");
                p["accepted"]["amount"] = json!("10001");
            },
            &["payment_mismatch", "payment_asset_not_allowed"],
        ),
        case(
            "the payer's name changed after signing",
            usual(),
            |p| {
                p["payload"]["authorization"]["from"] = json!("0x1111111111111111111111111111111111111111");
            },
            &["payment_mismatch", "payment_asset_not_allowed"],
        ),
        case(
            "a foreign signature",
            usual(),
            |p| {
                p["payload"]["signature"] = json!(Wallet::default().sign(&Terms::default()));
            },
            &["payment_mismatch", "payment_asset_not_allowed"],
        ),
        case(
            "a dummy signature",
            usual(),
            |p| {
                p["payload"]["signature"] = json!(format!("0x{}1b", "11".repeat(64)));
            },
            &["payment_mismatch", "payment_malformed", "payment_asset_not_allowed"],
        ),
        case(
            "signed for another token",
            Terms {
                asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913".into(),
                ..usual()
            },
            |p| {
                p["accepted"]["asset"] = json!(ASSET);
            },
            &["payment_mismatch"],
        ),
        case(
            "signed for another chain",
            Terms { chain_id: 8453, ..usual() },
            |p| {
                p["accepted"]["network"] = json!("eip155:84532");
            },
            &["payment_mismatch"],
        ),
        case(
            "no resource",
            usual(),
            |p| drop(p.as_object_mut().unwrap().remove("resource")),
            &["payment_mismatch", "payment_malformed"],
        ),
        case(
            "another host's resource",
            usual(),
            |p| p["resource"]["url"] = json!("https://other.example.test/paid"),
            &["payment_mismatch"],
        ),
        case(
            "another path's resource",
            usual(),
            |p| {
                let url = p["resource"]["url"].as_str().unwrap().replace("/paid", "/other");
                p["resource"]["url"] = json!(url);
            },
            &["payment_mismatch"],
        ),
        case(
            "another scheme's resource",
            usual(),
            |p| {
                let url = p["resource"]["url"].as_str().unwrap().replace("https://", "http://");
                p["resource"]["url"] = json!(url);
            },
            &["payment_mismatch"],
        ),
        case(
            "another token in the domain name",
            usual(),
            |p| p["accepted"]["extra"]["name"] = json!("USDT"),
            &["payment_mismatch", "payment_malformed"],
        ),
    ]
}

#[tokio::test]
async fn what_was_signed_offered_and_requested_has_to_agree_within_the_limits() {
    let (world, peer) = shop(Mood::Always(Says::Go)).await;
    for case in cases() {
        let mut payment = Wallet::default().v2(&url(&world, Via::TlsH1), &case.terms);
        (case.bend)(&mut payment);
        let ask = Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
        let answer = world.gate.fetch(Via::TlsH1, &ask).await;
        let code = answer.reason().unwrap_or("none").to_owned();
        assert!(case.reasons.contains(&code.as_str()), "{}: {code}", case.name);
        let body = answer.assert_denied(403, &code);
        assert_eq!(body["error"], "middleware_denied", "{}", case.name);
    }
    world.tls.assert_untouched();
    assert!(
        peer.questions().is_empty(),
        "the service was asked about a payment we refuse anyway: {:?}",
        peer.questions()
    );
}

#[tokio::test]
async fn an_asset_of_v1_is_proved_by_its_signature() {
    let (world, _peer) = shop(Mood::Always(Says::Go)).await;
    for (terms, reason) in [
        (Terms::default(), None),
        (
            Terms {
                asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913".into(),
                ..Terms::default()
            },
            Some("payment_asset_not_allowed"),
        ),
        (
            Terms {
                chain_id: 8453,
                ..Terms::default()
            },
            Some("payment_asset_not_allowed"),
        ),
    ] {
        let payment = Wallet::default().v1(&terms);
        let ask = Ask::get(world.tls.port(), "/paid").header("X-PAYMENT", encode(&payment));
        let answer = world.gate.fetch(Via::TlsH1, &ask).await;
        assert_eq!(answer.reason(), reason, "{terms:?}");
    }
}

#[tokio::test]
async fn listed_payees_and_payers_are_the_only_ones() {
    let (wallet, stranger) = (Wallet::default(), Wallet::default());
    let payee = "0x1111111111111111111111111111111111111111";
    let peer = tollgate_tests::verdict_peer::VerdictPeer::says(Says::Go).await;
    let settings = peer.settings();
    let lists = json!({ "payments": { "payees": [payee], "payers": [wallet.address] } });
    let world = tollgate_tests::world::World::start(tollgate_tests::policy::open, |setup| {
        setup.config(tollgate_tests::payment::settings()).config(settings).config(lists)
    })
    .await;
    let table = [
        (&wallet, Terms::to(payee), None),
        (&wallet, Terms::default(), Some("payment_payee_not_allowed")),
        (&stranger, Terms::to(payee), Some("payment_payer_not_allowed")),
    ];
    for (payer, terms, reason) in table {
        let payment = payer.v2(&url(&world, Via::TlsH1), &terms);
        let ask = Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
        assert_eq!(world.gate.fetch(Via::TlsH1, &ask).await.reason(), reason);
    }
}

#[tokio::test]
async fn the_windows_that_real_sdks_sign_are_accepted() {
    let (world, _peer) = shop(Mood::Always(Says::Go)).await;
    for (after, before) in [
        (0, now() + 60),
        (0, now() + 300),
        (now() - 600, now() + 60),
        (now() - 60, now() + 300),
    ] {
        let terms = Terms {
            valid_after: after,
            valid_before: before,
            ..Terms::default()
        };
        let payment = Wallet::default().v2(&url(&world, Via::TlsH1), &terms);
        let ask = Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
        world.gate.fetch(Via::TlsH1, &ask).await.assert_allowed();
    }
}

#[tokio::test]
async fn spellings_that_mean_the_same_are_judged() {
    let (world, _peer) = shop(Mood::Always(Says::Go)).await;
    let fresh = || Wallet::default().v2(&url(&world, Via::TlsH1), &Terms::default());
    let mut lower = fresh();
    lower["payload"]["authorization"]["to"] = json!(lower["payload"]["authorization"]["to"].as_str().unwrap().to_ascii_lowercase());
    let escaped = fresh().to_string().replace("\"to\"", "\"\\u0074o\"");
    let spaced = serde_json::to_string_pretty(&fresh()).unwrap();
    for (name, json) in [
        ("lower-case payee", lower.to_string()),
        ("escaped key", escaped),
        ("blanks between tokens", spaced),
    ] {
        for header in ["PAYMENT-SIGNATURE", "payment-signature", "pAyMeNt-SiGnAtUrE"] {
            // Each spelling of the name with its own nonce would be another payment; the first is judged, the others are its replays.
            let ask = Ask::get(world.tls.port(), "/paid").header(header, tollgate_tests::payment::encode_text(&json));
            let reason = world.gate.fetch(Via::TlsH1, &ask).await.reason().map(ToOwned::to_owned);
            let expected = if header == "PAYMENT-SIGNATURE" {
                None
            } else {
                Some("payment_replayed")
            };
            assert_eq!(reason.as_deref(), expected, "{name} {header}");
        }
    }
}
