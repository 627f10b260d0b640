//! Payments that are signed here: after every check and GO, by the wallet, and by nobody else.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tollgate_tests::authority::Alpn;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::{Origin, Reply, Seen, standard};
use tollgate_tests::payment::{self, Terms, Wallet, decode, encode, encode_text, placeholder, signer_of, unsigned};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};
use tollgate_tests::websocket::{ENFORCE, Seen as Frame, Sockets, WEBSOCKET, text};
use tollgate_tests::world::World;

use super::calls::Protocol;
use super::seller::{Shop, v1_body};
use super::url;

pub(super) fn section(wallet: &Wallet, agent: &str) -> Value {
    json!({ "payments": { "signer": { "wallet": wallet.address, "agent": agent, "key_env": "PAYER_KEY" } } })
}

/// Two origins, a verdict service in this mood, and a gate that signs for the wallet.
async fn signing(mood: Mood, wallet: &Wallet, agent: &str) -> (World, VerdictPeer) {
    let peer = VerdictPeer::start(mood).await;
    let settings = peer.settings();
    let section = section(wallet, agent);
    let world = World::start(policy::open, |setup| {
        setup
            .config(payment::settings())
            .config(settings)
            .config(section)
            .env("PAYER_KEY", &wallet.key_hex())
    })
    .await;
    (world, peer)
}

pub(super) async fn signatures(gate: &Tollgate, outcome: &str) -> u64 {
    let count = gate.metric("tollgate_signatures_total", &[("outcome", outcome)]).await;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
    {
        count as u64
    }
}

/// The header of a payment, by its version.
fn paying(port: u16, json: &str) -> Ask<'static> {
    let name = if json.contains("\"x402Version\":1") {
        "X-PAYMENT"
    } else {
        "PAYMENT-SIGNATURE"
    };
    Ask::get(port, "/paid").header(name, encode_text(json))
}

fn paid_with(seen: &Seen) -> String {
    decode(seen.header("payment-signature").or(seen.header("x-payment")).unwrap())
}

#[tokio::test]
async fn after_go_the_wallet_signs_and_nothing_else_of_the_payment_changes() {
    let wallet = Wallet::default();
    for agent in ["placeholder", "throwaway-key"] {
        let (world, peer) = signing(Mood::Always(Says::Go), &wallet, agent).await;
        let mut expected = 0;
        for via in Via::ALL {
            let throwaway = Wallet::default();
            let payer = if agent == "placeholder" { &wallet } else { &throwaway };
            let written = [payer.v2(&url(&world, via), &Terms::default()), payer.v1(&Terms::default())];
            for payment in written {
                let payment = if agent == "placeholder" { unsigned(payment) } else { payment };
                let json = payment.to_string();
                world.gate.fetch(via, &paying(world.port(via), &json)).await.assert_allowed();
                let sent = paid_with(&world.origin(via).last());
                let document: Value = serde_json::from_str(&sent).unwrap();
                assert_eq!(signer_of(&document), wallet.address, "{agent} {via:?}");
                assert_eq!(document["payload"]["authorization"]["from"], wallet.address, "{agent} {via:?}");
                let signature = document["payload"]["signature"].as_str().unwrap();
                let as_written = sent
                    .replace(signature, payment["payload"]["signature"].as_str().unwrap())
                    .replace(&wallet.address, payer.address.as_str());
                assert_eq!(as_written, json, "{agent} {via:?}");
                expected += 1;
                assert_eq!(signatures(&world.gate, "signed").await, expected, "one for each GO");
            }
        }
        let told = peer.questions();
        assert_eq!(told.len() as u64, expected);
        let line = world
            .gate
            .audited(json!({ "decision": "allow", "payment": { "payer": wallet.address } }))
            .await;
        assert_eq!(line["verdict"]["verdict"], "go");
    }
}

#[tokio::test]
async fn without_exactly_go_nothing_is_signed() {
    let wallet = Wallet::default();
    for (mood, reason) in [
        (Mood::Always(Says::Hold), "verdict_hold"),
        (Mood::Always(Says::Stop), "verdict_stop"),
        (Mood::Always(Says::Unavailable), "verdict_unavailable"),
        (Mood::Dead, "verdict_unavailable"),
    ] {
        let (world, _peer) = signing(mood, &wallet, "placeholder").await;
        for via in [Via::PlainTunnel, Via::TlsH2] {
            let payment = unsigned(wallet.v2(&url(&world, via), &Terms::default()));
            world
                .gate
                .fetch(via, &paying(world.port(via), &payment.to_string()))
                .await
                .assert_denied(403, reason);
        }
        world.assert_untouched();
        assert_eq!(signatures(&world.gate, "signed").await, 0, "{reason}");
    }
}

