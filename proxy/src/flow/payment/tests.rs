//! The order of things: verdict, then signature, then the payment's way out.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use pingora::http::RequestHeader;
use ruint::aliases::U256;

use super::*;
use crate::audit::SignatureOutcome;
use crate::egress::fetch::FetchError;
use crate::gate::payment::replay::ReplayMemory;
use crate::signer::{KeyHolder, Order, SigningError};
use crate::verdict::{self, Failure as NoVerdict, sample};
use crate::x402::claim::{EvmAddress, IdentifierHash};
use crate::x402::eip712::{SigningDomains, TransferWithAuthorization};
use crate::x402::signature::{Signature, address_of};
use crate::x402::unsigned::Unsigned;

type Events = Arc<Mutex<Vec<&'static str>>>;

/// A wallet that writes down when it is asked.
#[derive(Debug)]
struct Recording {
    key: k256::ecdsa::SigningKey,
    events: Events,
    fails: bool,
}

#[async_trait]
impl KeyHolder for Recording {
    async fn sign(&self, order: &Order) -> Result<Signature, SigningError> {
        self.events.lock().unwrap().push("sign");
        if self.fails {
            return Err(SigningError::Unreachable(FetchError::Timeout));
        }
        Ok(self.signature(order))
    }

    fn signed_before(&self, order: &Order) -> Result<Signature, SigningError> {
        self.events.lock().unwrap().push("repeat");
        Ok(self.signature(order))
    }
}

impl Recording {
    fn signature(&self, order: &Order) -> Signature {
        let (rs, v) = self.key.sign_prehash_recoverable(&order.unsigned.digest).unwrap();
        let (r, s) = rs.split_bytes();
        Signature::from_parts(r.into(), s.into(), v.is_y_odd()).unwrap()
    }
}

struct Scene {
    events: Events,
    signer: Arc<Signer>,
    wallet: EvmAddress,
    memory: ReplayMemory,
}

impl Scene {
    fn new(fails: bool) -> Self {
        let key = k256::ecdsa::SigningKey::from_slice(&[3; 32]).unwrap();
        let wallet = address_of(key.verifying_key()).unwrap();
        let events = Events::default();
        let holder = Recording {
            key,
            events: events.clone(),
            fails,
        };
        Scene {
            signer: Arc::new(Signer::new(wallet, Box::new(holder))),
            events,
            wallet,
            memory: ReplayMemory::default(),
        }
    }

    fn note(&self, event: &'static str) {
        self.events.lock().unwrap().push(event);
    }

    fn events(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.events.lock().unwrap())
    }

    fn claim(&self, nonce: u8) -> Claim {
        let mut claim = sample::claim();
        let transfer = TransferWithAuthorization {
            from: self.wallet,
            to: claim.payee.evm().unwrap(),
            value: claim.amount.0,
            valid_after: U256::ZERO,
            valid_before: U256::from(claim.valid_before),
            nonce: [nonce; 32],
        };
        let domain = SigningDomains::of(&claim.asset).token.unwrap();
        claim.payer = self.wallet.into();
        claim.nonce_hash.0 = [nonce; 32];
        claim.unsigned = Some(Unsigned::new(&transfer, self.wallet, &domain));
        claim
    }

    fn paying(&self, nonce: u8) -> Paying {
        self.paying_with(self.claim(nonce))
    }

    fn paying_with(&self, claim: Claim) -> Paying {
        let reservation = self.memory.reserve(&claim, now()).unwrap();
        Paying {
            claim,
            reservation: Some(reservation),
            answer: None,
            call: None,
        }
    }
}

fn ruling(outcome: Result<Verdict, NoVerdict>) -> Ruling {
    Ruling {
        backend: BackendName::Blackwall,
        outcome: outcome.map(verdict::Answer::bare),
        latency: Duration::ZERO,
    }
}

#[tokio::test]
async fn the_verdict_comes_first_then_the_signature_and_then_the_payment_leaves() {
    let scene = Scene::new(false);
    let paying = scene.paying(1);
    scene.note("verdict");
    let mut paid = decide(paying, &ruling(Ok(Verdict::Go)), None, Some(&scene.signer)).unwrap();
    assert_eq!(
        scene.events(),
        ["verdict"],
        "a GO alone signs nothing: the payment may still not leave"
    );
    assert!(paid.leave().await.unwrap().is_some());
    scene.note("forward");
    assert_eq!(scene.events(), ["sign", "forward"]);
}

#[tokio::test]
async fn one_signature_for_each_go_and_none_for_anything_else() {
    let scene = Scene::new(false);
    let table = [
        (Ok(Verdict::Go), None),
        (Ok(Verdict::Hold), Some(Reason::VerdictHold)),
        (Ok(Verdict::Stop), Some(Reason::VerdictStop)),
        (Err(NoVerdict::TimedOut), Some(Reason::VerdictUnavailable)),
        (Err(NoVerdict::QueueFull), Some(Reason::VerdictUnavailable)),
        (Err(NoVerdict::Unreachable(FetchError::Connect)), Some(Reason::VerdictUnavailable)),
        (Err(NoVerdict::PaymentDemanded), Some(Reason::VerdictUnavailable)),
        (Ok(Verdict::Go), None),
    ];
    let mut expected = 0;
    for (nonce, (outcome, reason)) in (1..).zip(table) {
        let decided = decide(scene.paying(nonce), &ruling(outcome), None, Some(&scene.signer));
        match decided {
            Ok(mut paid) => {
                assert_eq!(reason, None);
                paid.leave().await.unwrap();
                expected += 1;
            }
            Err(denial) => assert_eq!(Some(denial.reason), reason),
        }
        assert_eq!(scene.events.lock().unwrap().len(), expected, "{reason:?}");
    }
    assert_eq!(expected, 2);
}

