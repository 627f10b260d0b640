//! A secret in memory: shown nowhere, wiped when dropped.

use std::fmt;

use zeroize::Zeroizing;

pub(super) struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// `None` for what can't stand in a header value: empty, or with a control character. A line break would let whoever sets the
    /// variable write header fields of their own (CWE-93).
    pub(super) fn new(bytes: Zeroizing<Vec<u8>>) -> Option<Self> {
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
