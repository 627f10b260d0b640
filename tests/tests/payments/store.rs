//! What was paid is remembered across restarts and crashes; a memory that cannot be kept lets no payment out, and everything else.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::eventually;
use tollgate_tests::origin::Origin;
use tollgate_tests::payment::{self, Terms, Wallet, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::scripted::{Conversation, Scripted};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Says, VerdictPeer};

/// A TLS seller, a verdict service that says GO, and a place for the store.
struct House {
    authority: Authority,
    peer: VerdictPeer,
    folder: TempDir,
}

impl House {
    async fn new() -> Self {
        House {
            authority: Authority::default(),
            peer: VerdictPeer::says(Says::Go).await,
            folder: TempDir::new().unwrap(),
        }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("payments.redb")
    }

    fn setup(&self, port: u16, store: &Path) -> Setup {
        Setup::new(policy::open(&[port]))
            .local_host()
            .trust(&self.authority)
            .config(payment::settings())
            .config(self.peer.settings())
            .config(json!({ "payments": { "store": store } }))
    }

    fn start(&self, port: u16) -> Tollgate {
        self.setup(port, &self.store()).start()
    }
}

/// Takes every request, and answers only those without a payment.
async fn swallow(mut seller: Conversation) {
    while let Some((head, _)) = seller.request().await {
        if head.header("payment-signature").is_some() {
            return seller.linger().await;
        }
        seller.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfree").await;
    }
}

fn signed(port: u16, target: &str, identifier: Option<&str>) -> Value {
    let mut payment = Wallet::default().v2(&format!("https://{HOST}:{port}{target}"), &Terms::default());
    if let Some(identifier) = identifier {
        payment["extensions"] = json!({ "payment-identifier": { "info": { "required": false, "id": identifier } } });
    }
    payment
}

fn paying<'a>(port: u16, target: &'a str, payment: &Value) -> Ask<'a> {
    Ask::get(port, target).header("PAYMENT-SIGNATURE", encode(payment))
}

#[tokio::test]
async fn killed_between_go_and_the_answer_it_refuses_the_replay_after_its_restart() {
    let house = House::new().await;
    let seller = Scripted::start(Some(house.authority.server(HOST, Alpn::H1)), swallow).await;
    let port = seller.port();
    let mut gate = house.start(port);
    let payment = signed(port, "/paid", None);
    let ask = paying(port, "/paid", &payment);
    let mut client = gate.tls_h1(port).await;
    client.try_send(ask.h1(Via::TlsH1)).await.unwrap();
    eventually("the payment at its seller", || {
        seller.heads().contains(&"GET /paid HTTP/1.1".to_owned()).then_some(())
    })
    .await;
    gate.signal(rustix::process::Signal::KILL);
    gate.ended().await;

    let gate = house.start(port);
    gate.fetch(Via::TlsH1, &ask).await.assert_denied(403, "payment_replayed");
    let anew = signed(port, "/paid", None);
    gate.fetch(Via::TlsH1, &paying(port, "/paid", &anew))
        .await
        .assert_denied(403, "payment_unsettled");
    gate.fetch(Via::TlsH1, &Ask::get(port, "/free")).await.assert_allowed();
    assert_eq!(house.peer.questions().len(), 1, "neither was asked about");
    let paid = seller.heads().iter().filter(|head| head.contains("/paid")).count();
    assert_eq!(paid, 1);
}