#[tokio::test]
async fn what_the_sandbox_may_not_send_is_refused_before_anybody_is_asked() {
    let (wallet, stranger) = (Wallet::default(), Wallet::default());
    let via = Via::TlsH1;
    let usual = Terms::default;
    let late = Terms {
        valid_before: payment::now() + 86_400,
        ..usual()
    };
    for (agent, table) in [
        (
            "placeholder",
            vec![
                (
                    "a real signature of the wallet",
                    true,
                    &wallet,
                    usual(),
                    "payment_signed_in_sandbox",
                ),
                ("another payer's signature", true, &stranger, usual(), "payment_payer_not_allowed"),
                (
                    "another payer's placeholder",
                    false,
                    &stranger,
                    usual(),
                    "payment_payer_not_allowed",
                ),
                ("a window without end", false, &wallet, late, "payment_expired"),
            ],
        ),
        (
            "throwaway-key",
            vec![
                (
                    "a real signature of the wallet",
                    true,
                    &wallet,
                    usual(),
                    "payment_signed_in_sandbox",
                ),
                ("a placeholder", false, &stranger, usual(), "payment_malformed"),
            ],
        ),
    ] {
        let (world, peer) = signing(Mood::Always(Says::Go), &wallet, agent).await;
        for (name, signed, payer, terms, reason) in table {
            for payment in [payer.v2(&url(&world, via), &terms), payer.v1(&terms)] {
                let payment = if signed { payment } else { unsigned(payment) };
                let answer = world.gate.fetch(via, &paying(world.port(via), &payment.to_string())).await;
                assert_eq!(answer.reason(), Some(reason), "{agent}: {name}: {answer:?}");
            }
        }
        let permit = json!({ "x402Version": 2, "payload": { "signature": placeholder(), "permit2Authorization": {} },
            "accepted": { "scheme": "exact" }, "resource": { "url": url(&world, via) } });
        let answer = world.gate.fetch(via, &paying(world.port(via), &permit.to_string())).await;
        assert_eq!(answer.reason(), Some("payment_scheme_not_allowed"), "{answer:?}");
        world.assert_untouched();
        assert!(peer.questions().is_empty());
        assert_eq!(signatures(&world.gate, "signed").await, 0);
    }
}

#[tokio::test]
async fn the_wallets_nonce_is_used_once_whoever_writes_it() {
    let wallet = Wallet::default();
    let via = Via::TlsH1;
    let (world, _peer) = signing(Mood::Always(Says::Go), &wallet, "throwaway-key").await;
    let terms = Terms::default();
    let pay = |payer: &Wallet| paying(world.port(via), &payer.v2(&url(&world, via), &terms).to_string());
    world.gate.fetch(via, &pay(&Wallet::default())).await.assert_allowed();
    world
        .gate
        .fetch(via, &pay(&Wallet::default()))
        .await
        .assert_denied(403, "payment_replayed");
    assert_eq!(signatures(&world.gate, "signed").await, 1);
    assert_eq!(world.tls.requests().len(), 1);
}

#[tokio::test]
async fn a_seller_that_cannot_be_reached_gets_no_signature_until_it_can() {
    let wallet = Wallet::default();
    let peer = VerdictPeer::says(Says::Go).await;
    let port = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let gate = Setup::new(policy::open(&[port]))
        .local_host()
        .config(payment::settings())
        .config(peer.settings())
        .config(section(&wallet, "placeholder"))
        .env("PAYER_KEY", &wallet.key_hex())
        .start();
    let payment = unsigned(wallet.v2(&format!("http://{HOST}:{port}/paid"), &Terms::default()));
    let ask = paying(port, &payment.to_string());
    gate.fetch(Via::PlainTunnel, &ask).await.assert_denied(502, "upstream_unreachable");
    assert_eq!(signatures(&gate, "signed").await, 0);
    let seller = Origin::start_at(&format!("127.0.0.1:{port}"), None, standard).await;
    gate.fetch(Via::PlainTunnel, &ask).await.assert_allowed();
    assert_eq!((signatures(&gate, "signed").await, peer.questions().len()), (1, 1));
    assert_eq!(
        signer_of(&serde_json::from_str(&paid_with(&seller.last())).unwrap()),
        wallet.address
    );
}

