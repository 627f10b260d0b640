//! Policies as an author would write them, with the port of a test's origin filled in.

/// The name that most tests give their origin.
pub const HOST: &str = "api.example.test";

/// One entry of `network_policies`.
pub struct Entry<'a> {
    /// Name of the entry, reported in denials.
    pub name: &'a str,
    /// Host or pattern.
    pub host: &'a str,
    /// Ports.
    pub ports: &'a [u16],
    /// Further lines of the endpoint, YAML flow entries such as `protocol: rest`.
    pub lines: &'a [&'a str],
}

/// A whole document of these entries, open to every binary.
pub fn document(entries: &[Entry<'_>]) -> String {
    let mut text = String::from("version: 1\nnetwork_policies:\n");
    for entry in entries {
        text += &format!(
            "  {}:\n    endpoints:\n      - host: \"{}\"\n        ports: {:?}\n",
            entry.name, entry.host, entry.ports
        );
        for line in entry.lines {
            text += &format!("        {line}\n");
        }
        text += "    binaries: [ { path: \"/**\" } ]\n";
    }
    if entries.is_empty() {
        text = String::from("version: 1\nnetwork_policies: {}\n");
    }
    text
}

/// The same document, for one binary only.
#[must_use]
pub fn for_binary(document: &str, path: &str) -> String {
    document.replace("\"/**\"", &format!("\"{path}\""))
}

/// The path of the running test, which is the client's binary in most tests.
pub fn own_binary() -> String {
    std::env::current_exe().unwrap().to_str().unwrap().to_owned()
}

/// [`HOST`] on these ports, everything allowed, inspected as HTTP.
pub fn open(ports: &[u16]) -> String {
    document(&[Entry {
        name: "api",
        host: HOST,
        ports,
        lines: &["protocol: rest", "enforcement: enforce", "access: full"],
    }])
}

/// [`HOST`] and `other` on these ports, everything allowed, inspected as HTTP.
pub fn open_with(other: &str, ports: &[u16]) -> String {
    let lines = &["protocol: rest", "enforcement: enforce", "access: full"];
    document(&[("api", HOST), ("other", other)].map(|(name, host)| Entry { name, host, ports, lines }))
}

/// [`HOST`] on these ports with `rules` (and `deny_rules`) lines, inspected as HTTP, enforced.
pub fn ruled(ports: &[u16], rules: &[&str]) -> String {
    let mut lines = vec!["protocol: rest", "enforcement: enforce"];
    lines.extend_from_slice(rules);
    document(&[Entry {
        name: "api",
        host: HOST,
        ports,
        lines: &lines,
    }])
}