#[tokio::test]
async fn what_was_answered_is_remembered_after_an_orderly_end() {
    let house = House::new().await;
    let seller = Origin::tls(&house.authority, Alpn::H2).await;
    let port = seller.port();
    let payment = signed(port, "/paid", Some("pay_0123456789abcdef"));
    let mut gate = house.start(port);
    gate.fetch(Via::TlsH2, &paying(port, "/paid", &payment)).await.assert_allowed();
    gate.signal(rustix::process::Signal::TERM);
    gate.ended().await;

    let gate = house.start(port);
    gate.fetch(Via::TlsH2, &paying(port, "/paid", &payment))
        .await
        .assert_denied(403, "payment_replayed");
    let same_name = signed(port, "/paid", Some("pay_0123456789abcdef"));
    gate.fetch(Via::TlsH1, &paying(port, "/paid", &same_name))
        .await
        .assert_denied(403, "payment_identifier_invalid");
    let anew = signed(port, "/paid", Some("pay_fedcba9876543210"));
    gate.fetch(Via::TlsH1, &paying(port, "/paid", &anew)).await.assert_allowed();
    let kept = std::fs::read(house.store()).unwrap();
    let shown = String::from_utf8_lossy(&kept);
    for secret in ["pay_0123456789abcdef", HOST, "/paid"] {
        assert!(!shown.contains(secret), "{secret} is in the store");
    }
    let nonce = payment["payload"]["authorization"]["nonce"].as_str().unwrap();
    let nonce = hex::decode(&nonce[2..]).unwrap();
    assert!(!kept.windows(32).any(|bytes| bytes == nonce), "the nonce is in the store");
}

#[tokio::test]
async fn a_lost_answer_is_asked_for_once_more_under_its_identifier() {
    let house = House::new().await;
    // Breaks off the first time, sells the second.
    let script = |mut seller: Conversation| async move {
        while seller.request().await.is_some() {
            if seller.index == 0 {
                return;
            }
            seller.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsold").await;
        }
    };
    let seller = Scripted::start(Some(house.authority.server(HOST, Alpn::H1)), script).await;
    let port = seller.port();
    let mut gate = house.start(port);
    let payment = signed(port, "/paid", Some("pay_0123456789abcdef"));
    let ask = paying(port, "/paid", &payment);
    gate.fetch(Via::TlsH1, &ask).await.assert_denied(502, "upstream_unreachable");
    gate.signal(rustix::process::Signal::KILL);
    gate.ended().await;

    let gate = house.start(port);
    let anew = signed(port, "/paid", Some("pay_fedcba9876543210"));
    gate.fetch(Via::TlsH1, &paying(port, "/paid", &anew))
        .await
        .assert_denied(403, "payment_unsettled");
    let answer = gate.fetch(Via::TlsH1, &ask).await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "sold"));
    assert_eq!(house.peer.questions().len(), 1, "one GO for one payment");
    gate.fetch(Via::TlsH1, &ask).await.assert_denied(403, "payment_replayed");
    gate.fetch(Via::TlsH1, &paying(port, "/paid", &anew)).await.assert_allowed();
}

/// A file that even root may not write.
fn unwritable(folder: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let path = folder.join("read-only");
    std::fs::write(&path, "").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o400)).unwrap();
    if std::fs::OpenOptions::new().write(true).open(&path).is_err() {
        return path;
    }
    PathBuf::from("/sys/kernel/uevent_seqnum")
}

#[tokio::test]
async fn a_store_that_cannot_be_used_stops_payments_and_nothing_else() {
    let house = House::new().await;
    let seller = Origin::tls(&house.authority, Alpn::H1).await;
    let port = seller.port();
    let at = |name: &str| house.folder.path().join(name);
    std::fs::write(at("corrupt"), "no store at all ".repeat(10_000)).unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    let holder = house.setup(port, &at("locked")).start();
    let cases = [
        (at("locked"), "another process is using it"),
        (unwritable(house.folder.path()), "it may not be written"),
        (at("corrupt"), "it is corrupt, or no store of payments"),
        (at("folder"), "is a directory"),
        (at("missing/store"), "not found"),
    ];
    for (store, fault) in cases {
        let gate = house.setup(port, &store).start();
        let answer = gate.fetch(Via::TlsH1, &paying(port, "/paid", &signed(port, "/paid", None))).await;
        answer.assert_denied(403, "payment_store_unavailable");
        let body = answer.json();
        assert_eq!(body["error"], "middleware_failed");
        assert!(body["detail"].as_str().unwrap().contains(fault), "{fault}: {body}");
        let folder = house.folder.path().to_str().unwrap();
        assert!(!answer.text().contains(folder), "the client hears of the operator's files: {body}");
        gate.fetch(Via::TlsH1, &Ask::get(port, "/free")).await.assert_allowed();
        let (status, ready) = gate.readyz().await;
        let ready: Value = serde_json::from_str(&ready).unwrap();
        assert_eq!((status, &ready["reasons"]), (503, &json!(["payment_store_unusable"])));
        assert!(ready["payments"]["fault"].as_str().unwrap().contains(fault), "{ready}");
        let usable = gate.metric("tollgate_payment_store_ready", &[]).await;
        assert!(usable.abs() < f64::EPSILON, "{fault}");
        gate.audited(json!({ "decision": "deny", "reason_code": "payment_store_unavailable" }))
            .await;
        gate.logged("the payment store cannot be used").await;
    }
    assert!(house.peer.questions().is_empty(), "nobody is asked in vain");
    assert!(seller.requests().iter().all(|seen| seen.target == "/free"));

    // The one whose holder ends takes over.
    let next = house.setup(port, &at("locked")).start();
    assert_eq!(next.readyz().await.0, 503);
    drop(holder);
    next.logged("payments are remembered on disk").await;
    assert_eq!(next.readyz().await.0, 200);
    next.fetch(Via::TlsH1, &paying(port, "/paid", &signed(port, "/paid", None)))
        .await
        .assert_allowed();
}

