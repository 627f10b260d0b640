//! The files that a policy is read from.
//!
//! In: names and bytes, in the order in which they count. Out: [`Sources`], which every [`Position`] points into, so that a finding
//! about a policy of several files names the right one.

use serde::Serialize;

use crate::diagnostic::Position;

/// One of the files of a policy, by its place among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct SourceId(u16);

impl SourceId {
    /// The only file, or the first of several.
    pub const FIRST: SourceId = SourceId(0);

    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Whether it is the first.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    pub(crate) fn is_first(&self) -> bool {
        *self == SourceId::FIRST
    }
}

/// A file of a policy.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    text: String,
    /// The number of bytes before the first that is not UTF-8.
    damaged_at: Option<usize>,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl Source {
    /// From what is in the file. Bytes that are not UTF-8 are remembered, for the loader to report.
    pub fn new(name: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        let (text, damaged_at) = match String::from_utf8(content.into()) {
            Ok(text) => (text, None),
            Err(error) => {
                let good = error.utf8_error().valid_up_to();
                (String::from_utf8_lossy(error.as_bytes()).into_owned(), Some(good))
            }
        };
        let ends = text.bytes().enumerate().filter_map(|(at, byte)| (byte == b'\n').then_some(at + 1));
        let lines = std::iter::once(0).chain(ends).collect();
        Source {
            name: name.into(),
            text,
            damaged_at,
            lines,
        }
    }

    /// As people know it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text; what was not UTF-8 is replaced.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// A line, counted from 1, without its end.
    pub(crate) fn line(&self, line: u32) -> Option<&str> {
        let index = (line as usize).checked_sub(1)?;
        let start = *self.lines.get(index)?;
        let end = self.lines.get(index + 1).copied().unwrap_or(self.text.len());
        Some(self.text.get(start..end)?.trim_end_matches(['\n', '\r']))
    }

    /// The line and column of the first byte that is not UTF-8.
    pub(crate) fn damage(&self) -> Option<(u32, u32)> {
        // Up to there the text is what the file holds, byte for byte.
        let before = self.text.get(..self.damaged_at?)?;
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let count = |number| u32::try_from(number).unwrap_or(u32::MAX);
        Some((count(line), count(column)))
    }
}

/// The files of a policy, in order.
#[derive(Debug, Clone, Default)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// A policy of one file.
    pub fn one(name: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Sources(vec![Source::new(name, content)])
    }

    /// The same with one more file.
    #[must_use]
    pub fn with(&self, name: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        let mut files = self.0.clone();
        files.push(Source::new(name, content));
        Sources(files)
    }

    /// The files, each with its id. More than a `u16` can count are not listed; the loader refuses far fewer.
    pub fn iter(&self) -> impl Iterator<Item = (SourceId, &Source)> {
        (0..=u16::MAX).map(SourceId).zip(&self.0)
    }

    /// A file.
    pub fn get(&self, id: SourceId) -> Option<&Source> {
        self.0.get(id.index())
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `file:line`.
    pub fn place(&self, at: Position) -> String {
        format!("{}:{}", self.get(at.source).map_or("policy", Source::name), at.line)
    }
}

impl From<Vec<Source>> for Sources {
    fn from(files: Vec<Source>) -> Self {
        Sources(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_is_not_utf8_has_a_place() {
        for (content, place) in [
            (&b"version: 1\n"[..], None),
            (b"\xff\xfev", Some((1, 1))),
            (b"a: 1\nb: \xc3\xa9\xe9\n", Some((2, 5))),
            (b"a: \xc3", Some((1, 4))),
        ] {
            assert_eq!(Source::new("p", content).damage(), place, "{content:?}");
        }
    }

    #[test]
    fn lines_come_without_their_ends() {
        let source = Source::new("p", "a\r\n\nc");
        let lines: Vec<Option<&str>> = (0..=4).map(|line| source.line(line)).collect();
        assert_eq!(lines, [None, Some("a"), Some(""), Some("c"), None]);
    }
}
