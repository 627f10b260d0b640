#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use http::{HeaderMap, HeaderValue};
use tollgate_policy::{CanonicalPath, EncodedSlash, Host};

use super::*;
use crate::credentials::Destination;
use crate::credentials::config::Binding;

fn one(source: Source) -> CredentialsConfig {
    CredentialsConfig(vec![CredentialConfig {
        placeholder: EnvName::parse("KEY").unwrap(),
        source,
        hosts: vec![Binding::parse("a.example").unwrap()],
    }])
}

fn started(source: Source) -> Result<Keeping, String> {
    Keeping::start(one(source), |_| None).map_err(|error| error.to_string())
}

fn secret_of(keeping: &Keeping) -> String {
    let mut headers = HeaderMap::new();
    headers.insert("x-key", HeaderValue::from_static("openshell:resolve:env:KEY"));
    let destination = Destination {
        host: &Host::parse("a.example").unwrap(),
        port: 443,
        path: &CanonicalPath::parse("/", EncodedSlash::Keep).unwrap(),
        query: None,
    };
    let attached = keeping.store().attach(destination, &headers).unwrap();
    let (_, value) = attached.fields.first().unwrap();
    value.to_str().unwrap().to_owned()
}

fn written(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn command(script: &str) -> Source {
    Source::Command {
        words: ["sh", "-c", script].map(str::to_owned).to_vec(),
        refresh: None,
    }
}

/// Looks until the second look after a change.
fn looked(keeping: &Keeping) -> Kept {
    let mut all = keeping.look();
    let next = keeping.look();
    all.taken += next.taken;
    all.failed.extend(next.failed);
    all
}

#[test]
fn a_file_is_read_again_when_it_changes_and_a_broken_one_leaves_the_last_good_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    written(&path, "first\n", 0o600);
    let keeping = started(Source::File(path.clone())).unwrap();
    assert_eq!(secret_of(&keeping), "first");
    assert_eq!(looked(&keeping).taken, 0);

    let next = folder.path().join("next");
    written(&next, "second", 0o600);
    fs::rename(&next, &path).unwrap();
    assert_eq!((looked(&keeping).taken, secret_of(&keeping).as_str()), (1, "second"));

    for broken in ["", "a\r\nX-Evil: 1", "two\nlines\n"] {
        written(&path, broken, 0o600);
        let kept = looked(&keeping);
        let [error] = kept.failed.as_slice() else {
            panic!("{broken:?}: {kept:?}")
        };
        let error = error.to_string();
        assert!(
            error.contains("`KEY`") && !error.contains("Evil") && !error.contains("lines"),
            "{error}"
        );
        assert_eq!(secret_of(&keeping), "second");
        assert_eq!(looked(&keeping).failed.len(), 0, "said once");
    }
    fs::remove_file(&path).unwrap();
    assert_eq!((looked(&keeping).failed.len(), secret_of(&keeping).as_str()), (1, "second"));
    written(&path, "third", 0o600);
    assert_eq!((looked(&keeping).taken, secret_of(&keeping).as_str()), (1, "third"));
}

#[test]
fn a_source_that_gives_no_secret_stops_the_start_and_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let exposed = folder.path().join("exposed");
    written(&exposed, "secret", 0o644);
    for (source, expected) in [
        (Source::Env(EnvName::parse("NONE").unwrap()), "`NONE`: it is not set"),
        (Source::File(folder.path().join("none")), "cannot be read"),
        (Source::File(exposed), "chmod 600"),
        (Source::File(folder.path().to_path_buf()), "no regular file"),
        (command("exit 3"), "exit status: 3"),
        (command("true"), "empty"),
        (command("printf 'a\\nb'"), "line break"),
        (command("head -c 5000 /dev/zero | tr '\\0' a"), "empty, or holds"),
        (
            Source::Command {
                words: vec!["/no/such/program".to_owned()],
                refresh: None,
            },
            "cannot be run",
        ),
    ] {
        let error = started(source).map(|_| ()).unwrap_err();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn a_command_is_run_again_when_it_is_due_or_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let script = format!("echo x >> {0}; wc -l < {0} | tr -d ' '", count.display());
    let Source::Command { words, .. } = command(&script) else {
        unreachable!()
    };
    let often = Source::Command {
        words: words.clone(),
        refresh: Some(Duration::from_millis(1)),
    };
    let keeping = started(often).unwrap();
    assert_eq!(secret_of(&keeping), "1");
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!((keeping.look().taken, secret_of(&keeping).as_str()), (1, "2"));

    let keeping = started(Source::Command { words, refresh: None }).unwrap();
    assert_eq!((keeping.look().taken, secret_of(&keeping).as_str()), (0, "3"));
    assert_eq!((keeping.take_all().taken, secret_of(&keeping).as_str()), (1, "4"));
}

#[test]
fn what_a_command_leaves_running_does_not_hold_up_the_start() {
    let started_at = Instant::now();
    let error = started(command("sleep 30 & echo secret")).map(|_| ()).unwrap_err();
    assert!(error.contains("did not end"), "{error}");
    assert!(started_at.elapsed() < Duration::from_secs(9));
}
