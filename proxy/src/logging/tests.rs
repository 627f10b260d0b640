#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::*;

#[derive(Clone, Default)]
struct Sheet(Arc<Mutex<Vec<u8>>>);

impl Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logged(written: &str, format: LogFormat, emit: impl Fn()) -> String {
    let sheet = Sheet::default();
    let theirs = sheet.clone();
    let writer = move || theirs.clone();
    let filter = filter(written).unwrap();
    match format {
        LogFormat::Text => tracing::subscriber::with_default(text(filter, writer, false), emit),
        LogFormat::Json => tracing::subscriber::with_default(json(filter, writer), emit),
    }
    String::from_utf8(sheet.0.lock().unwrap().clone()).unwrap()
}

fn all() {
    tracing::error!(target: "pingora_core::protocols", "GET /?key=pingora-secret");
    tracing::debug!(target: "h2::codec", "frame h2-secret");
    tracing::info!(target: "tollgate::flow", "own-info");
    tracing::debug!(target: "tollgate::flow", "own-debug");
}

#[test]
fn libraries_that_show_secrets_stay_quiet_unless_they_are_named() {
    for (written, shown, hidden) in [
        ("", &["own-info"][..], &["pingora-secret", "h2-secret", "own-debug"][..]),
        ("debug", &["own-info", "own-debug"], &["pingora-secret", "h2-secret"]),
        ("trace,tollgate=warn", &[], &["pingora-secret", "h2-secret", "own-info"]),
        ("pingora_core=error", &["own-info", "pingora-secret"], &["h2-secret"]),
        (
            "pingora=debug,h2=debug",
            &["own-info", "pingora-secret", "h2-secret"],
            &["own-debug"],
        ),
        ("off", &[], &["pingora-secret", "own-info"]),
    ] {
        let text = logged(written, LogFormat::Text, all);
        for word in shown {
            assert!(text.contains(word), "{written:?} hides {word}: {text}");
        }
        for word in hidden {
            assert!(!text.contains(word), "{written:?} shows {word}: {text}");
        }
    }
}

#[test]
fn json_is_one_object_a_line() {
    let text = logged("", LogFormat::Json, || tracing::warn!(reason_code = "no_policy", "two\nlines"));
    let line: serde_json::Value = serde_json::from_str(text.trim_end()).unwrap();
    assert_eq!(
        (line["level"].as_str(), line["reason_code"].as_str()),
        (Some("WARN"), Some("no_policy"))
    );
    assert_eq!(line["message"], "two\nlines");
}

#[test]
fn a_filter_that_does_not_parse_is_an_error_and_not_silence() {
    assert!(matches!(filter("tollgate=loud"), Err(LoggingError::Filter(_))));
}
