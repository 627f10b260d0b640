//! Payments that try not to look like payments, or like another payment than they are. The verdict service says GO to everything here:
//! each refusal is our own, and the service is not even asked.

mod encoding;
mod flavours;
mod forms;
mod json;
mod names;
mod places;
mod spelling;

use serde_json::Value;
use tollgate_tests::client::Via;
use tollgate_tests::payment::{self, Terms, Wallet};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::verdict_peer::{Says, VerdictPeer};
use tollgate_tests::world::World;

async fn generous() -> (World, VerdictPeer) {
    let peer = VerdictPeer::says(Says::Go).await;
    let settings = peer.settings();
    (
        World::start(policy::open, |setup| setup.config(payment::settings()).config(settings)).await,
        peer,
    )
}

fn url(world: &World, via: Via) -> String {
    format!("{}://{HOST}:{}/paid", if via.is_tls() { "https" } else { "http" }, world.port(via))
}

/// Sends `GET /paid` with these raw header lines over absolute-form and over TLS, and expects a quick refusal that costs nothing.
async fn assert_refused_untouched(world: &World, peer: &VerdictPeer, name: &str, lines: impl Fn(&str) -> String, reasons: &[&str]) {
    for via in [Via::AbsoluteForm, Via::TlsH1] {
        let url = url(world, via);
        let target = if via == Via::AbsoluteForm {
            url.clone()
        } else {
            "/paid".to_owned()
        };
        let text = format!("GET {target} HTTP/1.1\r\nHost: {HOST}:{}\r\n{}\r\n", world.port(via), lines(&url));
        let mut connection = if via == Via::AbsoluteForm {
            world.gate.dial().await
        } else {
            world.gate.tls_h1(world.port(via)).await
        };
        connection.send(&text).await;
        let answer = connection
            .answer_or_end("GET")
            .await
            .unwrap_or_else(|end| panic!("{name} {via:?}: {end}"));
        let reason = answer.reason().unwrap_or("none");
        assert!(
            reasons.contains(&reason),
            "{name} {via:?}: {} {reason}: {}",
            answer.status,
            answer.text()
        );
        answer.assert_refused(&[400, 403, 431], reason);
    }
    assert!(peer.questions().is_empty(), "{name}: the service was asked");
    world.plain.assert_untouched();
    world.tls.assert_untouched();
}

fn v2(url: &str) -> Value {
    Wallet::default().v2(url, &Terms::default())
}

fn one(name: &str, value: &str) -> String {
    format!("{name}: {value}\r\n")
}

const MALFORMED: &[&str] = &["payment_malformed"];
const CONFLICT: &[&str] = &["payment_conflicting", "payment_malformed"];
const SCHEME: &[&str] = &["payment_scheme_not_allowed", "payment_malformed"];
const NETWORK: &[&str] = &["payment_network_not_allowed", "payment_malformed", "payment_mismatch"];
