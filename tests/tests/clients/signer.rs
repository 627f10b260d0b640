//! Agents that hold no key, with the real SDKs: the wallet signs after GO, and the sellers' facilitator takes it.

use serde_json::{Value, json};
use tollgate_tests::payment::Wallet;
use tollgate_tests::verdict_peer::{Mood, Says};

use super::shops::{CLEARTEXT, Deal, EXPRESS, FLASK, PLAIN, Screening, Shops, about_the_payee};

const PLACEHOLDER: [Deal; 4] = [
    ("agents/pay_placeholder.py", &[FLASK]),
    ("agents/pay_placeholder.mjs", &[EXPRESS]),
    ("agents/pay_placeholder.py", &[PLAIN]),
    ("agents/pay_placeholder.mjs", &[CLEARTEXT]),
];
const THROWAWAY: [Deal; 4] = [
    ("agents/pay_requests.py", &[EXPRESS]),
    ("agents/pay_fetch_v2.mjs", &[FLASK]),
    ("agents/pay_requests.py", &[CLEARTEXT]),
    ("agents/pay_fetch_v1.mjs", &[PLAIN]),
];

/// The settings of a wallet whose key is in a file.
fn signer(wallet: &Wallet, agent: &str, files: &tempfile::TempDir) -> Value {
    let key = files.path().join("payer.key");
    std::fs::write(&key, wallet.key_hex()).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    json!({ "payments": { "signer": { "wallet": wallet.address, "agent": agent, "key_file": key } } })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unmodified_sdks_buy_with_a_wallet_whose_key_they_do_not_have() {
    let (shops, files) = (Shops::open(), tempfile::TempDir::new().unwrap());
    for (agent, deals) in [("placeholder", PLACEHOLDER), ("throwaway-key", THROWAWAY)] {
        let wallet = Wallet::default();
        let (gate, _peer) = shops
            .gate_with(about_the_payee(Says::Go), Screening::On, signer(&wallet, agent, &files))
            .await;
        for (number, deal) in (1..).zip(deals) {
            // What it signs with, if it does, is worth nothing.
            let sale = shops.deal_for(deal, Some(&gate), &Wallet::default(), &wallet.address).await;
            let said = format!("{deal:?}: {}\n{}\n{}", sale.answers[0], shops.complaints(), gate.stderr());
            assert_eq!(sale.answers[0]["status"], 200, "{said}");
            assert!(sale.answers[0]["receipt"].is_string(), "{said}");
            assert_eq!(sale.settled, number, "{deal:?}: settled once, from the wallet");
            let signed = gate.metric("tollgate_signatures_total", &[("outcome", "signed")]).await;
            assert!(
                (signed - f64::from(u32::try_from(number).unwrap())).abs() < f64::EPSILON,
                "{signed}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_go_the_wallet_signs_nothing() {
    let (shops, files) = (Shops::open(), tempfile::TempDir::new().unwrap());
    for (mood, reason) in [
        (about_the_payee(Says::Hold), "verdict_hold"),
        (about_the_payee(Says::Stop), "verdict_stop"),
        (Mood::Dead, "verdict_unavailable"),
    ] {
        let wallet = Wallet::default();
        let (gate, _peer) = shops.gate_with(mood, Screening::Off, signer(&wallet, "placeholder", &files)).await;
        for deal in PLACEHOLDER {
            let sale = shops.deal_for(deal, Some(&gate), &Wallet::default(), &wallet.address).await;
            assert_eq!(sale.answers[0]["reason"], reason, "{deal:?}: {}", sale.answers[0]);
            assert_eq!((sale.shown, sale.settled), (0, 0), "{deal:?} {reason}");
        }
        let signed = gate.metric("tollgate_signatures_total", &[("outcome", "signed")]).await;
        assert!(signed.abs() < f64::EPSILON, "{signed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_gate_a_placeholder_buys_nothing() {
    let shops = Shops::open();
    let wallet = Wallet::default();
    for deal in PLACEHOLDER {
        let sale = shops.deal_for(deal, None, &Wallet::default(), &wallet.address).await;
        assert_ne!(sale.answers[0]["status"], 200, "{deal:?}: {}", sale.answers[0]);
        assert_eq!(sale.settled, 0, "{deal:?}");
    }
}
