//! YAML with a comment behind every line.

use crate::document::{Node, Value};

/// Comments begin here, but for lines that are longer.
const COMMENTS_AT: usize = 64;

/// How deep a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indent(usize);

impl Indent {
    /// At the margin.
    pub const NONE: Indent = Indent(0);

    /// One level further.
    #[must_use]
    pub fn deeper(self) -> Self {
        Indent(self.0 + 2)
    }
}

/// Lines of YAML as they are written.
#[derive(Debug, Default)]
pub struct Writer {
    out: String,
}

impl Writer {
    /// A line, and what stands behind it as a comment; an empty one is none.
    pub fn line(&mut self, indent: Indent, text: impl AsRef<str>, comment: impl AsRef<str>) {
        let (text, comment) = (text.as_ref(), comment.as_ref());
        let line = format!("{}{text}", " ".repeat(indent.0));
        self.out.push_str(&line);
        if !comment.is_empty() {
            let width = line.chars().count();
            self.out.push_str(&" ".repeat(COMMENTS_AT.saturating_sub(width).max(2)));
            self.out.push_str("# ");
            // A file's name may hold anything.
            self.out
                .extend(comment.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }));
        }
        self.out.push('\n');
    }

    /// A line that is a comment.
    pub fn note(&mut self, indent: Indent, text: &str) {
        self.out.push_str(&" ".repeat(indent.0));
        self.out.push_str("# ");
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// All of it.
    pub fn finish(self) -> String {
        self.out
    }
}

/// A value on one line.
pub(super) fn flow(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Large(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Text(text) => scalar(text),
        Value::List(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Map(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Map(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", flow(key), flow(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}

/// Text that can't be taken for anything else.
pub fn scalar(text: &str) -> String {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/' | b'-'))
        && !WORDS.contains(&text.to_ascii_lowercase().as_str());
    // JSON's strings are YAML's double-quoted ones.
    if plain {
        text.to_owned()
    } else {
        serde_json::Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::scalar;

    #[test]
    fn text_stays_text() {
        for (text, expected) in [
            ("api.example.com", "api.example.com"),
            ("/usr/bin/curl", "/usr/bin/curl"),
            ("*.example.com", "\"*.example.com\""),
            ("yes", "\"yes\""),
            ("1.00", "\"1.00\""),
            ("a: b", "\"a: b\""),
            ("", "\"\""),
            ("é\"\u{7}", "\"é\\\"\\u0007\""),
        ] {
            assert_eq!(scalar(text), expected);
        }
    }
}
