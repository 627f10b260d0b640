//! `{a,b}` written out.

use super::{GlobError, MAX_ALTERNATIVES};

/// Every glob that the braces stand for; the glob itself where there are none.
pub(super) fn expand(glob: &str) -> Result<Vec<String>, GlobError> {
    let mut done = Vec::new();
    let mut open = vec![glob.to_owned()];
    while let Some(glob) = open.pop() {
        if done.len() + open.len() >= MAX_ALTERNATIVES {
            return Err(GlobError::TooManyAlternatives);
        }
        match first_group(&glob)? {
            None => done.push(glob),
            // In reverse, so that they come off the stack in the order of the text.
            Some((before, choices, after)) => {
                if choices.len() > MAX_ALTERNATIVES {
                    return Err(GlobError::TooManyAlternatives);
                }
                open.extend(choices.iter().rev().map(|choice| format!("{before}{choice}{after}")));
            }
        }
    }
    Ok(done)
}

type Group<'a> = (&'a str, Vec<&'a str>, &'a str);

fn first_group(glob: &str) -> Result<Option<Group<'_>>, GlobError> {
    let mut depth = 0_usize;
    let mut start = 0;
    let mut choice_start = 0;
    let mut choices = Vec::new();
    let mut in_class = None;
    let mut escaped = false;
    for (at, c) in glob.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match (c, in_class) {
            // A `]` right after `[` or `[!` is a member.
            (']', Some(from)) if at > from => in_class = None,
            ('!' | '^', Some(from)) if at == from => in_class = Some(from + 1),
            ('\\', None) => escaped = true,
            ('[', None) => in_class = Some(at + 1),
            ('{', None) => {
                if depth == 0 {
                    start = at;
                    choice_start = at + 1;
                }
                depth += 1;
            }
            (',', None) if depth == 1 => {
                choices.push(glob.get(choice_start..at).unwrap_or_default());
                choice_start = at + 1;
            }
            ('}', None) => {
                depth = depth.checked_sub(1).ok_or(GlobError::UnbalancedBrace)?;
                if depth == 0 {
                    choices.push(glob.get(choice_start..at).unwrap_or_default());
                    let (before, after) = (glob.get(..start).unwrap_or_default(), glob.get(at + 1..).unwrap_or_default());
                    return Ok(Some((before, choices, after)));
                }
            }
            _ => {}
        }
    }
    if depth > 0 { Err(GlobError::UnbalancedBrace) } else { Ok(None) }
}
