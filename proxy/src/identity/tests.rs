//! Real sockets, real processes.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::*;

/// A child that runs until this is dropped.
struct Running(Child);

impl Running {
    /// Starts `binary`, a bash, with `script`; returns when it has printed a line.
    fn bash(binary: &Path, script: &str, port: u16) -> Self {
        let mut command = Command::new(binary);
        command.args(["-c", script]).env("PORT", port.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = loop {
            match command.spawn() {
                // A child that another test has just forked still holds our copy open for writing, until it execs.
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
                spawned => break spawned.unwrap(),
            }
        };
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "{script}");
        Self(child)
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its own children live as long as its standard input.
        drop(self.0.stdin.take());
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn bash() -> PathBuf {
    resolve_binary_alias(Path::new("/bin/bash"))
}

fn copy_of_bash(directory: &tempfile::TempDir, name: &str) -> PathBuf {
    let path = directory.path().canonicalize().unwrap().join(name);
    fs::copy(bash(), &path).unwrap();
    path
}

const CONNECT: &str = "exec 3<>/dev/tcp/127.0.0.1/$PORT; echo ready; read -r";
/// The socket is inherited by another binary, which waits for the same standard input.
const CONNECT_AND_SHARE: &str = "exec 3<>/dev/tcp/127.0.0.1/$PORT; cat <&0 & echo ready; wait";

fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

fn accepted(listener: &TcpListener) -> (SocketAddr, SocketAddr, TcpStream) {
    let (stream, client) = listener.accept().unwrap();
    (client, stream.local_addr().unwrap(), stream)
}

#[test]
fn a_child_is_known_by_its_binary_and_its_ancestors() {
    let (listener, port) = listener();
    let child = Running::bash(&bash(), CONNECT, port);
    let (client, local, _stream) = accepted(&listener);
    let process = identify(client, local, &BinaryLedger::new()).unwrap();
    assert_eq!(process.pid, child.pid());
    assert_eq!(process.binary, bash());
    assert_eq!(process.ancestors.first(), Some(&std::env::current_exe().unwrap()));
}

#[test]
fn a_grandchild_has_its_parent_among_its_ancestors() {
    let directory = tempfile::tempdir().unwrap();
    let agent = copy_of_bash(&directory, "agent");
    let (listener, port) = listener();
    // The colon keeps the agent from becoming the child.
    let script = format!("/bin/bash -c '{CONNECT}'; :");
    let agent_process = Running::bash(&agent, &script, port);
    let (client, local, _stream) = accepted(&listener);
    let process = identify(client, local, &BinaryLedger::new()).unwrap();
    assert_ne!(process.pid, agent_process.pid());
    assert_eq!(process.binary, bash());
    assert_eq!(process.ancestors.get(..2).unwrap(), [agent, std::env::current_exe().unwrap()]);
}

#[test]
fn our_own_connections_are_our_own() {
    let (listener, port) = listener();
    let _client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let (client, local, _stream) = accepted(&listener);
    let process = identify(client, local, &BinaryLedger::new()).unwrap();
    assert_eq!(
        (process.pid, process.binary),
        (std::process::id(), std::env::current_exe().unwrap())
    );
}

/// A program that may not connect lends its socket to one that may, or the other way round.
#[test]
fn a_socket_shared_by_different_binaries_is_nobodys() {
    let (listener, port) = listener();
    let _child = Running::bash(&bash(), CONNECT_AND_SHARE, port);
    let (client, local, _stream) = accepted(&listener);
    let cat = resolve_binary_alias(Path::new("/bin/cat"));
    // `cat` is a bash until it has become itself.
    let deadline = Instant::now() + Duration::from_secs(5);
    let binaries = loop {
        match identify(client, local, &BinaryLedger::new()) {
            Err(IdentityError::Ambiguous { binaries }) => break binaries,
            other => assert!(Instant::now() < deadline, "{other:?}"),
        }
    };
    assert!(
        binaries.len() == 2 && binaries.contains(&bash()) && binaries.contains(&cat),
        "{binaries:?}"
    );
    let error = IdentityError::Ambiguous { binaries };
    assert_eq!(error.reason(), Reason::BinaryNotAllowed);
}

/// Two processes of one binary are one identity, but the parent of one of them must not vouch for the other.
#[test]
fn a_socket_shared_by_one_binary_keeps_common_ancestors_only() {
    let (listener, port) = listener();
    let script = "exec 3<>/dev/tcp/127.0.0.1/$PORT; (echo ready; read -r) ; :";
    let child = Running::bash(&bash(), script, port);
    let (client, local, _stream) = accepted(&listener);
    let process = identify(client, local, &BinaryLedger::new()).unwrap();
    assert_eq!((process.pid, process.binary), (child.pid(), bash()));
    assert_eq!(process.ancestors.first(), Some(&std::env::current_exe().unwrap()));
}

/// A28.
#[test]
fn a_binary_replaced_between_two_connections_is_changed() {
    let directory = tempfile::tempdir().unwrap();
    let tool = copy_of_bash(&directory, "tool");
    let (listener, port) = listener();
    let ledger = BinaryLedger::new();
    {
        let _first = Running::bash(&tool, CONNECT, port);
        let (client, local, _stream) = accepted(&listener);
        assert_eq!(identify(client, local, &ledger).unwrap().binary, tool);
    }
    // Not the same bytes, but it runs all the same.
    let other = copy_of_bash(&directory, "other");
    fs::File::options().append(true).open(&other).unwrap().write_all(b"x").unwrap();
    fs::rename(&other, &tool).unwrap();
    let _second = Running::bash(&tool, CONNECT, port);
    let (client, local, _stream) = accepted(&listener);
    let refused = identify(client, local, &ledger).unwrap_err();
    assert!(
        matches!(&refused, IdentityError::Changed { binary } if *binary == tool),
        "{refused}"
    );
    assert_eq!(refused.reason(), Reason::BinaryChanged);
}

/// Noted at the policy's load, a name cannot be taken by whoever connects first.
#[test]
fn a_noted_binary_cannot_be_replaced_before_its_first_use() {
    let directory = tempfile::tempdir().unwrap();
    let tool = copy_of_bash(&directory, "tool");
    let ledger = BinaryLedger::new();
    ledger.note(&tool).unwrap();
    let other = copy_of_bash(&directory, "other");
    fs::File::options().append(true).open(&other).unwrap().write_all(b"x").unwrap();
    fs::rename(&other, &tool).unwrap();
    let (listener, port) = listener();
    let _child = Running::bash(&tool, CONNECT, port);
    let (client, local, _stream) = accepted(&listener);
    assert!(matches!(identify(client, local, &ledger), Err(IdentityError::Changed { .. })));
}

#[test]
fn a_binary_removed_under_its_process_is_changed() {
    let directory = tempfile::tempdir().unwrap();
    let tool = copy_of_bash(&directory, "tool");
    let (listener, port) = listener();
    let _child = Running::bash(&tool, CONNECT, port);
    let (client, local, _stream) = accepted(&listener);
    let ledger = BinaryLedger::new();
    identify(client, local, &ledger).unwrap();
    fs::remove_file(&tool).unwrap();
    let refused = identify(client, local, &ledger).unwrap_err();
    assert!(
        matches!(&refused, IdentityError::Changed { binary } if *binary == tool),
        "{refused}"
    );
}

/// An ancestor that is no longer what it was vouches for nobody, but does not stop its children either: a supervisor is
/// replaced while its agents run.
#[test]
fn a_removed_ancestor_does_not_vouch() {
    let directory = tempfile::tempdir().unwrap();
    let agent = copy_of_bash(&directory, "agent");
    let (listener, port) = listener();
    let _agent = Running::bash(&agent, &format!("/bin/bash -c '{CONNECT}'; :"), port);
    let (client, local, _stream) = accepted(&listener);
    fs::remove_file(&agent).unwrap();
    let process = identify(client, local, &BinaryLedger::new()).unwrap();
    assert_eq!(process.ancestors.first(), Some(&std::env::current_exe().unwrap()));
}

#[test]
fn a_client_that_is_gone_has_no_identity() {
    let (listener, port) = listener();
    drop(TcpStream::connect(("127.0.0.1", port)).unwrap());
    let (client, local, _stream) = accepted(&listener);
    let refused = identify(client, local, &BinaryLedger::new()).unwrap_err();
    assert!(matches!(refused, IdentityError::NoSocket), "{refused}");
    let remote = "192.0.2.1:40000".parse().unwrap();
    assert!(matches!(
        identify(remote, local, &BinaryLedger::new()),
        Err(IdentityError::NoSocket)
    ));
}

/// A25.
#[test]
fn a_policys_symbolic_link_is_its_target() {
    let directory = tempfile::tempdir().unwrap();
    let tool = copy_of_bash(&directory, "tool3");
    let link = directory.path().join("tool");
    std::os::unix::fs::symlink("tool3", &link).unwrap();
    assert_eq!(resolve_binary_alias(&link), tool);
    assert_eq!(resolve_binary_alias(Path::new("/nowhere/tool")), Path::new("/nowhere/tool"));
    // What runs through the link is seen as its target.
    let (listener, port) = listener();
    let _child = Running::bash(&link, CONNECT, port);
    let (client, local, _stream) = accepted(&listener);
    assert_eq!(identify(client, local, &BinaryLedger::new()).unwrap().binary, tool);
}

#[tokio::test]
async fn many_connections_at_once_are_each_told_apart() {
    let identities = Identities::start(Arc::default(), Network::Ours).unwrap();
    let (listener, port) = listener();
    let children: Vec<_> = (0..8).map(|_| Running::bash(&bash(), CONNECT, port)).collect();
    let connections: Vec<_> = (0..8).map(|_| accepted(&listener)).collect();
    // Twice each: two requests of one connection may ask at the same time.
    let asked = connections
        .iter()
        .chain(&connections)
        .map(|(client, local, _)| identities.of(*client, *local));
    let mut pids: Vec<_> = futures::future::join_all(asked)
        .await
        .into_iter()
        .map(|process| process.unwrap().pid)
        .collect();
    assert_eq!(pids.get(..8), pids.get(8..));
    pids.sort_unstable();
    pids.dedup();
    let mut expected: Vec<_> = children.iter().map(Running::pid).collect();
    expected.sort_unstable();
    assert_eq!(pids, expected);
    assert!(identities.ledger().len() >= 2, "bash and this test");
}

#[tokio::test]
async fn a_flood_is_refused_and_not_queued_without_end() {
    let identities = Identities::start(Arc::default(), Network::Ours).unwrap();
    let nobody: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let answers = futures::future::join_all((0..20_000).map(|_| identities.of(nobody, nobody))).await;
    let refused = answers
        .iter()
        .filter(|answer| matches!(answer, Err(IdentityError::Overloaded)))
        .count();
    assert!(refused > 0, "the queue has a bound");
    assert!(answers.iter().all(Result::is_err));
    assert_eq!(IdentityError::Overloaded.reason(), Reason::OverCapacity);
}
