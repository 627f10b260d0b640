//! Hot restart: a new process takes the listeners over, and nobody who connects is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;
use tokio::net::TcpStream;
use tollgate_tests::client::Via;
use tollgate_tests::world::World;
use tollgate_tests::{eventually, policy};

/// The process that took over: nobody's child any more, so it is ended here.
struct Successor(Pid);

impl Successor {
    async fn of(world: &World) -> Self {
        let children = format!("/proc/{0}/task/{0}/children", world.gate.pid());
        let all_threads = format!("/proc/{}/task", world.gate.pid());
        let pid = eventually("a child of the old process", || {
            let tasks = std::fs::read_dir(&all_threads).ok()?;
            let lists = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
            lists
                .chain(std::fs::read_to_string(&children))
                .find_map(|list| list.split_whitespace().next()?.parse().ok())
        })
        .await;
        Successor(Pid::from_raw(pid).unwrap())
    }
}

impl Drop for Successor {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

async fn world(settings: serde_json::Value) -> World {
    World::start(policy::open, |setup| setup.config(settings)).await
}

async fn old_has_ended(world: &mut World) {
    assert!(world.gate.ended().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_refused_while_a_new_process_takes_over() {
    let mut world = world(json!({ "tls": { "ca_dir": "ca", "hand_over_ca": true } })).await;
    let ca = world.gate.ca_pem();
    // An upload that is under way the whole time, and many new connections.
    let authority = format!("{}:{}", policy::HOST, world.port(Via::PlainTunnel));
    let mut open = world.gate.tunnel(&authority).await.unwrap();
    let head = format!("POST /upload HTTP/1.1\r\nHost: {authority}\r\nContent-Length: 10\r\n\r\n");
    open.send(format!("{head}first")).await;
    let (stop, served, refused) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicU64::new(0)),
    );
    let knocking: Vec<_> = (0..4)
        .map(|_| {
            let (stop, served, refused) = (stop.clone(), served.clone(), refused.clone());
            let (proxy, port) = (world.gate.proxy, world.port(Via::PlainTunnel));
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let counter = if answers(proxy, port).await { &served } else { &refused };
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    eventually("requests before", || (served.load(Ordering::Relaxed) > 20).then_some(())).await;
    world.gate.signal(Signal::USR2);
    let _successor = Successor::of(&world).await;
    world.gate.logged("a new process serves; this one drains").await;
    let before = served.load(Ordering::Relaxed);
    open.send("after").await;
    let answer = open.answer_or_end("POST").await.unwrap();
    assert_eq!(answer.status, 200);
    drop(open);
    old_has_ended(&mut world).await;
    eventually("requests after", || (served.load(Ordering::Relaxed) > before + 20).then_some(())).await;
    stop.store(true, Ordering::Relaxed);
    for task in knocking {
        task.await.unwrap();
    }
    assert_eq!(refused.load(Ordering::Relaxed), 0);
    // Clients that trust the CA of before go on, on every way.
    assert_eq!(world.gate.ca_pem(), ca);
    for via in Via::ALL {
        world.get(via, "/").await.assert_allowed();
    }
    assert_eq!(world.gate.readyz().await.0, 200);
}

/// Whether a request by a connection of its own gets its answer.
async fn answers(proxy: std::net::SocketAddr, port: u16) -> bool {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let ask = format!(
        "GET http://{0}:{port}/ HTTP/1.1\r\nHost: {0}:{port}\r\nConnection: close\r\n\r\n",
        policy::HOST
    );
    let asked = async {
        let mut stream = TcpStream::connect(proxy).await?;
        stream.write_all(ask.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        Ok::<_, std::io::Error>(answer)
    };
    asked.await.is_ok_and(|answer| answer.starts_with(b"HTTP/1.1 200"))
}

#[tokio::test]
async fn a_new_authority_is_made_where_nobody_asked_for_the_old_one() {
    let mut world = world(json!({ "tls": { "ca_dir": "ca" } })).await;
    let ca = world.gate.ca_pem();
    world.gate.signal(Signal::USR2);
    let _successor = Successor::of(&world).await;
    old_has_ended(&mut world).await;
    assert_ne!(world.gate.ca_pem(), ca);
    world.get(Via::AbsoluteForm, "/").await.assert_allowed();
}

#[tokio::test]
async fn a_new_process_that_cannot_start_changes_nothing() {
    let mut world = world(json!({})).await;
    let config = world.gate.dir().join("tollgate.yaml");
    let good = std::fs::read(&config).unwrap();
    std::fs::write(&config, "listen: [").unwrap();
    world.gate.signal(Signal::USR2);
    world
        .gate
        .logged("no restart, and this process goes on: the new process ended")
        .await;
    assert!(world.gate.is_running());
    for via in Via::ALL {
        world.get(via, "/").await.assert_allowed();
    }
    std::fs::write(&config, good).unwrap();
    world.gate.signal(Signal::USR2);
    let _successor = Successor::of(&world).await;
    old_has_ended(&mut world).await;
    world.get(Via::AbsoluteForm, "/").await.assert_allowed();
}

#[tokio::test]
async fn what_was_closed_stays_closed() {
    let mut world = world(json!({})).await;
    world.gate.signal(Signal::USR1);
    world.gate.logged("all egress is closed").await;
    world.gate.signal(Signal::USR2);
    let _successor = Successor::of(&world).await;
    old_has_ended(&mut world).await;
    world.get(Via::AbsoluteForm, "/").await.assert_denied(403, "egress_closed");
    world.assert_untouched();
}

#[tokio::test]
async fn a_successor_has_a_successor() {
    let mut world = world(json!({})).await;
    world.gate.signal(Signal::USR2);
    let first = Successor::of(&world).await;
    old_has_ended(&mut world).await;
    kill_process(first.0, Signal::USR2).unwrap();
    let task = format!("/proc/{}/task", first.0.as_raw_nonzero());
    let second = eventually("a child of the successor", || {
        let tasks = std::fs::read_dir(&task).ok()?;
        let mut lists = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
        lists.find_map(|list| list.split_whitespace().next()?.parse().ok())
    })
    .await;
    let second = Successor(Pid::from_raw(second).unwrap());
    eventually("the end of the first", || test_kill_process(first.0).is_err().then_some(())).await;
    world.get(Via::AbsoluteForm, "/").await.assert_allowed();
    drop(second);
}
