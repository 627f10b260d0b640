//! `network_middlewares`.
//!
//! What a middleware's configuration means is the middleware's own business: it says so itself, through [`MiddlewareMeaning`].

use serde_json::Value;

use super::finding::{Certainty, Effect, Finding, FindingKind, Spot};
use super::words;
use crate::policy::{Middleware, OnError, Policy};

/// How a middleware is compared.
pub trait MiddlewareMeaning {
    /// What a change of its configuration does, or what it does that there is one or none any more; `None` if nobody can tell.
    fn config(&self, middleware: &str, old: Option<&Value>, new: Option<&Value>) -> Option<Vec<ConfigChange>>;

    /// What it does that the middleware looks at more hosts, or at fewer.
    fn selection(&self, middleware: &str, selected: Selected) -> (Effect, &'static str);
}

/// A change of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigChange {
    /// What it does.
    pub effect: Effect,
    /// One sentence, without a full stop.
    pub text: String,
}

/// How the hosts of a middleware change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selected {
    /// It looks at hosts that it did not look at.
    More,
    /// It no longer looks at hosts that it looked at.
    Fewer,
}

pub(super) fn compare(old: &Policy, new: &Policy, meaning: &dyn MiddlewareMeaning, findings: &mut Vec<Finding>) {
    let mut gone: Vec<&Middleware> = old.middlewares().iter().collect();
    let mut added: Vec<&Middleware> = Vec::new();
    let mut pairs: Vec<(&Middleware, &Middleware)> = Vec::new();
    for stanza in new.middlewares() {
        match gone
            .iter()
            .position(|other| other.key == stanza.key && other.middleware == stanza.middleware)
        {
            Some(index) => pairs.push((gone.remove(index), stanza)),
            None => added.push(stanza),
        }
    }
    // One that was renamed.
    for stanza in std::mem::take(&mut added) {
        match gone.iter().position(|other| other.middleware == stanza.middleware) {
            Some(index) => pairs.push((gone.remove(index), stanza)),
            None => added.push(stanza),
        }
    }
    let mut report = Report { findings };
    for (old, new) in &pairs {
        compare_pair(old, new, meaning, &mut report);
    }
    for stanza in added {
        let text = format!("middleware `{}` ({}) is added", stanza.key, stanza.middleware);
        report.push(Effect::Narrowing, Certainty::Known, text, None, Some(stanza));
        compare_config(None, Some(stanza), meaning, &mut report);
    }
    for stanza in gone {
        let text = format!(
            "middleware `{}` ({}) is gone: nothing is judged by it any more",
            stanza.key, stanza.middleware
        );
        report.push(Effect::Widening, Certainty::Known, text, Some(stanza), None);
        compare_config(Some(stanza), None, meaning, &mut report);
    }
    compare_order(&pairs, &mut report);
}

fn compare_pair(old: &Middleware, new: &Middleware, meaning: &dyn MiddlewareMeaning, report: &mut Report<'_>) {
    let Middleware {
        key,
        name: _,
        middleware: _,
        order: _,
        on_error,
        config,
        config_at: _,
        at: _,
        include: _,
        exclude: _,
    } = new;
    if old.key != *key {
        let text = format!("middleware `{}` is called `{key}` now", old.key);
        report.push(Effect::None, Certainty::Known, text, Some(old), Some(new));
    }
    match (old.on_error, on_error) {
        (OnError::FailClosed, OnError::FailOpen) => {
            let text = format!("middleware `{key}` fails open: what it cannot judge passes");
            report.push(Effect::Widening, Certainty::Known, text, Some(old), Some(new));
        }
        (OnError::FailOpen, OnError::FailClosed) => {
            let text = format!("middleware `{key}` fails closed: what it cannot judge is refused");
            report.push(Effect::Narrowing, Certainty::Known, text, Some(old), Some(new));
        }
        _ => {}
    }
    compare_selection(old, new, meaning, report);
    if old.config != *config {
        compare_config(Some(old), Some(new), meaning, report);
    }
}

fn compare_config(old: Option<&Middleware>, new: Option<&Middleware>, meaning: &dyn MiddlewareMeaning, report: &mut Report<'_>) {
    let Some(Middleware { key, middleware, .. }) = new.or(old) else {
        return;
    };
    match meaning.config(middleware, old.map(|stanza| &stanza.config), new.map(|stanza| &stanza.config)) {
        Some(changes) => {
            for change in changes {
                let text = format!("middleware `{key}`: {}", change.text);
                report.push(change.effect, Certainty::Known, text, old, new);
            }
        }
        None if old.is_some() && new.is_some() => {
            let text = format!("middleware `{key}`: its configuration changed, and cannot be compared");
            report.push(Effect::Widening, Certainty::Assumed, text, old, new);
        }
        None => {}
    }
}

fn compare_selection(old: &Middleware, new: &Middleware, meaning: &dyn MiddlewareMeaning, report: &mut Report<'_>) {
    let texts = |patterns: &[crate::matcher::HostPattern]| -> Vec<String> { patterns.iter().map(ToString::to_string).collect() };
    let beyond = |own: &[String], other: &[String]| -> Vec<String> { own.iter().filter(|text| !other.contains(text)).cloned().collect() };
    let (old_in, new_in) = (texts(old.include()), texts(new.include()));
    let (old_out, new_out) = (texts(old.exclude()), texts(new.exclude()));
    let more = [beyond(&new_in, &old_in), beyond(&old_out, &new_out)].concat();
    let fewer = [beyond(&old_in, &new_in), beyond(&new_out, &old_out)].concat();
    for (hosts, selected, verb) in [
        (more, Selected::More, "now looks at"),
        (fewer, Selected::Fewer, "no longer looks at"),
    ] {
        if hosts.is_empty() {
            continue;
        }
        let (effect, consequence) = meaning.selection(&new.middleware, selected);
        let text = format!("middleware `{}` {verb} {}: {consequence}", new.key, words::list(&hosts));
        report.push(effect, Certainty::Known, text, Some(old), Some(new));
    }
}

/// Stanzas come in their order.
fn compare_order(pairs: &[(&Middleware, &Middleware)], report: &mut Report<'_>) {
    let mut by_old: Vec<&(&Middleware, &Middleware)> = pairs.iter().collect();
    by_old.sort_by_key(|(old, _)| old.order);
    if let Some([first, second]) = by_old
        .windows(2)
        .filter_map(|pair| <&[_; 2]>::try_from(pair).ok())
        .find(|[first, second]| first.1.order > second.1.order)
    {
        let text = format!(
            "middleware `{}` runs before `{}` now, and cannot be compared",
            second.1.key, first.1.key
        );
        report.push(Effect::Widening, Certainty::Assumed, text, Some(second.0), Some(second.1));
    }
}

struct Report<'f> {
    findings: &'f mut Vec<Finding>,
}

impl Report<'_> {
    fn push(&mut self, effect: Effect, certainty: Certainty, text: String, old: Option<&Middleware>, new: Option<&Middleware>) {
        let spot = |stanza: &Middleware| Spot {
            rule: stanza.key.clone(),
            at: stanza.at,
        };
        self.findings.push(Finding {
            effect,
            certainty,
            kind: FindingKind::Middleware,
            text,
            matcher: None,
            old: old.map(spot),
            new: new.map(spot),
        });
    }
}
