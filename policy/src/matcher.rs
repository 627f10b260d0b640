//! Globs over hosts, paths, binaries and query values.
//!
//! In: patterns of the policy, parsed once at load. Out: matches in time linear in the text for each wildcard of the pattern, never
//! exponential: a path is chosen by the client, and must not be able to stall the gate. No match allocates.

mod braces;
mod display;
mod endpoint_path;
mod glob;
mod host;
mod inclusion;
mod intersect;
mod literal;
mod method;
mod segmented;
#[cfg(test)]
mod tests;

use thiserror::Error;

pub use host::{HostPattern, HostPatternError};

pub(crate) use endpoint_path::EndpointPath;
pub(crate) use inclusion::{Inclusion, Language, included};
pub(crate) use literal::literal_glob;
pub(crate) use method::MethodMatcher;
pub(crate) use segmented::SegmentedGlob;

/// Why a text is not a glob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum GlobError {
    /// Over 1024 bytes.
    #[error("the glob is longer than 1024 bytes")]
    TooLong,
    /// A `[` without `]`.
    #[error("the glob has a `[` that is never closed")]
    UnclosedClass,
    /// A range such as `z-a`.
    #[error("the glob has a character range that runs backwards")]
    BackwardsRange,
    /// A `{` without `}`, or the other way round.
    #[error("the glob has an unbalanced brace")]
    UnbalancedBrace,
    /// Braces or optional directories that stand for too many globs.
    #[error("the glob stands for more than 64 alternatives")]
    TooManyAlternatives,
    /// A backslash at the end.
    #[error("the glob ends in a backslash")]
    DanglingEscape,
}

/// The longest glob, in bytes.
pub(crate) const MAX_GLOB: usize = 1024;

/// The most alternatives that braces may stand for.
pub(crate) const MAX_ALTERNATIVES: usize = 64;
