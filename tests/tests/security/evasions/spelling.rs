//! Amounts, addresses and networks in other spellings than the one.

use serde_json::json;
use tollgate_tests::payment::{PAYEE, Terms, Wallet, encode};

use super::{MALFORMED, NETWORK, assert_refused_untouched, generous, one, v2};

#[tokio::test]
async fn amounts_in_other_spellings() {
    let (world, peer) = generous().await;
    let values = [
        json!("0010000"),
        json!("+10000"),
        json!(" 10000"),
        json!("10000 "),
        json!("1_0000"),
        json!("10,000"),
        json!("１００００"),
        json!("0x2710"),
        json!("1e4"),
        json!("10000.0"),
        json!("-10000"),
        json!(""),
        json!("115792089237316195423570985008687907853269984665640564039457584007913129639936"),
        json!(10_000),
        json!(10_000.0),
        json!(9_007_199_254_740_993_u64),
        json!(null),
        json!(["10000"]),
    ];
    for value in values {
        for place in ["signed", "offered", "both"] {
            let lines = |url: &str| {
                let mut payment = v2(url);
                if place != "offered" {
                    payment["payload"]["authorization"]["value"] = value.clone();
                }
                if place != "signed" {
                    payment["accepted"]["amount"] = value.clone();
                }
                one("PAYMENT-SIGNATURE", &encode(&payment))
            };
            let name = format!("{value} {place}");
            assert_refused_untouched(
                &world,
                &peer,
                &name,
                lines,
                &["payment_malformed", "payment_mismatch", "payment_over_limit"],
            )
            .await;
        }
    }
}

#[tokio::test]
async fn addresses_in_other_spellings() {
    let (world, peer) = generous().await;
    let bad_checksum = PAYEE.replacen("Bc6", "bC6", 1);
    let spellings = [
        "0X209693bc6afc0c5328ba36faf03c514ef312287c",
        "209693bc6afc0c5328ba36faf03c514ef312287c",
        "0x209693",
        "0x209693bc6afc0c5328ba36faf03c514ef312287",
        "0x209693bc6afc0c5328ba36faf03c514ef312287c00",
        "0x209693bc6afc0c5328ba36faf03c514ef312287g",
        " 0x209693bc6afc0c5328ba36faf03c514ef312287c",
        "vitalik.eth",
        "",
        "merchant",
        bad_checksum.as_str(),
    ];
    for spelling in spellings {
        let lines = |url: &str| {
            let mut payment = v2(url);
            payment["payload"]["authorization"]["to"] = json!(spelling);
            payment["accepted"]["payTo"] = json!(spelling);
            one("PAYMENT-SIGNATURE", &encode(&payment))
        };
        assert_refused_untouched(&world, &peer, spelling, lines, MALFORMED).await;
    }
}

#[tokio::test]
async fn networks_in_other_spellings() {
    let (world, peer) = generous().await;
    for network in [
        "EIP155:84532",
        "eip155:084532",
        "eip155:84532 ",
        "eip155:*",
        "84532",
        "eip155:84532:x",
        "base-sepolia",
        "eip155:",
        "cloudflare:402",
        "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
    ] {
        let lines = |url: &str| {
            let mut payment = v2(url);
            payment["accepted"]["network"] = json!(network);
            one("PAYMENT-SIGNATURE", &encode(&payment))
        };
        assert_refused_untouched(&world, &peer, network, lines, NETWORK).await;
    }
    for network in [
        "eip155:84532",
        "Base-Sepolia",
        "base",
        "mainnet",
        "ethereum-mainnet",
        "base-sepolia ",
        "",
    ] {
        let lines = |_: &str| {
            let mut payment = Wallet::default().v1(&Terms::default());
            payment["network"] = json!(network);
            one("X-PAYMENT", &encode(&payment))
        };
        assert_refused_untouched(
            &world,
            &peer,
            network,
            lines,
            &["payment_network_not_allowed", "payment_malformed", "payment_asset_not_allowed"],
        )
        .await;
    }
}
