//! Keys for new rules.

use std::collections::BTreeSet;

/// A rule key for a text: letters, digits and hyphens.
pub(crate) fn key_for(text: &str) -> String {
    let key = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect::<String>();
    match key.trim_matches('-') {
        "" => "rule".to_owned(),
        key => key.to_owned(),
    }
}

/// A key that nobody has yet, after the host, and the program where the host alone is taken.
pub(super) fn fresh(host: &str, program: Option<&str>, taken: &mut BTreeSet<String>) -> String {
    let of_host = key_for(host);
    let of_both = program
        .and_then(|path| path.rsplit('/').next())
        .map(|name| format!("{of_host}-{}", key_for(name)));
    let numbered = (2_u32..).map(|number| format!("{of_host}-{number}"));
    let key = std::iter::once(of_host.clone())
        .chain(of_both)
        .chain(numbered)
        .find(|key| !taken.contains(key))
        .unwrap_or(of_host);
    taken.insert(key.clone());
    key
}
