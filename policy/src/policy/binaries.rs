//! Which callers a rule is for.

use crate::decide::{Caller, Process};
use crate::matcher::{GlobError, SegmentedGlob};

/// A rule's `binaries`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Binaries {
    /// The list is empty: the rule never matches.
    Nobody,
    /// One of the globs is for every path (`/**`), so that it doesn't matter who asks.
    Anybody,
    /// These.
    Listed(Box<[Binary]>),
}

/// One entry; a path without `*` is compared as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Binary {
    Path(Box<str>),
    Glob { text: Box<str>, glob: SegmentedGlob },
}

/// Whether a rule is for a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinaryMatch {
    Matches,
    /// The caller is unknown; it may be one of those that the rule is for.
    Possibly,
    Differs,
}

impl Binary {
    pub(crate) fn parse(path: &str) -> Result<Self, GlobError> {
        if path.contains('*') {
            SegmentedGlob::parse(path, b'/').map(|glob| Binary::Glob { text: path.into(), glob })
        } else {
            Ok(Binary::Path(path.into()))
        }
    }

    fn matches(&self, path: &str) -> bool {
        match self {
            Binary::Path(own) => **own == *path,
            Binary::Glob { glob, .. } => glob.matches(path.as_bytes()),
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Binary::Path(text) | Binary::Glob { text, .. } => text,
        }
    }
}

impl Binaries {
    pub(crate) fn new(list: Vec<Binary>) -> Self {
        if list.is_empty() {
            Binaries::Nobody
        } else if list
            .iter()
            .any(|binary| matches!(binary, Binary::Glob { glob, .. } if glob.matches_everything()))
        {
            Binaries::Anybody
        } else {
            Binaries::Listed(list.into_boxed_slice())
        }
    }

    /// Whether one of the entries is for this path.
    pub(crate) fn lists(&self, path: &str) -> bool {
        match self {
            Binaries::Nobody => false,
            Binaries::Anybody => true,
            Binaries::Listed(list) => list.iter().any(|binary| binary.matches(path)),
        }
    }

    /// As written; `/**` for any.
    pub(crate) fn texts(&self) -> Vec<String> {
        match self {
            Binaries::Nobody => Vec::new(),
            Binaries::Anybody => vec!["/**".to_owned()],
            Binaries::Listed(list) => list.iter().map(|binary| binary.text().to_owned()).collect(),
        }
    }

    /// Adds what each listed path stands for; globs stay as they are.
    pub(crate) fn add_aliases(&mut self, resolve: &dyn Fn(&str) -> Option<String>) {
        let Binaries::Listed(list) = self else { return };
        let aliases: Vec<Binary> = list
            .iter()
            .filter_map(|binary| match binary {
                Binary::Path(path) => resolve(path).map(|alias| Binary::Path(alias.into())),
                Binary::Glob { .. } => None,
            })
            .collect();
        *list = list.iter().cloned().chain(aliases).collect();
    }

    /// The executable or any ancestor's executable may satisfy the rule; what a process calls itself never does.
    pub(crate) fn matches(&self, caller: Caller<'_>) -> BinaryMatch {
        match (self, caller) {
            (_, Caller::NotEnforced) | (Binaries::Anybody, _) => BinaryMatch::Matches,
            (Binaries::Nobody, _) => BinaryMatch::Differs,
            (Binaries::Listed(_), Caller::Unidentified) => BinaryMatch::Possibly,
            (Binaries::Listed(list), Caller::Identified(process)) => {
                if paths(process).any(|path| list.iter().any(|binary| binary.matches(path))) {
                    BinaryMatch::Matches
                } else {
                    BinaryMatch::Differs
                }
            }
        }
    }
}

fn paths(process: &Process) -> impl Iterator<Item = &str> {
    std::iter::once(process.binary.as_str()).chain(process.ancestors.iter().map(String::as_str))
}
