//! One signature for each GO, and none otherwise: what is sent once more under its payment identifier goes out with the bytes that it had.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::Origin;
use tollgate_tests::payment::{self, Terms, Wallet, decode, encode, signer_of, unsigned};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::scripted::{Conversation, Scripted};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Says, VerdictPeer};

use super::calls::Protocol;
use super::signer::{Log, section, service, signatures};

/// In what a payment travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum In {
    Header,
    Call(Protocol),
}

const EVERYWHERE: [In; 3] = [In::Header, In::Call(Protocol::Mcp), In::Call(Protocol::A2a)];

/// Where the key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Here,
    Remote,
}

fn payment_in(header: Option<&str>, body: &[u8]) -> Value {
    if let Some(value) = header {
        return serde_json::from_str(&decode(value)).unwrap();
    }
    let call: Value = serde_json::from_slice(body).unwrap();
    let params = &call["params"];
    let places = [
        &params["_meta"]["x402/payment"],
        &params["message"]["metadata"]["x402.payment.payload"],
    ];
    places.into_iter().find(|place| !place.is_null()).unwrap().clone()
}

/// A seller that breaks off its first conversation and sells in every later one, a wallet, and all that stands around them.
struct House {
    authority: Authority,
    peer: VerdictPeer,
    seller: Scripted,
    /// The payments that came, as they were written.
    paid: Arc<Mutex<Vec<Value>>>,
    wallet: Arc<Wallet>,
    signing: Origin,
    log: Log,
    folder: TempDir,
}

impl House {
    async fn new() -> Self {
        let authority = Authority::default();
        let paid = Arc::<Mutex<Vec<Value>>>::default();
        let kept = Arc::clone(&paid);
        let script = move |mut client: Conversation| {
            let kept = Arc::clone(&kept);
            async move {
                let Some((head, body)) = client.request().await else { return };
                kept.lock().unwrap().push(payment_in(head.header("payment-signature"), &body));
                if client.index > 0 {
                    client.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsold").await;
                }
            }
        };
        let seller = Scripted::start(Some(authority.server(HOST, Alpn::H1)), script).await;
        let wallet = Arc::new(Wallet::default());
        let (signing, log) = service(wallet.clone(), 200).await;
        House {
            authority,
            peer: VerdictPeer::says(Says::Go).await,
            seller,
            paid,
            wallet,
            signing,
            log,
            folder: TempDir::new().unwrap(),
        }
    }

    fn start(&self, key: Key) -> Tollgate {
        let signer = match key {
            Key::Here => section(&self.wallet, "placeholder"),
            Key::Remote => {
                let remote = json!({ "url": format!("http://{}", self.signing.address) });
                json!({ "payments": { "signer": { "wallet": self.wallet.address, "remote": remote } } })
            }
        };
        Setup::new(policy::open(&[self.seller.port()]))
            .local_host()
            .trust(&self.authority)
            .config(payment::settings())
            .config(json!({ "payments": { "store": self.folder.path().join("payments.redb") } }))
            .config(self.peer.settings())
            .config(signer)
            .env("PAYER_KEY", &self.wallet.key_hex())
            .start()
    }

    /// What an agent without a key sends, under an identifier.
    fn unsigned(&self, place: In) -> Value {
        let url = format!("https://{HOST}:{}/paid", self.seller.port());
        let resource = match place {
            In::Header => url,
            In::Call(protocol) => protocol.resource(&url),
        };
        let mut payment = unsigned(self.wallet.v2(&resource, &Terms::default()));
        payment["extensions"] = json!({ "payment-identifier": { "info": { "required": false, "id": "pay_0123456789abcdef" } } });
        payment
    }

    async fn send(&self, gate: &Tollgate, place: In, payment: &Value, turn: usize) -> tollgate_tests::answer::Answer {
        let ask = Ask::get(self.seller.port(), "/paid");
        match place {
            In::Header => {
                let ask = ask.header("PAYMENT-SIGNATURE", encode(payment));
                gate.fetch(Via::TlsH1, &ask).await
            }
            In::Call(protocol) => {
                let mut call = protocol.paid(payment);
                call["id"] = json!(turn);
                gate.fetch(Via::TlsH1, &ask.json(&call.to_string())).await
            }
        }
    }

    fn paid(&self) -> Vec<Value> {
        self.paid.lock().unwrap().clone()
    }

    fn asked_to_sign(&self) -> usize {
        self.log.lock().unwrap().len()
    }
}

