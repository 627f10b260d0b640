//! Names that are not the same, and that some readers take for the same.
//!
//! Go's `encoding/json` matches member names without regard to case, by Unicode's simple folding: `Query` and `METHOD` overwrite `query` and
//! `method` there. Who judges only the exact name judges another request than the one that is served.

use super::OperationError;
use crate::json::Object;

/// Refuses members whose names are `names` in another spelling.
pub(super) fn refuse(object: &Object<'_>, names: &[&'static str]) -> Result<(), OperationError> {
    for (key, _) in object.members() {
        if let Some(name) = names.iter().find(|name| **name != key && folds_to(key, name)) {
            return Err(OperationError::LookAlike(name));
        }
    }
    Ok(())
}

/// Whether a lenient reader takes `text` for `name`, which is ASCII: in another case, between blanks, or up to a NUL.
pub fn folds_to(text: &str, name: &str) -> bool {
    let text = text.split('\0').find(|part| !part.is_empty()).unwrap_or_default();
    let folded = text.trim().chars().map(|c| match c {
        'ſ' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    });
    folded.eq(name.chars().map(|c| c.to_ascii_lowercase()))
}
