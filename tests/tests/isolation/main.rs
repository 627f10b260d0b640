//! `tollgate exec --isolate`: a command that ignores its proxy variables gets nowhere, and one that heeds them is judged as ever.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_tests::exec::Exec;
use tollgate_tests::origin;
use tollgate_tests::policy::{self, HOST};

struct World(Exec);

impl World {
    async fn open(policy: impl FnOnce(&[u16]) -> String) -> Self {
        Self(Exec::start(policy, origin::standard).await)
    }

    async fn isolated(&self, command: &[&str]) -> Output {
        let mut exec = self.0.command(&["--isolate"], command);
        tokio::task::spawn_blocking(move || exec.output().unwrap()).await.unwrap()
    }

    /// What Python says that runs `program` inside.
    async fn python(&self, program: &str) -> String {
        let output = self.isolated(&["python3", "-c", program]).await;
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

const CURL: &[&str] = &["curl", "-sS", "--max-time", "10", "-o", "/dev/null", "-w", "%{http_code}"];

#[tokio::test(flavor = "multi_thread")]
async fn the_proxy_is_reached_and_judges() {
    let world = World::open(|ports| policy::ruled(ports, &["access: read-only"])).await;
    for (url, method, status) in [
        (format!("http://{HOST}:{}/", world.0.plain.port()), "GET", "200"),
        (format!("https://{HOST}:{}/", world.0.tls.port()), "GET", "200"),
        (format!("https://{HOST}:{}/", world.0.tls.port()), "DELETE", "403"),
        (format!("http://other.example.test:{}/", world.0.plain.port()), "GET", "403"),
    ] {
        let output = world.isolated(&[CURL, &["-X", method, &url]].concat()).await;
        assert_eq!(String::from_utf8_lossy(&output.stdout), status, "{method} {url}: {}", said(&output));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_ignores_its_proxy_variables_gets_an_error_at_once() {
    let world = World::open(policy::open).await;
    let before = Instant::now();
    // The origin is on the host's loopback, and the host's own address is one of its interfaces.
    for target in [
        format!("http://127.0.0.1:{}/", world.0.plain.port()),
        "http://198.51.100.7/".into(),
        "http://[2001:db8::7]/".into(),
    ] {
        let output = world.isolated(&[CURL, &["--noproxy", "*", &target]].concat()).await;
        assert_eq!(output.status.code(), Some(7), "{target}: {}", said(&output));
    }
    assert!(before.elapsed() < Duration::from_secs(9), "it took {:?}", before.elapsed());
    world.0.plain.assert_untouched();
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_datagrams_nor_names_get_out() {
    let world = World::open(policy::open).await;
    let probe = r#"
import errno, socket
def tried(call):
    try:
        call()
        return "went out"
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)
datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print(tried(lambda: datagram.sendto(b"x", ("198.51.100.7", 53))))
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
print(tried(lambda: six.sendto(b"x", ("2001:db8::7", 53))))
print(tried(lambda: socket.create_connection(("198.51.100.7", 443), timeout=5)))
print(sorted(name for _, name in socket.if_nameindex()))
"#;
    let said = world.python(probe).await;
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..3], ["ENETUNREACH"; 3], "{said}");
    // Some kernels put a dormant tunnel device into every namespace; nothing but loopback is up.
    assert!(lines[3].contains("'lo'") && !lines[3].contains("eth"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_cannot_go_back_into_the_namespace_of_its_parent() {
    let world = World::open(policy::open).await;
    let probe = r#"
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for process in (1, os.getppid()):
    try:
        namespace = os.open(f"/proc/{process}/ns/net", os.O_RDONLY)
        print("entered" if libc.setns(namespace, 0) == 0 else "refused")
    except OSError:
        print("refused")
"#;
    assert_eq!(world.python(probe).await, "refused\nrefused\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn binaries_are_told_apart_across_the_namespaces() {
    let curl = which("curl");
    let world = World::open(|ports| policy::for_binary(&policy::open(ports), &curl)).await;
    let url = format!("http://{HOST}:{}/", world.0.plain.port());
    let output = world.isolated(&[CURL, &[&url]].concat()).await;
    assert_eq!(String::from_utf8_lossy(&output.stdout), "200", "{}", said(&output));
    let probe = format!(
        "import urllib.request, urllib.error\ntry:\n    print(urllib.request.urlopen('{url}').status)\nexcept urllib.error.HTTPError as error:\n    print(error.code, error.headers['X-Tollgate-Reason'])\n"
    );
    assert_eq!(world.python(&probe).await, "403 binary_not_allowed\n");
}

fn which(program: &str) -> String {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file());
    std::fs::canonicalize(found.unwrap()).unwrap().to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_errors_and_descriptors_are_as_without_it() {
    let world = World::open(policy::open).await;
    for (command, code) in [("exit 7", 7), ("kill -TERM $$", 143)] {
        assert_eq!(world.isolated(&["sh", "-c", command]).await.status.code(), Some(code), "{command}");
    }
    let missing = world.isolated(&["/no/such/program"]).await;
    assert_eq!(missing.status.code(), Some(2));
    assert!(
        said(&missing).contains("error[command]: cannot run /no/such/program"),
        "{}",
        said(&missing)
    );
    // Neither the listener nor the channel comes with it.
    let list = &["sh", "-c", "ls /proc/self/fd | wc -l"];
    let mut beside = world.0.command(&[], list);
    let beside = tokio::task::spawn_blocking(move || beside.output().unwrap()).await.unwrap();
    assert_eq!(world.isolated(list).await.stdout, beside.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_kernel_forbids_it_the_command_does_not_run() {
    let world = World::open(policy::open).await;
    let mark = world.0.folder().join("mark");
    let exec = world.0.command(&["--isolate"], &["touch", mark.to_str().unwrap()]);
    let words: Vec<String> = std::iter::once(exec.get_program())
        .chain(exec.get_args())
        .map(|word| word.to_str().unwrap().to_owned())
        .collect();
    // A namespace in which no further ones may be made.
    let mut outer = Command::new("unshare");
    outer
        .args([
            "--user",
            "--map-root-user",
            "sh",
            "-c",
            "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"",
            "sh",
        ])
        .args(words);
    let output = tokio::task::spawn_blocking(move || outer.output().unwrap()).await.unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    let said = said(&output);
    assert!(
        said.contains("error[isolate]: cannot isolate the command: making user and network namespaces"),
        "{said}"
    );
    assert!(said.contains("user.max_user_namespaces"), "{said}");
    assert!(!Path::new(&mark).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_listener_is_out_of_reach() {
    let world = World::open(policy::open).await;
    let port = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let config = world.0.folder().join("tollgate.yaml");
    let mut settings: serde_json::Value = serde_json::from_slice(&std::fs::read(&config).unwrap()).unwrap();
    settings["listen"] = json!({ "proxy": "127.0.0.1:0", "admin": format!("127.0.0.1:{port}") });
    std::fs::write(&config, settings.to_string()).unwrap();
    let target = format!("http://127.0.0.1:{port}/healthz");
    let inside = world.isolated(&[CURL, &["--noproxy", "*", &target]].concat()).await;
    assert_eq!(inside.status.code(), Some(7), "{}", said(&inside));
    let mut beside = world.0.command(&[], &[CURL, &["--noproxy", "*", &target]].concat());
    let beside = tokio::task::spawn_blocking(move || beside.output().unwrap()).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&beside.stdout), "200", "{}", said(&beside));
}
