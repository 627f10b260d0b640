//! A secret in memory: shown nowhere, wiped when dropped.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;

use zeroize::Zeroizing;

pub(super) struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// `None` for what can't stand in a header value: empty, or with a control character. A line break would let whoever sets the
    /// variable write header fields of their own (CWE-93).
    pub(super) fn new(value: OsString) -> Option<Self> {
        let bytes = Zeroizing::new(value.into_vec());
        let fits = !bytes.is_empty() && !bytes.iter().any(u8::is_ascii_control);
        fits.then_some(Secret(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}
