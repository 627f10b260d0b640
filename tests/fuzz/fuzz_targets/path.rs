//! Path canonicalisation: what a rule sees is a fixed point, and holds nothing that an origin could read as another path.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_policy::{CanonicalPath, EncodedSlash};

fuzz_target!(|raw: &[u8]| {
    for slash in [EncodedSlash::Reject, EncodedSlash::Keep] {
        let Ok(path) = CanonicalPath::parse(raw, slash) else { continue };
        let text = path.as_str();
        assert!(text.starts_with('/'), "{text}");
        assert!(text.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "{text}");
        assert!(!text.contains("//") && !text.contains(['#', '?', '\\', ';']), "{text}");
        assert!(!text.split('/').any(|segment| matches!(segment, "." | "..")), "{text}");
        assert_eq!(
            CanonicalPath::parse(text, slash).as_ref().map(CanonicalPath::as_str),
            Ok(text),
            "not a fixed point"
        );
    }
});
