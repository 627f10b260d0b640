//! `tollgate diff`: what a change of a policy lets out that it did not, and what it stops.
//!
//! In: the policy before and after. Out: each change in one sentence with its places in both files, those that widen first, so that a
//! reviewer can approve a change by reading it. The comparison is by meaning: an order, a key or a spelling is no change.

mod human;
mod json;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tollgate_policy::compare::{Compared, Effect, Finding, compare};

use super::policy_text::PolicyText;
use super::{CliError, Exit, output};
use crate::config::Config;
use crate::gate::stanzas::Stanzas;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
}

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The policy as it was: a file, or a folder
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The policy as it is to be: a file, or a folder
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// The operator's settings, under which both are compared
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// End with code 1 if something passes that did not
    #[arg(long)]
    fail_on_widening: bool,
    /// For reading, or one JSON document
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// What there is to tell.
struct Difference<'a> {
    old: &'a PolicyText,
    new: &'a PolicyText,
    findings: Vec<Finding>,
}

impl Difference<'_> {
    fn count(&self, effect: Effect) -> usize {
        self.findings.iter().filter(|finding| finding.effect == effect).count()
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, CliError> {
    let operator = Config::load(arguments.config.as_deref())?;
    let old = PolicyText::read(&arguments.old.clone().into(), &operator)?;
    let new = PolicyText::read(&arguments.new.clone().into(), &operator)?;
    let stanzas = Stanzas {
        operator: &operator.payments,
    };
    let difference = Difference {
        findings: compare(compared(&old), compared(&new), &stanzas),
        old: &old,
        new: &new,
    };
    match arguments.format {
        Format::Human => output::verbatim(&human::text(&difference)),
        Format::Json => output::result(json::document(&difference)),
    }
    let refused = arguments.fail_on_widening && difference.count(Effect::Widening) > 0;
    Ok(if refused { Exit::No } else { Exit::Yes })
}

fn compared(text: &PolicyText) -> Compared<'_> {
    Compared {
        policy: &text.policy,
        sources: &text.sources,
    }
}
