//! Many connections, few descriptors, floods of payments.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{self, Terms, Wallet, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::Setup;
use tollgate_tests::verdict_peer::Says;
use tollgate_tests::wire::H1;
use tollgate_tests::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_tunnels_are_cheap_and_in_no_ones_way() {
    let world = World::open().await;
    world.get(Via::TlsH1, "/").await.assert_allowed();
    let before = world.gate.resident();
    let mut idle = Vec::new();
    for _ in 0..400 {
        idle.push(world.gate.tls_h1(world.tls.port()).await);
    }
    let each = world.gate.resident().saturating_sub(before) / idle.len();
    assert!(each < 100 << 10, "{each} bytes per idle tunnel");
    let started = Instant::now();
    world.get(Via::TlsH2, "/").await.assert_allowed();
    assert!(started.elapsed() < Duration::from_secs(1));
    for connection in idle.iter_mut().step_by(40) {
        connection
            .request(Ask::get(world.tls.port(), "/").h1(Via::TlsH1))
            .await
            .assert_allowed();
    }
    let active = world.gate.metric("tollgate_connections_active", &[]).await;
    assert!(active >= 400.0, "{active}");
    drop(idle);
    let end = Instant::now() + Duration::from_secs(5);
    while world.gate.metric("tollgate_connections_active", &[]).await > 5.0 {
        assert!(Instant::now() < end, "connections of clients that left are kept");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn running_out_of_descriptors_does_not_end_the_accept_loop() {
    let origin = tollgate_tests::origin::Origin::plain().await;
    let mut gate = Setup::new(policy::open(&[origin.port()])).local_host().descriptors(96).start();
    let ask = Ask::get(origin.port(), "/");
    gate.fetch(Via::AbsoluteForm, &ask).await.assert_allowed();
    let mut crowd = Vec::new();
    for _ in 0..200 {
        if let Ok(Ok(stream)) = tokio::time::timeout(Duration::from_millis(200), tokio::net::TcpStream::connect(gate.proxy)).await {
            crowd.push(stream);
        }
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(gate.is_running(), "it ended:\n{}", gate.stderr());
    drop(crowd);
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        let attempt = tokio::time::timeout(Duration::from_secs(2), async {
            let mut connection = H1::dial(gate.proxy).await;
            connection.send(ask.h1(Via::AbsoluteForm)).await;
            connection.answer_or_end("GET").await
        });
        if let Ok(Ok(answer)) = attempt.await
            && answer.status == 200
        {
            break;
        }
        assert!(Instant::now() < end, "it does not accept again:\n{}", gate.stderr());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(
        gate.stderr().len() < 1 << 20,
        "it logged {} bytes about one shortage",
        gate.stderr().len()
    );
}

#[tokio::test]
async fn connections_over_the_limit_are_turned_away_and_room_comes_back() {
    let origin = tollgate_tests::origin::Origin::plain().await;
    let gate = Setup::new(policy::open(&[origin.port()]))
        .local_host()
        .config(serde_json::json!({ "limits": { "connections": 10 } }))
        .start();
    let mut crowd = Vec::new();
    for _ in 0..10 {
        let mut connection = gate.dial().await;
        connection
            .request(Ask::get(origin.port(), "/").h1(Via::AbsoluteForm))
            .await
            .assert_allowed();
        crowd.push(connection);
    }
    let mut late = gate.dial().await;
    late.send(Ask::get(origin.port(), "/").h1(Via::AbsoluteForm)).await;
    if let Ok(Ok(answer)) = tokio::time::timeout(Duration::from_secs(1), late.answer_or_end("GET")).await {
        answer.assert_denied(503, "over_capacity");
    }
    assert!(origin.requests().len() <= 10);
    drop(crowd);
    drop(late);
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let mut connection = gate.dial().await;
        connection.send(Ask::get(origin.port(), "/").h1(Via::AbsoluteForm)).await;
        if let Ok(Ok(answer)) = tokio::time::timeout(Duration::from_secs(1), connection.answer_or_end("GET")).await
            && answer.status == 200
        {
            break;
        }
        assert!(Instant::now() < end, "no room came back");
    }
}

#[tokio::test]
async fn a_flood_of_payments_asks_four_at_a_time_and_never_fails_open() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (n, m) = (Arc::clone(&now), Arc::clone(&most));
    let peer = tollgate_tests::scripted::Scripted::start(None, move |mut conversation| {
        let (n, m) = (Arc::clone(&n), Arc::clone(&m));
        async move {
            if conversation.request().await.is_some() {
                m.fetch_max(n.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(30)).await;
                n.fetch_sub(1, Ordering::SeqCst);
                conversation.send(Says::Go.bytes()).await;
            }
        }
    })
    .await;
    let verdict = serde_json::json!({ "verdict": { "backend": "blackwall", "url": format!("http://{}", peer.address), "timeout": "10s" },
        "payments": { "rate": { "per_payee": 1000 } } });
    let world = World::start(policy::open, |setup| setup.config(payment::settings()).config(verdict)).await;
    let mut h2 = world.gate.tls_h2(world.tls.port()).await;
    // After one exchange the client knows how many streams it may open at once.
    h2.ask(&Ask::get(world.tls.port(), "/free")).await.assert_allowed();
    let mut answers = Vec::new();
    for _ in 0..200 {
        let payment = Wallet::default().v2(&format!("https://{HOST}:{}/paid", world.tls.port()), &Terms::default());
        let ask = Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
        let (response, _) = h2.open(tollgate_tests::h2_client::H2::head(&ask), true).await;
        answers.push(tokio::spawn(tollgate_tests::h2_client::collect(response)));
    }
    // Somebody else is served meanwhile.
    let started = Instant::now();
    world.get(Via::AbsoluteForm, "/free").await.assert_allowed();
    // Much of this is recovering 200 signers without optimisation.
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let mut passed = 0;
    for answer in answers {
        // A stream over the connection's limit is refused before it is a request.
        let Ok(answer) = tollgate_tests::within("answer", answer).await.unwrap() else {
            continue;
        };
        match answer.reason() {
            None => passed += 1,
            Some(reason) => assert!(matches!(reason, "verdict_unavailable" | "over_capacity"), "{reason}"),
        }
    }
    assert!(
        most.load(Ordering::SeqCst) <= 4,
        "{} questions at once",
        most.load(Ordering::SeqCst)
    );
    assert_eq!(world.tls.requests().len(), passed + 1);
    assert!(passed > 0 && passed <= peer.connections(), "{passed}");
}

#[tokio::test]
async fn a_dead_verdict_service_costs_paying_clients_little_and_others_nothing() {
    let peer = tollgate_tests::verdict_peer::VerdictPeer::start(tollgate_tests::verdict_peer::Mood::Slow(Duration::from_secs(30))).await;
    let settings = peer.settings_with("700ms");
    let world = World::start(policy::open, |setup| setup.config(payment::settings()).config(settings)).await;
    let started = Instant::now();
    let mut h2 = world.gate.tls_h2(world.tls.port()).await;
    let mut answers = Vec::new();
    for _ in 0..80 {
        let payment = Wallet::default().v2(&format!("https://{HOST}:{}/paid", world.tls.port()), &Terms::default());
        let ask = Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
        let (response, _) = h2.open(tollgate_tests::h2_client::H2::head(&ask), true).await;
        answers.push(tokio::spawn(tollgate_tests::h2_client::collect(response)));
    }
    for answer in answers {
        let answer = tollgate_tests::within("answer", answer).await.unwrap().unwrap();
        assert!(
            matches!(answer.reason(), Some("verdict_unavailable" | "over_capacity")),
            "{answer:?}"
        );
    }
    // Waiting takes 700 ms in all; the rest is recovering 80 signers without optimisation on a busy machine.
    assert!(
        started.elapsed() < Duration::from_secs(8),
        "80 refusals took {:?}",
        started.elapsed()
    );
    world.tls.assert_no_request();
}
