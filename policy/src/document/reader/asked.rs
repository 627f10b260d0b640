//! Which keys the reader asked for, so that a test can hold them against the schema's tables.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Keys by the kind of map.
type Asked = BTreeMap<&'static str, BTreeSet<&'static str>>;

thread_local! {
    static ASKED: RefCell<Asked> = RefCell::default();
}

pub(super) fn note(what: &'static str, keys: &[&'static str]) {
    ASKED.with_borrow_mut(|asked| asked.entry(what).or_default().extend(keys));
}

/// What this thread has asked for since the last time.
pub(crate) fn take() -> Asked {
    ASKED.take()
}
