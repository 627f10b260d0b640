//! OpenShell's conformance cases by number: A hosts, ports and binaries, B paths, C addresses, D rules, E HTTP hygiene, F middleware.
//!
//! Each row is written beside the test that asserts it, wherever that test belongs; here is what keeps a row from being lost.

use std::path::{Path, PathBuf};

/// The tables and the number of their rows.
const TABLES: [(char, u32); 6] = [('A', 33), ('B', 21), ('C', 17), ('D', 26), ('E', 21), ('F', 13)];

/// Rows that are not Tollgate's, or not yet.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "C15",
        "names of the container host are ordinary names here: the operator gives them an address, the policy tolerates it",
    ),
    ("F1", "one middleware, the payment rule; there is no chain"),
    ("F2", "the payment rule replaces no bodies"),
    ("F4", "`fail_open` is refused for the payment rule"),
    ("F6", "the payment rule writes no fields"),
    ("F7", "the payment rule removes no fields"),
    ("F8", "the payment rule writes no fields"),
    ("F9", "the payment rule writes no fields"),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "yaml") && !path.ends_with("numbers.rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_row_is_found_by_its_number() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in ["tests/tests", "policy/tests", "policy/src", "proxy/src"] {
        sources(&root.join(folder), &mut files);
    }
    let texts: Vec<String> = files
        .iter()
        .map(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned())
        .collect();
    let words: std::collections::HashSet<&str> = texts
        .iter()
        .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .collect();
    let rows = TABLES
        .iter()
        .flat_map(|(table, rows)| (1..=*rows).map(move |row| format!("{table}{row}")));
    let wrong: Vec<String> = rows
        .filter(|row| !words.contains(row.as_str()) && !LEFT_OUT.iter().any(|(left_out, _)| left_out == row))
        .collect();
    assert!(wrong.is_empty(), "in no test: {wrong:?}");
}
