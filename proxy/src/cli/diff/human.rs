//! For reading.

use std::fmt::Write as _;

use tollgate_policy::compare::{Certainty, Effect, Finding, Spot};

use super::Difference;
use crate::cli::policy_text::PolicyText;

pub(super) fn text(difference: &Difference<'_>) -> String {
    let mut text = format!("{}\n", summary(difference));
    for (effect, heading) in [
        (Effect::Widening, "WIDENS: passes now, and did not"),
        (Effect::Narrowing, "NARROWS: passed, and does not any more"),
        (Effect::None, "NEITHER"),
    ] {
        if difference.count(effect) == 0 {
            continue;
        }
        let _ = writeln!(text, "\n{heading}");
        for finding in difference.findings.iter().filter(|finding| finding.effect == effect) {
            let _ = writeln!(text, "  {} {}{}", mark(effect), finding.text, doubt(finding));
            let _ = writeln!(text, "      {}", places(difference, finding));
        }
    }
    text
}

fn summary(difference: &Difference<'_>) -> String {
    let Difference { old, new, .. } = difference;
    let counts = [
        (difference.count(Effect::Widening), "widening"),
        (difference.count(Effect::Narrowing), "narrowing"),
        (difference.count(Effect::None), "without effect"),
    ];
    let told: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if told.is_empty() {
        return format!("{} and {} mean the same", old.name, new.name);
    }
    format!("{} to {}: {}", old.name, new.name, told.join(", "))
}

fn mark(effect: Effect) -> char {
    match effect {
        Effect::Widening => '+',
        Effect::Narrowing => '-',
        Effect::None => '=',
    }
}

fn doubt(finding: &Finding) -> &'static str {
    match (finding.certainty, finding.effect) {
        (Certainty::Assumed, Effect::Widening) => ": treat as widening",
        (Certainty::Assumed, _) => ": treat as narrowing",
        (Certainty::Known, _) => "",
    }
}

fn places(difference: &Difference<'_>, finding: &Finding) -> String {
    let shown = |policy: &PolicyText, spot: &Option<Spot>| match spot {
        Some(spot) => format!("{} ({})", policy.sources.place(spot.at), spot.rule),
        None => format!("{}: nothing of the kind", policy.name),
    };
    if finding.old.is_none() && finding.new.is_none() {
        return format!("{} and {}, as a whole", difference.old.name, difference.new.name);
    }
    format!(
        "{}  to  {}",
        shown(difference.old, &finding.old),
        shown(difference.new, &finding.new)
    )
}
