//! What loads, and probably is not what the author means.
//!
//! In: sections as read, so that every warning has the place of the very key it is about. Out: warnings, never errors.

mod cover;
mod globs;
mod hosts;
mod rules;

use std::collections::{BTreeMap, HashSet};

use crate::diagnostic::{Code, Diagnostics, Position};
use crate::document::RuleSection;
use crate::matcher::HostPattern;
use crate::policy::Endpoint;

/// Everything that one rule says by itself.
pub(super) fn rule(section: &RuleSection, found: &mut Diagnostics) {
    for endpoint in &section.endpoints {
        hosts::public_suffix(endpoint, found);
        hosts::read_only_git(endpoint, section, found);
        rules::shadowed_or_unreachable(endpoint, found);
        globs::surprises(endpoint, found);
    }
}

/// `*.example.com` without `example.com`: redirects between the two are common, and the denial a surprise.
pub(super) fn apexes(endpoints: &[Endpoint], found: &mut Diagnostics) {
    let listed: HashSet<&str> = endpoints.iter().map(Endpoint::host_text).collect();
    let mut missing: BTreeMap<&str, (&str, Position)> = BTreeMap::new();
    for endpoint in endpoints {
        let Some(pattern) = &endpoint.host else { continue };
        if let Some(apex) = pattern
            .apex()
            .filter(|apex| !listed.contains(apex) && !hosts::is_public_suffix(apex))
        {
            missing.entry(apex).or_insert((HostPattern::as_str(pattern), endpoint.at));
        }
    }
    for (apex, (wildcard, at)) in missing {
        let message = format!("`{wildcard}` does not cover `{apex}` itself");
        found.warn(Code::ApexNotCovered, at, message, format!("list `{apex}` too, if it is meant"));
    }
}