#[tokio::test]
async fn a_disk_that_is_full_stops_payments_before_they_leave_until_there_is_room() {
    let house = House::new().await;
    let seller = Origin::tls(&house.authority, Alpn::H1).await;
    let port = seller.port();
    let gate = house
        .setup(port, &house.store())
        .config(json!({ "audit": { "path": "/dev/null" } }))
        .file_limit()
        .start();
    let pay = || {
        let payment = signed(port, "/paid", None);
        let gate = &gate;
        async move { gate.fetch(Via::TlsH1, &paying(port, "/paid", &payment)).await }
    };
    pay().await.assert_allowed();
    gate.largest_file(Some(4096));
    let refused = pay().await;
    refused.assert_denied(403, "payment_store_unavailable");
    assert!(
        refused.json()["detail"].as_str().unwrap().contains("no space is left"),
        "{refused:?}"
    );
    assert_eq!(seller.requests().len(), 1, "what was not written down did not leave");
    gate.fetch(Via::TlsH1, &Ask::get(port, "/free")).await.assert_allowed();
    let errors = gate.metric("tollgate_payment_store_errors_total", &[]).await;
    assert!(errors >= 1.0, "{errors}");
    gate.largest_file(None);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while gate.readyz().await.0 != 200 {
        assert!(std::time::Instant::now() < end, "{:?}", gate.readyz().await);
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    pay().await.assert_allowed();
}

#[tokio::test]
async fn unpaid_traffic_writes_nothing() {
    let house = House::new().await;
    let seller = Origin::tls(&house.authority, Alpn::H1).await;
    let port = seller.port();
    let gate = house.start(port);
    let before = std::fs::read(house.store()).unwrap();
    for _ in 0..20 {
        gate.fetch(Via::TlsH1, &Ask::get(port, "/free")).await.assert_allowed();
    }
    assert!(before == std::fs::read(house.store()).unwrap());
    gate.fetch(Via::TlsH1, &paying(port, "/paid", &signed(port, "/paid", None)))
        .await
        .assert_allowed();
    assert!(before != std::fs::read(house.store()).unwrap());
}

#[tokio::test]
async fn without_a_store_the_start_says_so_once() {
    let house = House::new().await;
    let seller = Origin::tls(&house.authority, Alpn::H1).await;
    let gate = Setup::new(policy::open(&[seller.port()]))
        .local_host()
        .config(house.peer.settings())
        .start();
    let log = gate.logged("payments-in-memory").await;
    assert_eq!(log.matches("payments-in-memory").count(), 1, "{log}");
    let (status, ready) = gate.readyz().await;
    let ready: Value = serde_json::from_str(&ready).unwrap();
    assert_eq!((status, &ready["payments"]["kept"]), (200, &json!("in_memory")));
}
