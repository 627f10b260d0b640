//! curl: HTTP/1.1 and HTTP/2 in tunnels, absolute-form, large uploads with the `Expect` that it sends by itself.

use std::process::Command;

use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::origin::Origin;
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::real_clients::{behind, clean, run};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::world::World;

/// curl's output, then status, HTTP version and number of connects on a last line.
async fn curl(gate: &Tollgate, arguments: &[&str]) -> (String, String) {
    let mut command = Command::new("curl");
    clean(&mut command);
    behind(&mut command, gate);
    command
        .args(["-sS", "--max-time", "60", "-w", "\n%{http_code} %{http_version} %{num_connects}"])
        .args(arguments);
    let output = run(command).await;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, summary) = text.rsplit_once('\n').unwrap_or(("", &text));
    assert!(
        output.status.success(),
        "{arguments:?}: {} {summary}",
        String::from_utf8_lossy(&output.stderr)
    );
    (body.to_owned(), summary.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_gets_over_every_way_in() {
    let world = World::open().await;
    let https = format!("https://{HOST}:{}/a?b=c", world.tls.port());
    let http = format!("http://{HOST}:{}/a?b=c", world.plain.port());
    let table: [(&[&str], &str); 4] = [
        (&["--http1.1", &https], "200 1.1 1"),
        (&["--http2", &https], "200 2 1"),
        (&[&http], "200 1.1 1"),
        (&["--proxytunnel", &http], "200 1.1 1"),
    ];
    for (arguments, expected) in table {
        let (body, summary) = curl(&world.gate, arguments).await;
        assert_eq!((body.as_str(), summary.as_str()), ("GET /a?b=c", expected), "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_keeps_its_connection_over_several_urls() {
    let world = World::open().await;
    let url = format!("https://{HOST}:{}/", world.tls.port());
    for version in ["--http1.1", "--http2"] {
        let (body, _) = curl(&world.gate, &[version, &url, &url, &url]).await;
        // One summary per URL; only the first says that it connected.
        assert_eq!(body.matches(" 1\n").count() + body.matches(" 1GET").count(), 1, "{version}: {body}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn denials_are_readable() {
    let world = World::start(|ports| policy::ruled(ports, &["access: read-only"]), |setup| setup).await;
    let url = format!("https://{HOST}:{}/x", world.tls.port());
    for version in ["--http1.1", "--http2"] {
        let (body, summary) = curl(&world.gate, &[version, "-X", "DELETE", &url]).await;
        assert!(summary.starts_with("403"), "{summary}");
        let body: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["reason_code"], "method_not_allowed");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_of_20_megabytes_with_its_default_expect_arrive() {
    for alpn in [Alpn::H1, Alpn::H2] {
        let authority = Authority::default();
        let tls = Origin::tls(&authority, alpn).await;
        let plain = Origin::plain().await;
        let gate = Setup::new(policy::open(&[tls.port(), plain.port()]))
            .local_host()
            .trust(&authority)
            .start();
        let file = gate.dir().join("upload");
        std::fs::write(&file, vec![b'u'; 20 << 20]).unwrap();
        let data = format!("@{}", file.display());
        let https = format!("https://{HOST}:{}/status/201", tls.port());
        let http = format!("http://{HOST}:{}/status/201", plain.port());
        for arguments in [
            vec!["--http1.1", &https],
            vec!["--http2", &https],
            vec![&http],
            vec!["--proxytunnel", &http],
        ] {
            let before = (tls.requests().len(), plain.requests().len());
            let mut all = vec!["-H", "Content-Type: application/octet-stream", "--data-binary", &data];
            all.extend(arguments.iter().copied());
            let (_, summary) = curl(&gate, &all).await;
            assert!(summary.starts_with("201"), "{arguments:?}: {summary}");
            let seen = if tls.requests().len() > before.0 {
                tls.last()
            } else {
                plain.last()
            };
            assert_eq!(seen.body.len(), 20 << 20, "{arguments:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_tunnel_is_an_error_of_curl_with_our_status() {
    let world = World::open().await;
    let mut command = Command::new("curl");
    clean(&mut command);
    behind(&mut command, &world.gate);
    command.args(["-sS", "--max-time", "20", "https://evil.example.test/"]);
    let output = run(command).await;
    assert!(!output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("403"), "{stderr}");
}
