//! The real x402 SDKs buy from real sellers: GO delivers and settles once, anything else never reaches the seller.

use tollgate_tests::verdict_peer::{Mood, Says};

use super::shops::{DEALS, Screening, Shops, about_the_payee};

/// What a verdict service says, or that there is none, and the reason that agents are given.
fn refusals() -> [(Mood, &'static str); 3] {
    [
        (about_the_payee(Says::Hold), "verdict_hold"),
        (about_the_payee(Says::Stop), "verdict_stop"),
        (Mood::Dead, "verdict_unavailable"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn agents_and_sellers_deal_without_a_proxy() {
    // Shows that a refusal below is the proxy's doing, and a delivery not the proxy's absence.
    let shops = Shops::open();
    for deal in DEALS {
        let sale = shops.deal(deal, None).await;
        for answer in &sale.answers {
            assert_eq!(answer["status"], 200, "{deal:?}: {answer}\n{}", shops.complaints());
        }
        assert_eq!(sale.settled, deal.1.len(), "{deal:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn go_delivers_and_settles_once() {
    let shops = Shops::open();
    let (gate, peer) = shops.gate(about_the_payee(Says::Go), Screening::On).await;
    for deal in DEALS {
        let before = peer.questions().len();
        let sale = shops.deal(deal, Some(&gate)).await;
        let sold = deal.1.len();
        for answer in &sale.answers {
            let said = format!("{deal:?}: {answer}\n{}\n{}", shops.complaints(), gate.stderr());
            assert_eq!(answer["status"], 200, "{said}");
            assert!(answer["body"].as_str().is_some_and(|body| body.contains("ok")), "{said}");
            assert!(answer["receipt"].is_string(), "the settlement's receipt is lost: {said}");
            assert_eq!(answer["signed"], sold, "signed once for each: {said}");
        }
        assert_eq!(sale.settled, sold, "{deal:?}: settled once each");
        let questions = peer.questions().split_off(before);
        assert_eq!(questions.len(), sold * 2, "{deal:?}: asked about the offer, and about the payment");
        assert!(questions.iter().all(|question| question.claim["amount"] == "0.01"));
    }
    gate.audited(serde_json::json!({ "decision": "allow", "verdict": { "verdict": "go" } }))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anything_but_go_never_reaches_the_seller() {
    let shops = Shops::open();
    for (mood, reason) in refusals() {
        let (gate, _peer) = shops.gate(mood, Screening::Off).await;
        for deal in DEALS {
            let sale = shops.deal(deal, Some(&gate)).await;
            for answer in &sale.answers {
                assert_eq!(answer["reason"], reason, "{deal:?}: {answer}");
                assert_ne!(answer["status"], 402, "an agent would sign again");
                assert_eq!(answer["signed"], deal.1.len(), "{deal:?} {reason}: the agent was not asked to pay");
            }
            assert_eq!((sale.shown, sale.settled), (0, 0), "{deal:?} {reason}: the seller saw the payment");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_would_be_refused_is_never_signed() {
    let shops = Shops::open();
    for (mood, reason) in refusals() {
        let (gate, _peer) = shops.gate(mood, Screening::On).await;
        for deal in DEALS {
            let sale = shops.deal(deal, Some(&gate)).await;
            for answer in &sale.answers {
                assert_eq!(answer["reason"], reason, "{deal:?}: {answer}");
                assert_eq!(answer["signed"], 0, "{deal:?} {reason}: something was signed");
            }
            assert_eq!((sale.shown, sale.settled), (0, 0), "{deal:?} {reason}");
        }
    }
}
