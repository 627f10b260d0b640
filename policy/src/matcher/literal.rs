//! Text as a glob of itself: for rules that are proposed to an author.

/// A glob that matches this text only.
pub(crate) fn literal_glob(text: &str) -> String {
    let mut glob = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
}