fn sells(seen: &Seen) -> Reply {
    let address = format!("https://{}{}", seen.authority.as_deref().unwrap_or_default(), seen.target);
    let answer = |status: u16, body: String| {
        let response = http::Response::builder().status(status);
        response.body(Full::new(Bytes::from(body)).boxed()).unwrap()
    };
    match seen.header("payment-signature").or(seen.header("x-payment")) {
        Some(_) => answer(200, "sold".to_owned()),
        None if seen.target.starts_with("/v1") => answer(402, v1_body(&address).to_string()),
        None => {
            let mut reply = answer(402, "{}".to_owned());
            let value = payment::challenge(&address).parse().unwrap();
            reply.headers_mut().insert("payment-required", value);
            reply
        }
    }
}

#[tokio::test]
async fn an_unsigned_payment_answers_the_402_that_passed_and_once() {
    let wallet = Wallet::default();
    let peer = VerdictPeer::says(Says::Go).await;
    let authority = tollgate_tests::authority::Authority::default();
    let seller = Origin::start(Some(authority.server(HOST, Alpn::H1)), sells).await;
    let gate = Setup::new(policy::open(&[seller.port()]))
        .local_host()
        .trust(&authority)
        .config(payment::settings())
        .config(section(&wallet, "placeholder"))
        .config(json!({ "payments": { "require_challenge": true, "screen_challenges": true } }))
        .config(peer.settings())
        .env("PAYER_KEY", &wallet.key_hex())
        .start();
    let shop = Shop { gate, seller, peer };
    let via = Via::TlsH1;
    for target in ["/v1", "/v2"] {
        let address = format!("https://{HOST}:{}{target}", shop.seller.port());
        let ask = || {
            let terms = Terms::default();
            let (name, payment) = match target {
                "/v1" => ("X-PAYMENT", wallet.v1(&terms)),
                _ => ("PAYMENT-SIGNATURE", wallet.v2(&address, &terms)),
            };
            shop.ask(target).header(name, encode(&unsigned(payment)))
        };
        let unasked = shop.gate.fetch(via, &ask()).await;
        unasked.assert_denied(403, "payment_no_challenge");
        shop.asked_to_pay(via, target).await;
        shop.gate.fetch(via, &ask()).await.assert_allowed();
        shop.gate.fetch(via, &ask()).await.assert_denied(403, "payment_no_challenge");
    }
    assert_eq!(shop.sold(), 2);
    assert_eq!(signatures(&shop.gate, "signed").await, 2);
}

/// The call of a tool that is paid for, with blanks that have to stay.
fn call(payment: &Value) -> String {
    format!(
        "{{ \"jsonrpc\":\"2.0\", \"id\": 1,\"method\":\"tools/call\",\"params\":{{\"name\":\"weather\", \"arguments\":{{}},\"_meta\":{{\"x402/payment\": {payment} }}}}}}\n"
    )
}

#[tokio::test]
async fn a_payment_in_a_body_is_signed_where_it_stands() {
    let wallet = Wallet::default();
    for agent in ["placeholder", "throwaway-key"] {
        let (world, _peer) = signing(Mood::Always(Says::Go), &wallet, agent).await;
        for via in [Via::PlainTunnel, Via::TlsH1, Via::TlsH2] {
            let throwaway = Wallet::default();
            let payment = if agent == "placeholder" {
                unsigned(wallet.v2("mcp://tool/weather", &Terms::default()))
            } else {
                throwaway.v2("mcp://tool/weather", &Terms::default())
            };
            let body = call(&payment);
            let ask = Ask::get(world.port(via), "/mcp").json(&body);
            world.gate.fetch(via, &ask).await.assert_allowed();
            let seen = world.origin(via).last();
            let sent = String::from_utf8(seen.body.to_vec()).unwrap();
            let document: Value = serde_json::from_str(&sent).unwrap();
            let signed = &document["params"]["_meta"]["x402/payment"];
            assert_eq!(signer_of(signed), wallet.address, "{agent} {via:?}");
            let as_written = sent
                .replace(
                    signed["payload"]["signature"].as_str().unwrap(),
                    payment["payload"]["signature"].as_str().unwrap(),
                )
                .replace(&wallet.address, payment["payload"]["authorization"]["from"].as_str().unwrap());
            assert_eq!(as_written, body, "{agent} {via:?}");
        }
    }
}

