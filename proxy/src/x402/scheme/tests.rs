#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use tollgate_policy::Reason;

use super::super::json;
use super::*;

fn scheme_of(stated: &str, payload: &str) -> Result<Scheme, Reason> {
    let document = format!(r#"{{"scheme":{stated},"payload":{payload}}}"#);
    let document = json::parse(document.as_bytes(), 16).unwrap();
    let document = document.as_object().unwrap();
    of_payload(document.get("scheme"), document.object("payload")).map_err(|refusal| refusal.reason)
}

#[test]
fn every_scheme_has_a_name_of_its_own_that_reads_back() {
    for scheme in Scheme::ALL {
        assert_eq!(Scheme::named(scheme.as_str()), Some(scheme));
        assert_eq!(SchemeName::from(scheme).as_str(), scheme.as_str());
    }
    for name in ["Exact", "exact ", "permit2", "exact-svm2", "", "batch-settlement"] {
        assert_eq!(Scheme::named(name), None, "{name}");
    }
}

#[test]
fn a_payload_is_of_one_flavour_or_refused() {
    use Reason::{PaymentMalformed as M, PaymentSchemeNotAllowed as S};
    let exact = "\"exact\"";
    for (stated, payload, expected) in [
        (exact, r#"{"authorization":{}}"#, Ok(Scheme::Exact)),
        (exact, r#"{"permit2Authorization":{}}"#, Ok(Scheme::ExactPermit2)),
        (exact, r#"{"transaction":""}"#, Ok(Scheme::ExactSvm)),
        ("\"upto\"", r#"{"permit2Authorization":{}}"#, Ok(Scheme::Upto)),
        ("\"upto\"", r#"{"authorization":{}}"#, Err(S)),
        ("\"upto\"", r#"{"transaction":""}"#, Err(S)),
        (exact, r#"{"authorization":{},"permit2Authorization":{}}"#, Err(S)),
        (exact, r#"{"permit2Authorization":{},"transaction":""}"#, Err(S)),
        (exact, r#"{"authorization":{},"transaction":""}"#, Err(S)),
        (exact, r#"{"signature":"0x"}"#, Err(M)),
        (exact, r#"{"Permit2Authorization":{}}"#, Err(M)),
        (exact, "[]", Err(M)),
        ("1", r#"{"authorization":{}}"#, Err(M)),
        ("\"Exact\"", r#"{"authorization":{}}"#, Err(S)),
        ("\"batch-settlement\"", r#"{"voucher":{}}"#, Err(S)),
        ("\"auth-capture\"", r#"{"authorization":{},"salt":""}"#, Err(S)),
        // Schemes of the specifications that cannot be judged, by what marks them.
        (exact, r#"{"delegationManager":"","permissionContext":"","delegator":""}"#, Err(S)),
        (exact, r#"{"authorization":{},"salt":""}"#, Err(S)),
        (exact, r#"{"transaction":"","paymentGroup":[]}"#, Err(S)),
        (exact, r#"{"signedTxBlob":""}"#, Err(S)),
        (exact, r#"{"type":"payment-proof"}"#, Err(S)),
        ("\"upto\"", r#"{"channelId":"","openTransaction":""}"#, Err(S)),
    ] {
        assert_eq!(scheme_of(stated, payload), expected, "{stated} {payload}");
    }
}

#[test]
fn a_scheme_moves_what_its_signature_is_bound_to() {
    use crate::x402::assets;
    for known in assets::table() {
        let movers: Vec<&str> = Scheme::ALL
            .into_iter()
            .filter(|scheme| scheme.can_move(&known.asset))
            .map(Scheme::as_str)
            .collect();
        let expected: &[&str] = match (known.asset.network, known.asset.domain()) {
            (Caip2::Solana(_), _) => &["exact-svm"],
            (_, Some(_)) => &["exact", "exact-permit2", "upto"],
            (_, None) => &["exact-permit2", "upto"],
        };
        assert_eq!(movers, expected, "{} {}", known.asset.network, known.symbol);
    }
}
