//! The embedded verdict backend: the operator's own lists.

use serde_json::json;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{self, Terms, Wallet, encode};
use tollgate_tests::policy;
use tollgate_tests::world::World;

use super::url;

#[tokio::test]
async fn known_payees_at_their_usual_price_pass_and_others_do_not() {
    let (known, refused, unknown) = (
        "0x1111111111111111111111111111111111111111",
        "0x2222222222222222222222222222222222222222",
        "0x3333333333333333333333333333333333333333",
    );
    let files = tempfile::TempDir::new().unwrap();
    let (payees, refusals) = (files.path().join("payees.yaml"), files.path().join("refused.yaml"));
    std::fs::write(&payees, format!("- payee: \"{known}\"\n  price: \"0.01\"\n")).unwrap();
    std::fs::write(&refusals, format!("- \"{refused}\"\n")).unwrap();
    let verdict = json!({ "verdict": { "backend": "local", "payees": payees, "refused": refusals } });
    let world = World::start(policy::open, |setup| setup.config(payment::settings()).config(verdict)).await;
    let table = [
        (known, "10000", None),
        (known, "5000", None),
        (known, "1000000", Some(&["verdict_stop", "verdict_hold"][..])),
        (refused, "10000", Some(&["verdict_stop"][..])),
        (unknown, "10000", Some(&["verdict_hold"][..])),
    ];
    for (payee, value, reasons) in table {
        let terms = Terms {
            value: value.to_owned(),
            ..Terms::to(payee)
        };
        let payment = Wallet::default().v2(&url(&world, Via::TlsH1), &terms);
        let ask = Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
        let answer = world.gate.fetch(Via::TlsH1, &ask).await;
        match (reasons, answer.reason()) {
            (None, None) => {}
            (Some(reasons), Some(reason)) if reasons.contains(&reason) => {}
            (expected, found) => panic!("{payee} {value}: {found:?} instead of {expected:?}"),
        }
    }
    assert_eq!(world.tls.requests().len(), 2);
}