#[tokio::test]
async fn a_message_to_an_agent_is_paid_by_the_wallet_and_changed_in_nothing_else() {
    let wallet = Wallet::default();
    let (world, peer) = signing(Mood::Always(Says::Go), &wallet, "placeholder").await;
    for (number, via) in Via::ALL.into_iter().enumerate() {
        let terms = Terms::default();
        let written = Protocol::A2a.paid(&unsigned(wallet.v2(&url(&world, via), &terms)));
        let text = written.to_string();
        let ask = Ask::get(world.port(via), "/paid").json(&text);
        let ask = ask.header("X-A2A-Extensions", "https://github.com/google-a2a/a2a-x402/v0.1");
        world.gate.fetch(via, &ask).await.assert_allowed();
        let seen = world.origin(via).last();
        let mut sent: Value = serde_json::from_slice(&seen.body).unwrap();
        let paid = &mut sent["params"]["message"]["metadata"]["x402.payment.payload"];
        assert_eq!(signer_of(paid), wallet.address, "{via:?}");
        assert_eq!(
            paid["payload"]["signature"],
            wallet.sign(&terms),
            "over exactly the terms of the agent"
        );
        paid["payload"]["signature"] = json!(placeholder());
        assert_eq!(sent, written, "{via:?}");
        assert_eq!(
            seen.body.len(),
            text.len(),
            "{via:?}: a signature is as long as the placeholder, and nothing else is new"
        );
        assert_eq!(
            (signatures(&world.gate, "signed").await, peer.questions().len()),
            (number as u64 + 1, number + 1)
        );
    }
}

#[tokio::test]
async fn a_payment_that_a_signature_cannot_be_put_into_is_refused() {
    let wallet = Wallet::default();
    let (world, peer) = signing(Mood::Always(Says::Go), &wallet, "placeholder").await;
    let body = call(&unsigned(wallet.v2("mcp://tool/weather", &Terms::default())));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, body.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let mut ask = Ask::get(world.tls.port(), "/mcp")
        .method("POST")
        .header("content-type", "application/json")
        .header("content-encoding", "gzip");
    ask.body = &packed;
    world
        .gate
        .fetch(Via::TlsH1, &ask)
        .await
        .assert_denied(403, "payment_scheme_not_allowed");
    world.tls.assert_no_request();
    assert!(peer.questions().is_empty());

    let section = section(&wallet, "placeholder");
    let sockets = Sockets::start(&[WEBSOCKET, ENFORCE, "access: full"], "", "", |setup| {
        setup
            .config(payment::settings())
            .config(peer.settings())
            .config(section)
            .env("PAYER_KEY", &wallet.key_hex())
    })
    .await;
    let mut client = sockets.open("/mcp").await;
    client.send(text(&body)).await;
    assert_eq!(
        Frame::next(&mut client).await.close(),
        (1008, "payment_scheme_not_allowed".to_owned())
    );
    assert!(peer.questions().is_empty());
    assert_eq!(signatures(&sockets.gate, "signed").await, 0);
}

/// What a signing service was asked, and how many verdicts and sales there had been by then.
pub(super) type Log = Arc<Mutex<Vec<(Value, Option<String>)>>>;

/// A signing service with the wallet's key.
pub(super) async fn service(wallet: Arc<Wallet>, status: u16) -> (Origin, Log) {
    let log = Log::default();
    let kept = log.clone();
    let origin = Origin::start(None, move |seen| {
        let asked: Value = serde_json::from_slice(&seen.body).unwrap();
        let mut digest = [0; 32];
        hex::decode_to_slice(&asked["digest"].as_str().unwrap()[2..], &mut digest).unwrap();
        let answer = json!({ "signature": wallet.sign_digest(&digest) }).to_string();
        kept.lock().unwrap().push((asked, seen.header("authorization").map(str::to_owned)));
        let response = http::Response::builder().status(status);
        response.body(Full::new(Bytes::from(answer)).boxed()).unwrap()
    })
    .await;
    (origin, log)
}