#[tokio::test]
async fn a_payment_that_is_sent_again_has_one_go_and_one_signature() {
    for key in [Key::Here, Key::Remote] {
        for place in EVERYWHERE {
            let case = format!("{key:?} {place:?}");
            let house = House::new().await;
            let gate = house.start(key);
            let payment = house.unsigned(place);
            let lost = house.send(&gate, place, &payment, 0).await;
            lost.assert_denied(502, "upstream_unreachable");
            house.send(&gate, place, &payment, 1).await.assert_allowed();
            let third = house.send(&gate, place, &payment, 2).await;
            third.assert_denied(403, "payment_replayed");
            let paid = house.paid();
            assert_eq!(paid.len(), 2, "{case}");
            assert_eq!(paid[0], paid[1], "{case}: the same payment, to the last byte of its signature");
            assert_eq!(signer_of(&paid[0]), house.wallet.address, "{case}");
            let asked = usize::from(key == Key::Remote);
            assert_eq!((house.peer.questions().len(), house.asked_to_sign()), (1, asked), "{case}");
            assert_eq!(signatures(&gate, "signed").await, 1, "{case}");
            for outcome in ["refused", "unavailable", "invalid"] {
                assert_eq!(signatures(&gate, outcome).await, 0, "{case}: {outcome}");
            }
        }
    }
}

#[tokio::test]
async fn after_a_crash_a_key_at_hand_repeats_itself_and_a_service_is_not_asked_twice() {
    for (key, reason) in [(Key::Here, None), (Key::Remote, Some("payment_signer_unavailable"))] {
        let house = House::new().await;
        let mut gate = house.start(key);
        let payment = house.unsigned(In::Header);
        house.send(&gate, In::Header, &payment, 0).await;
        let asked = house.asked_to_sign();
        gate.signal(rustix::process::Signal::KILL);
        gate.ended().await;
        let kept = std::fs::read(house.folder.path().join("payments.redb")).unwrap();
        let first = house.paid().remove(0);
        let signature = first["payload"]["signature"].as_str().unwrap()[2..].to_owned();
        let bytes = hex::decode(&signature).unwrap();
        assert!(
            !kept.windows(64).any(|window| window == &bytes[..64]),
            "the signature is on the disk"
        );
        assert!(!String::from_utf8_lossy(&kept).contains(&signature), "the signature is on the disk");

        let gate = house.start(key);
        let again = house.send(&gate, In::Header, &payment, 1).await;
        assert_eq!(again.reason(), reason, "{key:?}: {again:?}");
        let paid = house.paid();
        match reason {
            None => assert_eq!((paid.len(), &paid[1]), (2, &first)),
            Some(_) => assert_eq!(paid.len(), 1, "nothing left"),
        }
        assert_eq!((house.peer.questions().len(), house.asked_to_sign()), (1, asked), "{key:?}");
        assert_eq!(signatures(&gate, "signed").await, 0, "{key:?}: no second one");
        let third = house.send(&gate, In::Header, &payment, 2).await;
        third.assert_denied(403, "payment_replayed");
    }
}

/// Twelve payments at once, and a service that may be asked by one, while one waits.
#[tokio::test]
async fn a_crowd_of_payments_does_not_storm_the_signing_service() {
    let wallet = Arc::new(Wallet::default());
    let peer = VerdictPeer::says(Says::Go).await;
    let authority = Authority::default();
    let seller = Origin::tls(&authority, Alpn::H1).await;
    let silent = Scripted::start(None, |mut client: Conversation| async move {
        while client.request().await.is_some() {
            client.linger().await;
        }
    })
    .await;
    let remote = json!({ "url": format!("http://{}", silent.address), "timeout": "2s", "max_in_flight": 1, "queue": 1 });
    let gate = Setup::new(policy::open(&[seller.port()]))
        .local_host()
        .trust(&authority)
        .config(payment::settings())
        .config(peer.settings())
        .config(json!({ "payments": { "signer": { "wallet": wallet.address, "remote": remote } } }))
        .start();
    let asks: Vec<(String, String)> = (0..12)
        .map(|number| {
            let target = format!("/paid?{number}");
            let payment = unsigned(wallet.v2(&format!("https://{HOST}:{}{target}", seller.port()), &Terms::default()));
            (target, encode(&payment))
        })
        .collect();
    let gate = Arc::new(gate);
    let mut sent = tokio::task::JoinSet::new();
    for (target, payment) in asks {
        let (gate, port) = (Arc::clone(&gate), seller.port());
        sent.spawn(async move {
            let ask = Ask::get(port, &target).header("PAYMENT-SIGNATURE", payment);
            let started = Instant::now();
            let answer = gate.fetch(Via::TlsH1, &ask).await;
            answer.assert_denied(403, "payment_signer_unavailable");
            started.elapsed()
        });
    }
    let took = sent.join_all().await;
    let at_once = took.iter().filter(|took| **took < Duration::from_millis(1_500)).count();
    assert_eq!(at_once, 10, "all but the one that is asked for and the one that waits");
    // Whoever waits gets its turn when the first one gives up, if there is a moment left for it.
    assert!(silent.heads().len() <= 2, "{} questions", silent.heads().len());
    assert_eq!(signatures(&gate, "unavailable").await, 12);
    seller.assert_no_request();
}
