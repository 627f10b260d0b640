//! A seller that asks for payments, and the gate before it.

use serde_json::{Value, json};
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::{Origin, Reply, Seen};
use tollgate_tests::payment::{self, ASSET, CENT, PAYEE, Terms, Wallet, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Mood, VerdictPeer};

/// A TLS seller, and the gate before it.
pub(crate) struct Shop {
    pub(crate) gate: Tollgate,
    pub(crate) seller: Origin,
    pub(crate) peer: VerdictPeer,
}

impl Shop {
    /// What sells by `sell`, behind a gate with these `payments` settings and a verdict service in this mood.
    pub(crate) async fn open(alpn: Alpn, mood: Mood, payments: Value, sell: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let peer = VerdictPeer::start(mood).await;
        let authority = Authority::default();
        let seller = Origin::start(Some(authority.server(HOST, alpn)), sell).await;
        let payments = json!({ "payments": payments });
        let gate = Setup::new(policy::open(&[seller.port()])).local_host().trust(&authority);
        let gate = gate.config(payment::settings()).config(payments).config(peer.settings()).start();
        Shop { gate, seller, peer }
    }

    pub(crate) fn ask<'a>(&self, target: &'a str) -> Ask<'a> {
        Ask::get(self.seller.port(), target)
    }

    pub(crate) fn paying<'a>(&self, target: &'a str, terms: &Terms) -> Ask<'a> {
        if target.starts_with("/v1") {
            return self.ask(target).header("X-PAYMENT", encode(&Wallet::default().v1(terms)));
        }
        let url = format!("https://{HOST}:{}{target}", self.seller.port());
        self.ask(target)
            .header("PAYMENT-SIGNATURE", encode(&Wallet::default().v2(&url, terms)))
    }

    pub(crate) async fn asked_to_pay(&self, via: Via, target: &str) {
        let answer = self.gate.fetch(via, &self.ask(target)).await;
        assert_eq!(answer.status, 402, "{target}: {answer:?}");
    }

    pub(crate) fn sold(&self) -> usize {
        let paid = |seen: &Seen| seen.header("payment-signature").or(seen.header("x-payment")).is_some();
        self.seller.requests().iter().filter(|seen| paid(seen)).count()
    }
}

/// A v1 challenge at one cent.
pub(crate) fn v1_body(url: &str) -> Value {
    json!({ "x402Version": 1, "error": "X-PAYMENT header is required", "accepts": [{
        "scheme": "exact", "network": "base-sepolia", "maxAmountRequired": CENT, "resource": url, "description": "one cent",
        "mimeType": "application/json", "payTo": PAYEE, "maxTimeoutSeconds": 60, "asset": ASSET,
        "outputSchema": null, "extra": { "name": "USDC", "version": "2" },
    }]})
}