#[tokio::test]
async fn a_remote_signer_is_asked_after_the_verdict_and_only_then() {
    let wallet = Arc::new(Wallet::default());
    let via = Via::TlsH1;
    for (status, says, reason, asked) in [
        (200, Says::Go, None, 1),
        (403, Says::Go, Some("payment_signer_unavailable"), 1),
        (500, Says::Go, Some("payment_signer_unavailable"), 1),
        (200, Says::Hold, Some("verdict_hold"), 0),
    ] {
        let (service, log) = service(wallet.clone(), status).await;
        let peer = VerdictPeer::says(says).await;
        let settings = peer.settings();
        let remote = json!({ "payments": { "signer": { "wallet": wallet.address, "remote": {
            "url": format!("http://{}", service.address), "token_env": "SIGNER_TOKEN" } } } });
        let world = World::start(policy::open, |setup| {
            setup
                .config(payment::settings())
                .config(settings)
                .config(remote)
                .env("SIGNER_TOKEN", "tok-5e1f")
        })
        .await;
        let payment = unsigned(wallet.v2(&(url(&world, via) + "?secret=1"), &Terms::default()));
        let mut ask = paying(world.port(via), &payment.to_string());
        ask.target = "/paid?secret=1";
        let answer = world.gate.fetch(via, &ask).await;
        assert_eq!(answer.reason(), reason, "{status}: {answer:?}");
        let log = log.lock().unwrap().clone();
        assert_eq!(log.len(), asked, "{status}");
        if let Some((question, token)) = log.first() {
            assert_eq!(token.as_deref(), Some("Bearer tok-5e1f"));
            assert_eq!(question["resource"], url(&world, via));
            assert_eq!(question["message"]["from"], wallet.address);
        }
        if reason.is_none() {
            let sent = serde_json::from_str(&paid_with(&world.tls.last())).unwrap();
            assert_eq!(signer_of(&sent), wallet.address);
        } else {
            world.tls.assert_no_request();
        }
        let everything = format!("{}{:?}", world.gate.stderr(), world.gate.audit_events());
        assert!(!everything.contains("tok-5e1f") && !everything.contains("secret=1"));
    }
}

#[tokio::test]
async fn what_is_no_key_of_the_wallet_keeps_it_from_starting() {
    let (wallet, other) = (Wallet::default(), Wallet::default());
    let files = tempfile::TempDir::new().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        let path = files.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let key = wallet.key_hex();
    let table = [
        ("readable by others", json!({ "key_file": file("a", &key, 0o644) }), "chmod 600"),
        ("readable by the group", json!({ "key_file": file("b", &key, 0o640) }), "chmod 600"),
        (
            "another wallet's",
            json!({ "key_file": file("c", &other.key_hex(), 0o600) }),
            "is the one of",
        ),
        ("cut short", json!({ "key_file": file("d", &key[..50], 0o600) }), "64 hex digits"),
        ("missing", json!({ "key_file": "nowhere" }), "cannot be read"),
        ("not in the environment", json!({ "key_env": "NO_SUCH_KEY" }), "NO_SUCH_KEY"),
        ("nowhere", json!({}), "exactly one of"),
        ("in clear", json!({ "remote": { "url": "http://signer.example.com" } }), "https://"),
    ];
    for (name, place, why) in table {
        let signer = json!({ "payments": { "signer": { "wallet": wallet.address } } });
        let setup = Setup::new(policy::open(&[443])).config(payment::settings()).config(signer);
        let Err(said) = setup.config(json!({ "payments": { "signer": place } })).try_start() else {
            panic!("{name}: it started")
        };
        assert!(said.contains(why), "{name}: {said}");
        assert!(!said.contains(&key[2..]) && !said.contains(&other.key_hex()[2..]), "{name}: {said}");
    }
    let usable = json!({ "payments": { "signer": { "wallet": wallet.address, "key_file": file("e", &key, 0o600) } } });
    Setup::new(policy::open(&[443])).config(payment::settings()).config(usable).start();
}

#[tokio::test]
async fn neither_key_nor_signature_is_ever_written_down() {
    let wallet = Wallet::default();
    let (world, _peer) = signing(Mood::Always(Says::Go), &wallet, "placeholder").await;
    let via = Via::TlsH1;
    let terms = Terms::default();
    let payment = unsigned(wallet.v2(&url(&world, via), &terms));
    world
        .gate
        .fetch(via, &paying(world.port(via), &payment.to_string()))
        .await
        .assert_allowed();
    let refused = wallet.v2(&url(&world, via), &Terms::default());
    let denied = world.gate.fetch(via, &paying(world.port(via), &refused.to_string())).await;
    denied.assert_denied(403, "payment_signed_in_sandbox");
    world
        .gate
        .audited(json!({ "decision": "deny", "reason_code": "payment_signed_in_sandbox", "payment": { "payer": wallet.address } }))
        .await;
    let sent: Value = serde_json::from_str(&paid_with(&world.tls.last())).unwrap();
    let everything = format!(
        "{}\n{:?}\n{}\n{}\n{denied:?}",
        world.gate.stderr(),
        world.gate.audit_events(),
        world.gate.metrics().await,
        world.gate.readyz().await.1,
    );
    for (name, secret) in [
        ("the key", wallet.key_hex()),
        ("the signature", sent["payload"]["signature"].as_str().unwrap().to_owned()),
        (
            "the refused signature",
            refused["payload"]["signature"].as_str().unwrap().to_owned(),
        ),
        ("the nonce", terms.nonce_hex()),
    ] {
        assert!(!everything.contains(secret.trim_start_matches("0x")), "{name}");
    }
}