#[tokio::test]
async fn what_is_refused_before_the_verdict_or_after_a_go_is_never_signed() {
    let scene = Scene::new(false);
    drop(scene.paying(1));
    // A GO whose request never gets to leave: the rules changed, the audit trail is full, the origin is not there.
    drop(decide(scene.paying(2), &ruling(Ok(Verdict::Go)), None, Some(&scene.signer)).unwrap());
    // A GO for what has expired meanwhile.
    let mut late = scene.paying(3);
    late.claim.valid_before = now();
    let denial = decide(late, &ruling(Ok(Verdict::Go)), None, Some(&scene.signer)).err().unwrap();
    assert_eq!(denial.reason, Reason::PaymentExpired);
    assert!(scene.events().is_empty());
}

#[tokio::test]
async fn a_payment_that_got_no_signature_has_not_left_and_may_come_again() {
    let scene = Scene::new(true);
    let mut paid = decide(scene.paying(1), &ruling(Ok(Verdict::Go)), None, Some(&scene.signer)).unwrap();
    let denial = paid.leave().await.err().unwrap();
    assert_eq!(denial.reason, Reason::PaymentSignerUnavailable);
    drop(paid);
    let again = scene.paying(1);
    assert!(!again.needs_verdict(), "it had its GO");
}

#[tokio::test]
async fn a_payment_that_is_sent_once_more_has_the_signature_of_its_one_go() {
    let scene = Scene::new(false);
    let named = || Claim {
        identifier_hash: Some(IdentifierHash([7; 32])),
        ..scene.claim(1)
    };
    let first = scene.paying_with(named());
    first.buys(PaidBody::Whole(b"")).unwrap();
    let mut paid = decide(first, &ruling(Ok(Verdict::Go)), None, Some(&scene.signer)).unwrap();
    let signed = paid.leave().await.unwrap();
    // No answer came.
    drop(paid);
    let again = scene.paying_with(named());
    assert!(!again.needs_verdict());
    again.buys(PaidBody::Whole(b"")).unwrap();
    let mut paid = release(again, None, Some(&scene.signer));
    let repeated = paid.leave().await.unwrap();
    assert!(signed.is_some() && repeated.is_some());
    assert_eq!(scene.events(), ["sign", "repeat"]);
    assert_eq!(scene.signer.count(SignatureOutcome::Signed), 1);
    drop(paid);
    let third = scene.memory.reserve(&named(), now()).err().unwrap();
    assert_eq!(third.reason, Reason::PaymentReplayed);
}

#[tokio::test]
async fn without_anybody_to_sign_nothing_leaves() {
    let scene = Scene::new(false);
    let mut paid = decide(scene.paying(1), &ruling(Ok(Verdict::Go)), None, None).unwrap();
    assert_eq!(paid.leave().await.err().unwrap().reason, Reason::InternalError);
}

#[tokio::test]
async fn the_signature_goes_into_the_one_header_and_is_marked_as_a_secret() {
    let scene = Scene::new(false);
    let mut paid = decide(scene.paying(1), &ruling(Ok(Verdict::Go)), None, Some(&scene.signer)).unwrap();
    let signed = paid.leave().await.unwrap().unwrap();
    let payment = format!(
        r#"{{ "x402Version":2, "payload":{{"authorization":{{"from":"{}"}},"signature":"0x00"}}}}"#,
        scene.wallet
    );
    let mut head = RequestHeader::build("GET", b"/v1/data", None).unwrap();
    let value = crate::x402::base64::encode(payment.as_bytes());
    head.append_header("PAYMENT-SIGNATURE", &value).unwrap();
    let body = Body::Whole(Bytes::new());
    assert!(signed.put_in(&mut head, &body).unwrap().is_none());
    let sent = head.headers.get("payment-signature").unwrap();
    assert!(sent.is_sensitive());
    let sent = String::from_utf8(crate::x402::base64::decode_canonical(sent.as_bytes()).unwrap()).unwrap();
    let (before, after) = payment.split_once("0x00").unwrap();
    assert!(sent.starts_with(before) && sent.ends_with(after), "{sent}");
    let signature = Signature::parse(&sent[before.len()..sent.len() - after.len()]).unwrap();
    assert_eq!(signature.recover(&scene.claim(1).unsigned.unwrap().digest), Some(scene.wallet));
    // A second value would be a second payment.
    head.append_header("PAYMENT-SIGNATURE", value).unwrap();
    assert_eq!(signed.put_in(&mut head, &body).err().unwrap().reason, Reason::InternalError);
}
