//! The README's references can't drift from the code: a reason, limit or metric that is missing there fails here.
#![allow(clippy::unwrap_used)]

use tollgate::metrics::Metrics;
use tollgate::settings::Limits;
use tollgate_policy::{Code, Reason};

fn readme() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap()
}

#[test]
fn every_reason_has_its_heading_and_summary() {
    let readme = readme();
    for reason in Reason::ALL {
        let entry = format!("##### `{reason}`\n{}\n", reason.summary());
        assert!(readme.contains(&entry), "README.md lacks:\n{entry}");
    }
}

#[test]
fn every_limit_has_its_row_with_the_default() {
    let readme = readme();
    for row in Limits::default().rows() {
        let entry = format!("| `{}` | `{}` | {} |\n", row.key, row.value, row.meaning);
        assert!(readme.contains(&entry), "README.md lacks:\n{entry}");
    }
}

#[test]
fn every_diagnostic_has_its_row() {
    let readme = readme();
    for code in Code::ALL {
        let entry = format!("| `{code}` | {} |\n", code.summary());
        assert!(readme.contains(&entry), "README.md lacks:\n{entry}");
    }
}

#[test]
fn every_metric_is_listed() {
    let readme = readme();
    let text = Metrics::new(["eip155:8453/0x00"]).unwrap().render();
    for name in text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .filter_map(|line| line.split(' ').next())
    {
        assert!(readme.contains(&format!("`{name}`")), "README.md lacks the metric {name}");
    }
}
