//! GraphQL in a query string or a form.
//!
//! In: `&`-separated text. Out: the parameters that a GraphQL server takes from it, each at most once. What servers take for one of them in
//! other spellings (`query[]`, ` query`, `Query`, behind a `;`) is refused, as it can't be judged.

use std::borrow::Cow;

use super::OperationError;
use crate::query;

/// What a request may carry beside or instead of a JSON body.
#[derive(Debug, Default)]
pub(super) struct Parameters<'q> {
    pub(super) query: Option<Cow<'q, str>>,
    pub(super) operation_name: Option<Cow<'q, str>>,
    pub(super) extensions: Option<Cow<'q, str>>,
    /// Names of persisted queries.
    pub(super) ids: Vec<Cow<'q, str>>,
}

/// Under which names servers take the name of a persisted query.
pub(super) const IDS: [&str; 4] = ["id", "documentId", "queryId", "doc_id"];

const NAMES: [&str; 7] = ["query", "operationName", "extensions", "id", "documentId", "queryId", "doc_id"];

impl<'q> Parameters<'q> {
    pub(super) fn of(text: &'q str) -> Result<Self, OperationError> {
        let mut found = Parameters::default();
        // Old readers of forms take `;` for `&`.
        for part in text.split('&').flat_map(|part| part.split(';').skip(1)) {
            refuse_other_spelling(part.split('=').next().unwrap_or_default())?;
        }
        for (name, value) in query::pairs(text) {
            let Some(name) = NAMES.into_iter().find(|known| *known.as_bytes() == *name) else {
                refuse_look_alike(&name)?;
                continue;
            };
            let value = text_of(value).ok_or(OperationError::Member(name))?;
            if value.is_empty() {
                continue;
            }
            let once = match name {
                "query" => &mut found.query,
                "operationName" => &mut found.operation_name,
                "extensions" => &mut found.extensions,
                _ => {
                    found.ids.push(value);
                    continue;
                }
            };
            if once.replace(value).is_some() {
                return Err(OperationError::Repeated(name));
            }
        }
        Ok(found)
    }

    /// Whether a server could find something to execute here.
    pub(super) fn asks(&self) -> bool {
        self.query.is_some() || self.extensions.is_some() || !self.ids.is_empty()
    }
}

fn text_of(value: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    match value {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}

/// PHP and `qs` drop what stands before and after a name, and make a list of `query[]`.
fn refuse_look_alike(name: &[u8]) -> Result<(), OperationError> {
    let plain = name.trim_ascii();
    let end = plain.iter().position(|b| matches!(b, b'[' | 0)).unwrap_or(plain.len());
    let plain = plain.get(..end).unwrap_or_default().trim_ascii_end();
    // ASP.NET reads names without regard to case, and joins the values of two that differ in it only.
    match NAMES.into_iter().find(|known| known.as_bytes().eq_ignore_ascii_case(plain)) {
        Some(known) => Err(OperationError::LookAlike(known)),
        None => Ok(()),
    }
}

fn refuse_other_spelling(name: &str) -> Result<(), OperationError> {
    let name = query::decode(name);
    match NAMES.into_iter().find(|known| *known.as_bytes() == *name) {
        Some(known) => Err(OperationError::LookAlike(known)),
        None => refuse_look_alike(&name),
    }
}
