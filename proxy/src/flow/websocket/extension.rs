//! What both ends agreed on for the frames of a WebSocket, read from the origin's `101`: nothing, or permessage-deflate (RFC 7692).
//!
//! An extension may change what frames mean. One that is not known here would hide messages from the rules, so the upgrade is refused.

use http::{HeaderMap, HeaderName, header};
use tollgate_policy::Reason;

use crate::gate::Denial;

const EXTENSIONS: HeaderName = header::SEC_WEBSOCKET_EXTENSIONS;

/// Whether the client's decompression state lives on from message to message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// It does: a message may refer to what earlier ones held.
    Kept,
    /// `client_no_context_takeover`: every message stands alone.
    Dropped,
}

/// How the client's messages may be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As they are.
    Plain,
    /// Compressed, where a message says so. A window smaller than DEFLATE's own is read like that one: an inflater with the largest
    /// window reads what one with any smaller window reads.
    Deflate(Takeover),
}

impl Encoding {
    /// How the origin's messages may be encoded: one that refers to none before it is read the same way.
    pub(super) fn of_origin(self) -> Self {
        match self {
            Encoding::Plain => Encoding::Plain,
            Encoding::Deflate(_) => Encoding::Deflate(Takeover::Kept),
        }
    }
}

/// Reads the extensions that an origin chose.
pub(super) fn negotiated(answer: &HeaderMap) -> Result<Encoding, Denial> {
    let mut encoding = Encoding::Plain;
    for value in answer.get_all(EXTENSIONS) {
        let text = value.to_str().map_err(|_| unreadable())?;
        for extension in text.split(',') {
            let mut parts = extension.split(';').map(str::trim);
            let name = parts.next().unwrap_or_default();
            if !name.eq_ignore_ascii_case("permessage-deflate") || encoding != Encoding::Plain {
                return Err(unreadable());
            }
            encoding = Encoding::Deflate(takeover(parts)?);
        }
    }
    Ok(encoding)
}

/// RFC 7692 section 7.1: four parameters, each at most once.
fn takeover<'p>(parameters: impl Iterator<Item = &'p str>) -> Result<Takeover, Denial> {
    const KNOWN: [&str; 4] = [
        "server_no_context_takeover",
        "client_no_context_takeover",
        "server_max_window_bits",
        "client_max_window_bits",
    ];
    let mut seen = [false; KNOWN.len()];
    let mut takeover = Takeover::Kept;
    for parameter in parameters {
        let (name, value) = match parameter.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (parameter, None),
        };
        let known = KNOWN.iter().zip(&mut seen).find(|(known, _)| name.eq_ignore_ascii_case(known));
        let (name, seen) = known.ok_or_else(unreadable)?;
        let valid = match value {
            None => name.ends_with("takeover"),
            Some(value) => name.ends_with("bits") && is_window(value),
        };
        if !valid || std::mem::replace(seen, true) {
            return Err(unreadable());
        }
        if *name == "client_no_context_takeover" {
            takeover = Takeover::Dropped;
        }
    }
    Ok(takeover)
}

/// A number from 8 to 15 without leading zeros, which may stand in quotes.
fn is_window(value: &str) -> bool {
    let digits = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
    matches!(digits, "8" | "9" | "10" | "11" | "12" | "13" | "14" | "15")
}

fn unreadable() -> Denial {
    Denial::new(
        Reason::UninspectableTraffic,
        "the origin chose a WebSocket extension that is not read, so messages could not be judged",
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn answer(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (EXTENSIONS, value.parse().unwrap())).collect()
    }

    #[test]
    fn deflate_is_read_with_its_parameters() {
        let cases: [(&[&str], Encoding); 7] = [
            (&[], Encoding::Plain),
            (&["permessage-deflate"], Encoding::Deflate(Takeover::Kept)),
            (
                &["Permessage-Deflate ; server_max_window_bits=10"],
                Encoding::Deflate(Takeover::Kept),
            ),
            (
                &["permessage-deflate; client_no_context_takeover"],
                Encoding::Deflate(Takeover::Dropped),
            ),
            (
                &["permessage-deflate; server_no_context_takeover"],
                Encoding::Deflate(Takeover::Kept),
            ),
            (
                &["permessage-deflate; client_max_window_bits=\"9\"; CLIENT_no_context_takeover"],
                Encoding::Deflate(Takeover::Dropped),
            ),
            (
                &[
                    "permessage-deflate;server_no_context_takeover;client_no_context_takeover;server_max_window_bits=8;client_max_window_bits=15",
                ],
                Encoding::Deflate(Takeover::Dropped),
            ),
        ];
        for (values, expected) in cases {
            assert_eq!(negotiated(&answer(values)), Ok(expected), "{values:?}");
        }
    }

    #[test]
    fn what_is_not_known_for_certain_is_refused() {
        let cases: [&[&str]; 12] = [
            &["x-webkit-deflate-frame"],
            &["permessage-bzip2"],
            &["permessage-deflate, permessage-deflate"],
            &["permessage-deflate", "permessage-deflate"],
            &["permessage-deflate, x-own"],
            &["permessage-deflate; client_max_window_bits"],
            &["permessage-deflate; client_max_window_bits=16"],
            &["permessage-deflate; client_max_window_bits=08"],
            &["permessage-deflate; client_no_context_takeover=1"],
            &["permessage-deflate; client_no_context_takeover; client_no_context_takeover"],
            &["permessage-deflate; mystery"],
            &[""],
        ];
        for values in cases {
            let refused = negotiated(&answer(values)).map_err(|denial| denial.reason);
            assert_eq!(refused, Err(Reason::UninspectableTraffic), "{values:?}");
        }
    }
}
