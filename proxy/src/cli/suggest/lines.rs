//! Audit lines of a file, one at a time and none longer than an audit line can be: a file of any size takes the memory of one line.

use std::io::{self, BufRead, Read};

use thiserror::Error;

use crate::audit::Entry;

/// Paths are at most 4 KiB, and nothing else in a line is long.
const LONGEST: u64 = 1 << 20;

/// Why a line can't be learned from. It quotes nothing of the line: whatever it is, it may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Broken {
    /// Not JSON, or not an audit line.
    #[error("not an audit line: {0}")]
    Json(String),
    /// Longer than any.
    #[error("the line is longer than {LONGEST} bytes")]
    TooLong,
    /// It ends in the middle.
    #[error("the file ends within the line")]
    Cut,
    /// A member that contradicts another.
    #[error("not an audit line: {0}")]
    Shape(&'static str),
}

pub(super) struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Lines {
            reader,
            line: Vec::new(),
            number: 0,
        }
    }

    /// The number of the last line, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line that is not empty; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Result<Entry, Broken>>> {
        loop {
            self.line.clear();
            let length = self.reader.by_ref().take(LONGEST).read_until(b'\n', &mut self.line)?;
            if length == 0 {
                return Ok(None);
            }
            self.number += 1;
            let whole = self.line.ends_with(b"\n");
            if !whole && length as u64 == LONGEST {
                self.reader.skip_until(b'\n')?;
                return Ok(Some(Err(Broken::TooLong)));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some(parse(&self.line).map_err(|broken| if whole { broken } else { Broken::Cut })));
            }
        }
    }
}

fn parse(line: &[u8]) -> Result<Entry, Broken> {
    serde_json::from_slice(line).map_err(|error| {
        Broken::Json(match error.classify() {
            serde_json::error::Category::Data => {
                // The words are of the type, or quote the value in backticks or quotes after `invalid`.
                let text = error.to_string();
                let what = text.split(" at line ").next().unwrap_or_default();
                if what.starts_with("missing field") || what.starts_with('`') || what.starts_with("not a word") {
                    what.to_owned()
                } else {
                    format!("the member before column {} has the wrong type", error.column())
                }
            }
            _ => "it is not JSON".to_owned(),
        })
    })
}
