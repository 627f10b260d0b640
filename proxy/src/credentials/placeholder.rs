//! Placeholders in text: `openshell:resolve:env:KEY`, also within a longer value, and within the base64 of Basic authentication.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use memchr::memmem::Finder;
use zeroize::Zeroizing;

use super::config::EnvName;
use super::{CredentialError, Secret};

const MARKER: &[u8] = b"openshell:resolve:env:";

static FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(MARKER));

/// Clients differ in whether they pad.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

type Replaced = Result<Option<Zeroizing<Vec<u8>>>, CredentialError>;

/// The text with every placeholder replaced; `None` when it has none, which costs one scan.
pub(super) fn replace<'s>(text: &[u8], resolve: &mut dyn FnMut(&EnvName) -> Result<&'s Secret, CredentialError>) -> Replaced {
    let Some(first) = FINDER.find(text) else {
        return Ok(None);
    };
    // Room for what secrets usually take, so that no half-filled copy is left behind by a growing buffer.
    let mut new = Zeroizing::new(Vec::with_capacity(text.len() + 4096));
    let mut rest = text;
    let mut next = Some(first);
    while let Some(at) = next {
        let (before, from_marker) = rest.split_at_checked(at).ok_or(CredentialError::Unavailable)?;
        let after_marker = from_marker.strip_prefix(MARKER).ok_or(CredentialError::Unavailable)?;
        let end = after_marker
            .iter()
            .position(|byte| !EnvName::holds(*byte))
            .unwrap_or(after_marker.len());
        let (name, behind) = after_marker.split_at_checked(end).ok_or(CredentialError::Unavailable)?;
        let name = std::str::from_utf8(name)
            .ok()
            .and_then(EnvName::parse)
            .ok_or(CredentialError::Unavailable)?;
        new.extend_from_slice(before);
        new.extend_from_slice(resolve(&name)?.bytes());
        rest = behind;
        next = FINDER.find(rest);
    }
    new.extend_from_slice(rest);
    Ok(Some(new))
}

/// As [`replace`], and looks into `Basic` (RFC 7617).
pub(super) fn replace_in_authorization<'s>(
    value: &[u8],
    resolve: &mut dyn FnMut(&EnvName) -> Result<&'s Secret, CredentialError>,
) -> Replaced {
    let Some(encoded) = basic(value) else {
        return replace(value, resolve);
    };
    let Ok(decoded) = BASE64.decode(encoded).map(Zeroizing::new) else {
        return replace(value, resolve);
    };
    let Some(new) = replace(&decoded, resolve)? else {
        return Ok(None);
    };
    let mut header = b"Basic ".to_vec();
    header.extend_from_slice(Zeroizing::new(BASE64.encode(&*new)).as_bytes());
    Ok(Some(Zeroizing::new(header)))
}

fn basic(value: &[u8]) -> Option<&[u8]> {
    let (scheme, encoded) = value.split_at_checked(6)?;
    scheme.eq_ignore_ascii_case(b"basic ").then(|| encoded.trim_ascii())
}

/// `KEY` for `v12_KEY`: OpenShell writes the revision of a credential in front.
pub(super) fn without_revision(name: &EnvName) -> Option<EnvName> {
    let (digits, key) = name.as_str().strip_prefix('v')?.split_once('_')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| EnvName::parse(key)).flatten()
}
