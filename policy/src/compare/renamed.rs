//! Rules that stand under another key.

use std::collections::{BTreeMap, BTreeSet};

use super::Side;
use super::finding::{Certainty, Effect, Finding, FindingKind, Spot};
use super::reach::counterpart;

/// Reports keys that only the old policy has, where a key that only the new one has stands for the same hosts.
pub(super) fn compare(old: &Side<'_>, new: &Side<'_>, findings: &mut Vec<Finding>) {
    let keys = |side: &Side<'_>| -> BTreeSet<String> { side.policy.rule_keys().map(str::to_owned).collect() };
    let (old_keys, new_keys) = (keys(old), keys(new));
    // By the old key: where the rule stands, and the new places of its endpoints.
    let mut gone: BTreeMap<&str, (Spot, Vec<Option<Spot>>)> = BTreeMap::new();
    for endpoint in old
        .policy
        .all_endpoints()
        .iter()
        .filter(|endpoint| !new_keys.contains(&*endpoint.rule_key))
    {
        let found = counterpart(new, endpoint).filter(|other| other.host == endpoint.host);
        let rule = gone.entry(&*endpoint.rule_key).or_insert_with(|| (Spot::of(endpoint), Vec::new()));
        rule.1.push(found.map(|other| Spot::of(other)));
    }
    for (key, (spot, counterparts)) in gone {
        let Some(Some(first)) = counterparts.first() else { continue };
        let all_there = counterparts.iter().flatten().filter(|other| other.rule == first.rule).count() == counterparts.len();
        if !all_there || old_keys.contains(&first.rule) {
            continue;
        }
        let of_either = |finding: &Finding| {
            finding.old.as_ref().is_some_and(|place| place.rule == key)
                || finding.new.as_ref().is_some_and(|place| place.rule == first.rule)
        };
        let sameness = if findings.iter().any(of_either) {
            ""
        } else {
            "; it means the same"
        };
        findings.push(Finding {
            effect: Effect::None,
            certainty: Certainty::Known,
            kind: FindingKind::Renamed,
            text: format!("rule `{key}` is called `{}` now{sameness}", first.rule),
            matcher: None,
            old: Some(spot),
            new: Some(first.clone()),
        });
    }
}
