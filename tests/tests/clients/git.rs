//! git over HTTPS: cloning is allowed, pushing is not.

use std::path::Path;
use std::process::Command;

use tollgate_tests::authority::Authority;
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::real_clients::{Server, behind, clean, run};
use tollgate_tests::tollgate::Setup;

fn git(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    clean(&mut command);
    command
        .current_dir(directory)
        .args([
            "-c",
            "user.name=Tester",
            "-c",
            "user.email=tester@example.test",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", directory);
    command
}

async fn must(command: Command) {
    let output = run(command).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cloning_is_allowed_and_pushing_is_not() {
    let files = tempfile::TempDir::new().unwrap();
    let root = files.path();
    let work = root.join("work");
    std::fs::create_dir(&work).unwrap();
    must(git(&work, &["init", "-q"])).await;
    std::fs::write(work.join("large"), vec![7; 3 << 20]).unwrap();
    std::fs::write(work.join("README"), "hello").unwrap();
    must(git(&work, &["add", "."])).await;
    must(git(&work, &["commit", "-q", "-m", "first"])).await;
    must(git(root, &["clone", "-q", "--bare", "work", "o/r.git"])).await;
    must(git(&root.join("o/r.git"), &["config", "http.receivepack", "true"])).await;

    let authority = Authority::default();
    let (leaf, key) = authority.leaf_pem(&[HOST]);
    std::fs::write(root.join("leaf.pem"), leaf).unwrap();
    std::fs::write(root.join("key.pem"), key).unwrap();
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let server = Server::start(
        "sellers/git_http.py",
        &[root.to_str().unwrap(), &path("leaf.pem"), &path("key.pem")],
    );
    let rules = [
        "rules:",
        "  - allow: { method: GET, path: \"/**/info/refs\", query: { service: git-upload-pack } }",
        "  - allow: { method: POST, path: \"/**/git-upload-pack\" }",
    ];
    let gate = Setup::new(policy::ruled(&[server.port], &rules))
        .local_host()
        .trust(&authority)
        .start();

    let url = format!("https://{HOST}:{}/o/r.git", server.port);
    let mut clone = git(root, &["clone", "-q", &url, "copy"]);
    behind(&mut clone, &gate);
    let output = run(clone).await;
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stderr),
        server.stderr()
    );
    assert_eq!(std::fs::read_to_string(root.join("copy/README")).unwrap(), "hello");

    let copy = root.join("copy");
    std::fs::write(copy.join("README"), "changed").unwrap();
    must(git(&copy, &["commit", "-q", "-a", "-m", "second"])).await;
    let mut push = git(&copy, &["push", "-q", "origin", "HEAD"]);
    behind(&mut push, &gate);
    let output = run(push).await;
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("403"), "{stderr}");
    gate.audited(serde_json::json!({ "decision": "deny", "host": HOST, "path": "/o/r.git/info/refs", "reason_code": "query_not_allowed" }))
        .await;
}
