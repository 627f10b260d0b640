//! New rules put into a policy as its author wrote it, comments and all.
//!
//! The text is only added to, at the end of the `network_policies` block. Whether the outcome means what it should is not judged here:
//! it is loaded again before it is printed.

use tollgate_policy::suggest::SuggestedRule;

use super::render::{comments, entries};

const BLOCK: &str = "network_policies:";

/// The text with the rules in it; `None` where it is not laid out as a block.
pub(super) fn insert(source: &str, remarks: &[String], rules: &[SuggestedRule]) -> Option<String> {
    let mut lines: Vec<&str> = source.lines().collect();
    if rules.is_empty() {
        return Some(format!("{}{}", closed(source), comments(remarks, 0)));
    }
    let Some(start) = lines.iter().position(|line| line.starts_with(BLOCK)) else {
        let added = format!("{BLOCK}\n{}", entries(rules, 2));
        return Some(format!("{}{}{added}", closed(source), comments(remarks, 0)));
    };
    let (head, after_colon) = lines.get(start)?.split_at(BLOCK.len());
    match after_colon.trim() {
        "{}" => *lines.get_mut(start)? = head,
        rest if rest.is_empty() || rest.starts_with('#') => {}
        _ => return None,
    }
    let body = lines.get(start + 1..)?;
    let is_content = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let length = body
        .iter()
        .position(|line| is_content(line) && !line.starts_with(' '))
        .unwrap_or(body.len());
    let block = body.get(..length)?;
    let indent = block
        .iter()
        .find(|line| is_content(line))
        .map_or(2, |line| line.len() - line.trim_start().len());
    let last = block.iter().rposition(|line| line.starts_with(' ') && !line.trim().is_empty());
    let end = start + 1 + last.map_or(0, |last| last + 1);
    let mut joined: String = lines.get(..end)?.iter().flat_map(|line| [line, "\n"]).collect();
    joined.push_str(&comments(remarks, indent));
    joined.push_str(&entries(rules, indent));
    joined.extend(lines.get(end..)?.iter().flat_map(|line| [line, "\n"]));
    Some(joined)
}

/// With a line break at its end.
fn closed(source: &str) -> String {
    let mut text = source.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The policy written anew, with the rules in it.
pub(super) fn rewrite(source: &str, remarks: &[String], rules: &[SuggestedRule]) -> Result<String, serde_yaml::Error> {
    let mut document: serde_yaml::Mapping = serde_yaml::from_str(source)?;
    let policies = document
        .entry("network_policies".into())
        .or_insert_with(|| serde_yaml::Mapping::new().into());
    if policies.is_null() {
        *policies = serde_yaml::Mapping::new().into();
    }
    if let Some(policies) = policies.as_mapping_mut() {
        for rule in rules {
            policies.insert(rule.key.as_str().into(), serde_yaml::to_value(&rule.entry)?);
        }
    }
    Ok(comments(remarks, 0) + &serde_yaml::to_string(&document)?)
}
