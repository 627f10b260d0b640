#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::io::Write as _;

use tempfile::NamedTempFile;

use super::*;

const A: &str = "0x02c2fcafce36b4aadb39625866bc6b1699d83043";
const B: &str = "0x96d7edc78253c83ffa9dfd7e2fd538e7daa9be56";

fn file(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

#[test]
fn lists_are_read_from_yaml_and_json() {
    #[rustfmt::skip]
    let payees = [
        (String::new(), 0),
        ("# nobody yet\n".into(), 0),
        ("[]".into(), 0),
        (format!("- payee: \"{A}\"\n  price: \"0.01\"\n"), 1),
        (format!("- {{ payee: \"{}\", price: \"0.01\", network: \"eip155:8453\", tolerance: \"2.5\" }}\n", A.to_ascii_uppercase().replace("0X", "0x")), 1),
        (format!("- payee: '{A}'\n  price: '1'\n  network: eip155:8453\n- payee: '{A}'\n  price: '2'\n  network: eip155:84532\n- payee: '{B}'\n  price: '3'\n"), 2),
        (format!("- payee: {A}   # unquoted, still text and not a number\n  price: 0.10\n"), 1),
        (format!(r#"[{{"payee": "{A}", "price": "0.01"}}]"#), 1),
    ];
    for (text, count) in payees {
        let file = file(&text);
        assert_eq!(read_payees(file.path()).expect(&text).0.len(), count, "{text}");
    }
    for (text, count) in [(String::new(), 0), (format!("- \"{A}\"\n- '{B}'\n"), 2), (format!("[\"{A}\"]"), 1)] {
        let file = file(&text);
        assert_eq!(read_refused(file.path()).expect(&text).len(), count, "{text}");
    }
}

#[test]
fn wrong_entries_are_named_by_line_and_column() {
    let entry = |rest: &str| format!("- payee: \"{A}\"\n  price: \"0.01\"\n{rest}");
    #[rustfmt::skip]
    let table = [
        ("twice", entry(&entry("")), "3:10", "listed twice"),
        ("twice in another case", entry(&entry("")).replacen(A, &A.to_ascii_uppercase().replace("0X", "0x"), 1), "3:10", "listed twice"),
        ("mistyped checksum", entry("").replace("fcafce", "FCAFCE"), "1:10", "checksum"),
        ("on one network twice", entry("  network: eip155:1\n") + &entry("  network: eip155:1\n"), "4:10", "listed twice"),
        ("on every network and on one", entry(&entry("  network: eip155:1\n")), "3:10", "listed twice"),
        ("on one network and on every", entry("  network: eip155:1\n") + &entry(""), "4:10", "listed twice"),
        ("unknown member", entry("  prize: \"1\"\n"), "3:3", "prize"),
        ("member twice", entry("  price: \"1\"\n"), "3:3", "price"),
        ("no price", format!("- payee: \"{A}\"\n"), "1:3", "price"),
        ("price zero", entry("").replace("0.01", "0"), "2:10", "greater than 0"),
        ("price in words", entry("").replace("0.01", "free"), "2:10", "plain decimal"),
        ("short address", entry("").replace("83043", "8304"), "1:10", "address"),
        ("address without 0x", entry("").replace("0x02", "0202"), "1:10", "address"),
        ("other namespace", entry("  network: solana:5eykt\n"), "3:12", ""),
        ("short name", entry("  network: base\n"), "3:12", ""),
        ("leading zero", entry("  network: eip155:08453\n"), "3:12", ""),
        ("tolerance too wide", entry("  tolerance: \"8\"\n"), "3:14", "less than 8"),
        ("a map", format!("payee: \"{A}\"\nprice: \"1\"\n"), "1:1", "sequence"),
        ("anchors", format!("- &a\n  payee: \"{A}\"\n  price: \"1\"\n- *a\n"), "2:3", "anchor"),
        ("broken", "- payee: \"0x\n".into(), "", ""),
    ];
    for (name, text, position, message) in table {
        let file = file(&text);
        let error = read_payees(file.path()).expect_err(name).to_string();
        let place = format!("{}:{position}", file.path().display());
        assert!(
            error.starts_with(&place) && error.contains(message) && !error.contains("at line"),
            "{name}: {error}"
        );
    }
    let twice = file(&format!("- \"{A}\"\n- \"{B}\"\n- \"{A}\"\n"));
    let error = read_refused(twice.path()).unwrap_err().to_string();
    assert_eq!(error, format!("{}:3:3: {A} is listed twice", twice.path().display()));
}

#[test]
fn missing_and_oversized_files_are_errors() {
    let missing = read_refused(Path::new("/no/such/list.yaml")).unwrap_err();
    assert!(
        matches!(missing, ListError::Unreadable { .. }) && missing.to_string().starts_with("/no/such/list.yaml: "),
        "{missing}"
    );
    let large = file(&" ".repeat(MAX_FILE + 1));
    assert!(matches!(read_payees(large.path()).unwrap_err(), ListError::TooLarge { .. }));
}

#[test]
fn a_long_list_is_read() {
    let lines: Vec<String> = (1..=20_000).map(|i| format!("- \"0x{i:040x}\"")).collect();
    assert_eq!(read_refused(file(&lines.join("\n")).path()).unwrap().len(), 20_000);
}
