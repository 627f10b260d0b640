//! Rails by head: authentication schemes and headers that pay in another way than x402.

use http::header::{AUTHORIZATION, HeaderMap, PROXY_AUTHORIZATION};
use tollgate_policy::Reason;

use super::list::Match;
use super::{RailHit, Rails};

impl Rails {
    /// Looks for `Authorization: Payment …` and its relatives, and for headers such as `X-Cashu`. One pass, no allocation without a hit.
    pub fn scheme(&self, headers: &HeaderMap) -> Option<RailHit> {
        for (name, value) in headers {
            if *name == AUTHORIZATION || *name == PROXY_AUTHORIZATION || name.as_str().ends_with("-authorization") {
                // One field may hold several credentials, and a seller may take any of them.
                for credential in value.as_bytes().split(|b| *b == b',') {
                    let scheme = credential
                        .trim_ascii_start()
                        .split(u8::is_ascii_whitespace)
                        .next()
                        .unwrap_or_default();
                    if let Some(entry) = self
                        .list
                        .schemes
                        .iter()
                        .find(|entry| entry.scheme.as_bytes().eq_ignore_ascii_case(scheme))
                    {
                        return Some(RailHit::new(
                            Reason::RailPaymentScheme,
                            "the request pays by an authentication scheme",
                            &*entry.scheme,
                        ));
                    }
                }
            }
            if let Some(entry) = self
                .list
                .headers
                .iter()
                .find(|entry| matches(name.as_str().as_bytes(), entry.name.as_bytes(), entry.how))
            {
                return Some(RailHit::new(
                    Reason::RailPaymentScheme,
                    "the request pays by a header other than x402's",
                    &*entry.name,
                ));
            }
        }
        None
    }
}

/// Compares header names; `_` for `-` is folded by CGI and WSGI stacks.
pub(super) fn matches(name: &[u8], wanted: &[u8], how: Match) -> bool {
    let same = |part: &[u8]| part.iter().zip(wanted).all(|(a, b)| a == b || (*a == b'_' && *b == b'-'));
    match how {
        Match::Exact => name.len() == wanted.len() && same(name),
        Match::Prefix => name.get(..wanted.len()).is_some_and(same),
        Match::Suffix => name.len() >= wanted.len() && name.get(name.len() - wanted.len()..).is_some_and(same),
        Match::Contains => name.windows(wanted.len()).any(|part| part.first() == wanted.first() && same(part)),
    }
}
