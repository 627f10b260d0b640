//! JSON as it stands in a text: the members of an object and the items of an array, each as the slice that it is written in.
//!
//! For documents that have been read strictly before: only then is a member's name unique, and a slice the one reading of it.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::value::RawValue;

/// The member of exactly this name, escapes undone.
pub(in crate::x402) fn member<'t>(object: &'t str, name: &str) -> Option<&'t str> {
    let members: HashMap<String, &RawValue> = serde_json::from_str(object).ok()?;
    members.get(name).map(|raw| raw.get())
}

/// The member at the end of a path of names.
pub(in crate::x402) fn at<'t>(object: &'t str, path: &[&str]) -> Option<&'t str> {
    path.iter().try_fold(object, |object, name| member(object, name))
}

/// The items of an array.
pub(in crate::x402) fn items(array: &str) -> Option<Vec<&str>> {
    let items: Vec<&RawValue> = serde_json::from_str(array).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

/// The names and values of an object, in their order.
pub(super) fn members(object: &str) -> Option<Vec<(String, &str)>> {
    let members: HashMap<String, &RawValue> = serde_json::from_str(object).ok()?;
    let mut members: Vec<(String, &str)> = members.into_iter().map(|(name, raw)| (name, raw.get())).collect();
    members.sort_unstable_by_key(|(_, slice)| slice.as_ptr());
    Some(members)
}

/// Where a slice stands in the text it is a slice of.
pub(in crate::x402) fn place(whole: &str, part: &str) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let range = start..start.checked_add(part.len())?;
    (whole.get(range.clone())? == part).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_by_their_unescaped_names_and_as_they_are_written() {
        let text = r#"{"a":{"x402\u002fpayment": { "v" : 1.50 } },"b":[1, {"c":2}]}"#;
        let found = at(text, &["a", "x402/payment"]);
        assert_eq!(found, Some(r#"{ "v" : 1.50 }"#));
        assert_eq!(place(text, found.unwrap_or_default()), Some(27..41));
        assert_eq!(member(text, "b").and_then(items), Some(vec!["1", r#"{"c":2}"#]));
        assert_eq!(at(text, &["b", "c"]), None);
        assert_eq!(place(text, "elsewhere"), None);
    }
}
