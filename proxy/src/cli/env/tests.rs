#![allow(clippy::unwrap_used)]

use clap::Parser;
use tollgate_certs::{BUNDLE_FILE, CA_FILE, CertificateAuthority, Roots};

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn given(words: &[&str]) -> Result<String, String> {
    let line = Line::try_parse_from(std::iter::once("env").chain(words.iter().copied())).unwrap();
    text(&line.arguments).map_err(|error| error.to_string())
}

fn certificates() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    TrustBundle::write(folder.path(), &CertificateAuthority::generate().unwrap(), &Roots::default()).unwrap();
    folder
}

#[test]
fn each_format_names_the_proxy_and_the_files() {
    let folder = certificates();
    let dir = folder.path().to_str().unwrap();
    let cases: [(&[&str], [String; 3]); 4] = [
        (
            &[],
            [
                "export HTTPS_PROXY='http://127.0.0.1:3128'\n".into(),
                format!("export SSL_CERT_FILE='{dir}/ca-bundle.pem'\n"),
                "export NO_PROXY='127.0.0.1,localhost,::1'\n".into(),
            ],
        ),
        (
            &["--format", "dotenv", "--proxy", "http://10.0.0.1:8080"],
            [
                "\nHTTPS_PROXY=http://10.0.0.1:8080\n".into(),
                format!("\nNODE_EXTRA_CA_CERTS={dir}/tollgate-ca.pem\n"),
                "\nNO_PROXY=127.0.0.1,localhost,::1\n".into(),
            ],
        ),
        (
            &["--format", "json", "--no-proxy", ".internal"],
            [
                "\"HTTPS_PROXY\": \"http://127.0.0.1:3128\"".into(),
                format!("\"CURL_CA_BUNDLE\": \"{dir}/ca-bundle.pem\""),
                "\"NO_PROXY\": \".internal\"".into(),
            ],
        ),
        (
            &["--no-proxy", ""],
            [
                "export NO_PROXY=''\n".into(),
                "export no_proxy=''\n".into(),
                format!("export GIT_SSL_CAINFO='{dir}/ca-bundle.pem'\n"),
            ],
        ),
    ];
    for (words, expected) in cases {
        let text = given(&[&["--ca-dir", dir], words].concat()).unwrap();
        for part in expected {
            assert!(text.contains(&part), "{words:?}: no {part:?} in\n{text}");
        }
    }
}

#[test]
fn what_clients_could_not_use_is_refused_with_the_way_out() {
    let full = certificates();
    let empty = tempfile::tempdir().unwrap();
    let half = certificates();
    std::fs::remove_file(half.path().join(BUNDLE_FILE)).unwrap();
    let storeless = certificates();
    std::fs::remove_file(storeless.path().join("truststore.jks")).unwrap();
    let broken = certificates();
    std::fs::write(broken.path().join(CA_FILE), "not a certificate").unwrap();
    let dir = |folder: &tempfile::TempDir| folder.path().to_str().unwrap().to_owned();
    let cases: [(Vec<String>, &str); 9] = [
        (vec![], "--ca-dir DIR"),
        (vec!["--ca-dir".into(), dir(&empty)], "tollgate-ca.pem"),
        (vec!["--ca-dir".into(), "/nowhere/at/all".into()], "`tollgate run` writes it"),
        (vec!["--ca-dir".into(), dir(&half)], "ca-bundle.pem"),
        (vec!["--ca-dir".into(), dir(&storeless)], "truststore.jks"),
        (vec!["--ca-dir".into(), dir(&broken)], "no certificate in"),
        (
            vec!["--ca-dir".into(), dir(&full), "--proxy".into(), "https://127.0.0.1:3128".into()],
            "http://",
        ),
        (
            vec!["--ca-dir".into(), dir(&full), "--proxy".into(), "127.0.0.1:3128".into()],
            "--proxy 127.0.0.1:3128",
        ),
        (
            vec!["--ca-dir".into(), dir(&full), "--no-proxy".into(), "a\nb".into()],
            "control characters",
        ),
    ];
    for (words, expected) in cases {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let error = given(&words).unwrap_err();
        assert!(error.contains(expected), "{words:?}: {error}");
        assert!(error.starts_with("tollgate: error[usage]: "), "{error}");
    }
}
