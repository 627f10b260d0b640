//! What loads, and probably is not what the author means.

use std::collections::{BTreeMap, HashSet};

use crate::diagnostic::{Code, Diagnostics, Position};
use crate::document::MatcherSection;
use crate::matcher::HostPattern;
use crate::policy::Endpoint;

/// `*.example.com` without `example.com`: redirects between the two are common, and the denial a surprise.
pub(super) fn apexes(endpoints: &[Endpoint], found: &mut Diagnostics) {
    let hosts: HashSet<&str> = endpoints.iter().map(Endpoint::host_text).collect();
    let mut missing: BTreeMap<&str, (&str, Position)> = BTreeMap::new();
    for endpoint in endpoints {
        let Some(pattern) = &endpoint.host else { continue };
        if let Some(apex) = pattern.apex().filter(|apex| !hosts.contains(apex)) {
            missing.entry(apex).or_insert((HostPattern::as_str(pattern), endpoint.at));
        }
    }
    for (apex, (wildcard, at)) in missing {
        let message = format!("`{wildcard}` does not cover `{apex}` itself");
        found.warn(Code::ApexNotCovered, at, message, format!("list `{apex}` too, if it is meant"));
    }
}

/// A deny rule for `/admin/**` leaves `/admin` open.
pub(super) fn deny_misses_base(rules: &[MatcherSection], found: &mut Diagnostics) {
    let paths: HashSet<&str> = rules
        .iter()
        .filter_map(|rule| rule.path.as_ref())
        .map(|path| path.value.as_str())
        .collect();
    for path in rules.iter().filter_map(|rule| rule.path.as_ref()) {
        let Some(base) = path.value.strip_suffix("/**").filter(|base| !base.is_empty()) else {
            continue;
        };
        if !paths.contains(base) && !paths.contains("**") && !paths.contains("/**") && !paths.contains(format!("{base}**").as_str()) {
            let message = format!("the deny rule for `{}` does not cover `{base}` itself", path.value);
            found.warn(Code::DenyMissesBase, path.at, message, format!("add a deny rule for `{base}`"));
        }
    }
}
