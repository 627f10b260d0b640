//! Schemes and payloads whose payee or amount cannot be known.

use serde_json::{Value, json};
use tollgate_tests::payment::{ASSET, PAYEE, encode, now};

use super::{SCHEME, assert_refused_untouched, generous, one, v2};

#[tokio::test]
async fn schemes_that_are_not_judged() {
    let (world, peer) = generous().await;
    for scheme in [
        "Exact",
        "exact ",
        "upto",
        "upto2",
        "deferred",
        "batch-settlement",
        "auth-capture",
        "",
    ] {
        let lines = |url: &str| {
            let mut payment = v2(url);
            payment["accepted"]["scheme"] = json!(scheme);
            one("PAYMENT-SIGNATURE", &encode(&payment))
        };
        assert_refused_untouched(&world, &peer, scheme, lines, SCHEME).await;
    }
}

type Flavour = (&'static str, fn(&mut Value));

const FLAVOURS: &[Flavour] = &[
    ("permit2 with a foreign spender", |p| {
        p["accepted"]["extra"]["assetTransferMethod"] = json!("permit2");
        p["payload"] = json!({ "signature": format!("0x{}1b", "11".repeat(64)), "permit2Authorization": {
            "from": "0x857b06519E91e3A54538791bDbb0E22373e36b66", "permitted": { "token": ASSET, "amount": "10000" },
            "spender": "0x1111111111111111111111111111111111111111", "nonce": "1", "deadline": (now() + 60).to_string(),
            "witness": { "to": PAYEE, "validAfter": "0" } } });
    }),
    ("two flavours in one payload", |p| {
        p["payload"]["permit2Authorization"] = json!({ "from": "0x857b06519E91e3A54538791bDbb0E22373e36b66" });
    }),
    ("an erc7710 delegation", |p| {
        p["payload"] = json!({ "delegationManager": PAYEE, "permissionContext": "0x00", "delegator": PAYEE });
    }),
    ("an opaque solana transaction", |p| {
        p["payload"] = json!({ "transaction": "AQAAAA==" });
    }),
    ("a raw transaction in the extensions", |p| {
        p["extensions"] = json!({ "erc20ApprovalGasSponsoring": { "info": { "signedTransaction": "0x02f8" } } });
    }),
    ("an unlimited approval in the extensions", |p| {
        p["extensions"] = json!({ "eip2612GasSponsoring": { "info": { "amount": u128::MAX.to_string() } } });
    }),
    ("a gateway wallet", |p| {
        p["accepted"]["extra"] =
            json!({ "name": "GatewayWalletBatched", "version": "1", "verifyingContract": "0x1111111111111111111111111111111111111111" });
    }),
    ("an upfront flow", |p| p["accepted"]["extra"]["paymentFlow"] = json!("upfront")),
    ("no signature", |p| drop(p["payload"].as_object_mut().unwrap().remove("signature"))),
    ("a long wallet signature", |p| {
        p["payload"]["signature"] = json!(format!("0x{}", "ab".repeat(700)));
    }),
    ("a collector as payee of an auth-capture", |p| p["payload"]["salt"] = json!("0x01")),
];

#[tokio::test]
async fn flavours_that_cannot_be_judged() {
    let (world, peer) = generous().await;
    for (name, bend) in FLAVOURS {
        let lines = |url: &str| {
            let mut payment = v2(url);
            bend(&mut payment);
            one("PAYMENT-SIGNATURE", &encode(&payment))
        };
        let reasons = ["payment_scheme_not_allowed", "payment_malformed", "payment_mismatch"];
        assert_refused_untouched(&world, &peer, name, lines, &reasons).await;
    }
}
