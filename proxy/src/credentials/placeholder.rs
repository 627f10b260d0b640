//! Placeholders in text: `openshell:resolve:env:KEY`, also within a longer value, and within the base64 of Basic authentication; and the
//! aliases that look like a provider's token (`sk-OPENSHELL-RESOLVE-ENV-KEY-x`), for SDKs that look at a token's shape.

use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use memchr::memmem::Finder;
use zeroize::Zeroizing;

use super::CredentialError;
use super::config::EnvName;
use super::held::{Allowed, Held};

const MARKER: &[u8] = b"openshell:resolve:env:";
const ALIAS: &[u8] = b"OPENSHELL-RESOLVE-ENV-";

static MARKERS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(MARKER));
static ALIASES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(ALIAS));

/// Clients differ in whether they pad.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// One of them, and where it stands.
pub(super) struct Placeholder {
    pub(super) place: Range<usize>,
    pub(super) name: EnvName,
}

/// All of them, in order; none, which costs two scans, without allocation.
pub(super) fn find(text: &[u8], held: &Held) -> Result<Vec<Placeholder>, CredentialError> {
    let mut found: Vec<Placeholder> = Vec::new();
    let mut from = 0;
    loop {
        let rest = text.get(from..).unwrap_or_default();
        let next = match (MARKERS.find(rest), ALIASES.find(rest)) {
            (None, None) => return Ok(found),
            (Some(marker), alias) if alias.is_none_or(|alias| marker < alias) => marker_at(text, from + marker),
            (_, alias) => alias_at(text, from, from + alias.unwrap_or_default(), held),
        };
        let next = next.ok_or(CredentialError::Unavailable)?;
        from = next.place.end;
        found.push(next);
    }
}

fn marker_at(text: &[u8], at: usize) -> Option<Placeholder> {
    let after = at + MARKER.len();
    let length = text.get(after..)?.iter().take_while(|byte| EnvName::holds(**byte)).count();
    let name = EnvName::parse(std::str::from_utf8(text.get(after..after + length)?).ok()?)?;
    Some(Placeholder {
        place: at..after + length,
        name,
    })
}

/// The whole word is the alias: what stands around the name is there for its shape only. Where the name ends, the names of our credentials
/// tell.
fn alias_at(text: &[u8], from: usize, at: usize, held: &Held) -> Option<Placeholder> {
    let of_word = |byte: &&u8| EnvName::holds(**byte) || matches!(**byte, b'-' | b'.');
    let before = text.get(from..at)?.iter().rev().take_while(of_word).count();
    let after = text.get(at + ALIAS.len()..)?;
    let behind = after.iter().take_while(of_word).count();
    let word = std::str::from_utf8(after.get(..behind)?).ok()?;
    let name = held.longest_name_of(without_revision(word).unwrap_or(word))?.clone();
    Some(Placeholder {
        place: at - before..at + ALIAS.len() + behind,
        name,
    })
}

type Replaced = Result<Option<Zeroizing<Vec<u8>>>, CredentialError>;

/// The text with every placeholder replaced; `None` when it has none.
pub(super) fn replace(text: &[u8], allowed: &Allowed<'_>) -> Replaced {
    let found = find(text, allowed.held)?;
    if found.is_empty() {
        return Ok(None);
    }
    // Room for what secrets usually take, so that no half-filled copy is left behind by a growing buffer.
    let mut new = Zeroizing::new(Vec::with_capacity(text.len() + 4096));
    let mut from = 0;
    for Placeholder { place, name } in found {
        new.extend_from_slice(text.get(from..place.start).unwrap_or_default());
        new.extend_from_slice(allowed.secret(&name)?.bytes());
        from = place.end;
    }
    new.extend_from_slice(text.get(from..).unwrap_or_default());
    Ok(Some(new))
}

/// As [`replace`], and looks into `Basic` (RFC 7617).
pub(super) fn replace_in_authorization(value: &[u8], allowed: &Allowed<'_>) -> Replaced {
    let Some(encoded) = basic(value) else {
        return replace(value, allowed);
    };
    let Ok(decoded) = BASE64.decode(encoded).map(Zeroizing::new) else {
        return replace(value, allowed);
    };
    let Some(new) = replace(&decoded, allowed)? else {
        return replace(value, allowed);
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
pub(super) fn without_revision(name: &str) -> Option<&str> {
    let (digits, key) = name.strip_prefix('v')?.split_once('_')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some(key)
}
