//! Several files read as one policy.
//!
//! In: a document for each file. Out: one document with the rules and middlewares of all. Nothing overrides anything: the order of files
//! means nothing, so what stands in two of them is an error that names both places.

use std::collections::HashMap;

use super::{At, Document};
use crate::diagnostic::{Code, Diagnostics, Position};

impl Document {
    /// `None` only where there is no file at all.
    pub(crate) fn joined(documents: Vec<Document>, found: &mut Diagnostics) -> Option<Self> {
        let mut documents = documents.into_iter();
        let mut all = documents.next()?;
        for other in documents {
            // A version that is wrong is wrong in each file; one that is there is enough for the others' sake.
            all.versions.extend(other.versions);
            join_section(&mut all.filesystem, other.filesystem, "filesystem_policy", found);
            join_section(&mut all.landlock, other.landlock, "landlock", found);
            join_section(&mut all.process, other.process, "process", found);
            all.rules.extend(other.rules);
            all.middlewares.extend(other.middlewares);
        }
        refuse_clashes(all.rules.iter().map(|rule| &rule.key), "rule", found);
        refuse_clashes(all.middlewares.iter().map(|stanza| &stanza.key), "middleware", found);
        Some(all)
    }
}

/// What the supervisor enforces can't be put together from parts: which of two identities should a workload run as?
fn join_section<T>(own: &mut Option<At<T>>, other: Option<At<T>>, name: &str, found: &mut Diagnostics) {
    match (&own, other) {
        (_, None) => {}
        (None, other) => *own = other,
        (Some(first), Some(second)) => {
            let place = found.other_place(first.at, second.at);
            let message = format!("`{name}` stands in another file already, at {place}");
            found.error(Code::FragmentClash, second.at, message, "leave it in one file only");
        }
    }
}

/// Within one file, the reader has reported repeated keys and left them out.
fn refuse_clashes<'k>(keys: impl Iterator<Item = &'k At<String>>, what: &str, found: &mut Diagnostics) {
    let mut first: HashMap<&str, Position> = HashMap::new();
    for key in keys {
        let Some(earlier) = first.get(key.value.as_str()) else {
            first.insert(&key.value, key.at);
            continue;
        };
        let place = found.other_place(*earlier, key.at);
        let message = format!("the {what} `{}` stands in another file already, at {place}", key.value);
        found.error(Code::FragmentClash, key.at, message, "give one of them another key");
    }
}
