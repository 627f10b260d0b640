//! The real x402 SDKs buy from real sellers: GO delivers and settles once, anything else never reaches the seller.

use tollgate_tests::verdict_peer::{Mood, Says};

use super::shops::{DEALS, Screening, Shops, about_the_payee};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_and_sellers_deal_without_a_proxy() {
    // Shows that a refusal below is the proxy's doing, and a delivery not the proxy's absence.
    let shops = Shops::open();
    for deal in DEALS {
        let sale = shops.deal(deal, None).await;
        assert_eq!(sale.answer["status"], 200, "{deal:?}: {}\n{}", sale.answer, shops.complaints());
        assert_eq!(sale.settled, 1, "{deal:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn go_delivers_and_settles_once() {
    let shops = Shops::open();
    let (gate, peer) = shops.gate(about_the_payee(Says::Go), Screening::On).await;
    for (number, deal) in DEALS.into_iter().enumerate() {
        let sale = shops.deal(deal, Some(&gate)).await;
        assert_eq!(
            sale.answer["status"],
            200,
            "{deal:?}: {}\n{}\n{}",
            sale.answer,
            shops.complaints(),
            gate.stderr()
        );
        assert!(
            sale.answer["body"].as_str().is_some_and(|body| body.contains("ok")),
            "{}",
            sale.answer
        );
        assert!(
            sale.answer["receipt"].is_string(),
            "the settlement's receipt is lost: {}",
            sale.answer
        );
        assert_eq!(sale.settled, 1, "{deal:?}: settled once");
        assert_eq!(sale.answer["signed"], 1, "{deal:?}: signed once");
        let questions = peer.questions().split_off(number * 2);
        assert_eq!(questions.len(), 2, "{deal:?}: asked about the offer, and about the payment");
        assert!(questions.iter().all(|question| question.claim["amount"] == "0.01"));
    }
    gate.audited(serde_json::json!({ "decision": "allow", "verdict": { "verdict": "go" } }))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anything_but_go_never_reaches_the_seller() {
    let shops = Shops::open();
    for (mood, reason) in [
        (about_the_payee(Says::Hold), "verdict_hold"),
        (about_the_payee(Says::Stop), "verdict_stop"),
        (Mood::Dead, "verdict_unavailable"),
    ] {
        let (gate, _peer) = shops.gate(mood, Screening::Off).await;
        for deal in DEALS {
            let sale = shops.deal(deal, Some(&gate)).await;
            assert_eq!(sale.answer["reason"], reason, "{deal:?}: {}", sale.answer);
            assert_ne!(sale.answer["status"], 402, "an agent would sign again");
            assert_eq!(sale.answer["signed"], 1, "{deal:?} {reason}: the agent was not asked to pay");
            assert_eq!((sale.shown, sale.settled), (0, 0), "{deal:?} {reason}: the seller saw the payment");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_would_be_refused_is_never_signed() {
    let shops = Shops::open();
    for (mood, reason) in [
        (about_the_payee(Says::Hold), "verdict_hold"),
        (about_the_payee(Says::Stop), "verdict_stop"),
        (Mood::Dead, "verdict_unavailable"),
    ] {
        let (gate, _peer) = shops.gate(mood, Screening::On).await;
        for deal in DEALS {
            let sale = shops.deal(deal, Some(&gate)).await;
            assert_eq!(sale.answer["reason"], reason, "{deal:?}: {}", sale.answer);
            assert_eq!(sale.answer["signed"], 0, "{deal:?} {reason}: something was signed");
            assert_eq!((sale.shown, sale.settled), (0, 0), "{deal:?} {reason}");
        }
    }
}
