//! `tollgate suggest`: the smallest rules that would have allowed what audit lines tell of.
//!
//! In: audit lines, best of a run whose endpoints only audit, and the policy that the rules are to join, if there is one. Out: a
//! policy on stdout that `tollgate check` passes and under which the same traffic is not denied. Nothing is suggested for what no
//! rule may allow: rails, payments, addresses, malformed requests; a comment counts them.

mod join;
mod learn;
mod lines;
mod render;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use clap::Args;
use thiserror::Error;
use tollgate_policy::Sources;
use tollgate_policy::suggest::{Adopted, SuggestedRule, TooVaried};

use super::policy_text::{self, PolicyText};
use super::{CliError, Exit, output};
use crate::config::{Config, ConfigError};
use learn::{Lesson, Unlearnable};
use lines::{Broken, Lines};

/// No more broken lines than this are shown; all of them are counted.
const MOST_SHOWN: u64 = 20;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Files of audit lines; `-` is standard input
    #[arg(required = true, value_name = "AUDIT")]
    files: Vec<PathBuf>,
    /// Suggest only what this policy does not allow yet, and print it with the new rules in it; of several files, or a folder of them,
    /// print one more file
    #[arg(long, value_name = "PATH")]
    policy: Vec<PathBuf>,
    /// The operator's settings, against which the policy is checked
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Pass over lines that are no audit lines, count them, and end with code 1
    #[arg(long)]
    skip_broken: bool,
}

/// Why nothing can be suggested.
#[derive(Debug, Error)]
pub enum SuggestError {
    /// A line is no audit line.
    #[error("{file}:{line}: error[broken-line]: {why}\nhint: `--skip-broken` passes over such lines")]
    Broken {
        /// The file.
        file: String,
        /// From 1.
        line: u64,
        /// What is wrong with it.
        why: Broken,
    },
    /// A file can't be read.
    #[error("{file}: error[unreadable]: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// More than a policy can list.
    #[error(
        "{file}:{line}: error[too-varied]: {source}\nhint: allow the host with a wildcard path by hand, and suggest the rest with `--policy`"
    )]
    TooVaried {
        /// The file.
        file: String,
        /// From 1.
        line: u64,
        /// How much.
        source: TooVaried,
    },
    /// The new rules can't stand in the policy.
    #[error("tollgate: error[suggestion]: the suggested rules do not load; this is what `tollgate check` says of them:\n{0}")]
    Unloadable(String),
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, CliError> {
    let operator = Config::load(arguments.config.as_deref())?;
    let standing = match arguments.policy.as_slice() {
        [] => None,
        paths => Some(PolicyText::read(&paths.to_vec().into(), &operator)?),
    };
    let mut lesson = Lesson::new(standing.as_ref().map(|standing| &standing.policy));
    let mut skipped = 0;
    for path in &arguments.files {
        skipped += read(path, arguments, &mut lesson)?;
    }
    if skipped > 0 {
        output::error(format_args!(
            "tollgate: warning[broken-line]: {skipped} {} no audit {} and passed over",
            if skipped == 1 { "line is" } else { "lines are" },
            if skipped == 1 { "line" } else { "lines" },
        ));
    }
    output::verbatim(&suggestion(&lesson, standing.as_ref(), &operator)?);
    Ok(if skipped == 0 { Exit::Yes } else { Exit::No })
}

/// Learns from a file, and says how many lines were passed over.
fn read(path: &Path, arguments: &Arguments, lesson: &mut Lesson<'_>) -> Result<u64, CliError> {
    let file = path.display().to_string();
    let unreadable = |source| SuggestError::Unreadable {
        file: file.clone(),
        source,
    };
    let reader: Box<dyn BufRead> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(path).map_err(unreadable)?))
    };
    let mut skipped = 0;
    let mut lines = Lines::new(reader);
    while let Some(entry) = lines.next().map_err(unreadable)? {
        let line = lines.number();
        let learned = entry.map_err(Unlearnable::Broken).and_then(|entry| lesson.learn(&entry));
        match learned {
            Ok(()) => {}
            Err(Unlearnable::TooVaried(source)) => return Err(SuggestError::TooVaried { file, line, source }.into()),
            Err(Unlearnable::Broken(why)) if !arguments.skip_broken => return Err(SuggestError::Broken { file, line, why }.into()),
            Err(Unlearnable::Broken(why)) => {
                skipped += 1;
                if skipped <= MOST_SHOWN {
                    output::error(format_args!("{file}:{line}: warning[broken-line]: {why}"));
                }
            }
        }
    }
    Ok(skipped)
}

/// The policy as it is printed.
fn suggestion(lesson: &Lesson<'_>, standing: Option<&PolicyText>, operator: &Config) -> Result<String, CliError> {
    let taken: BTreeSet<String> = standing
        .iter()
        .flat_map(|standing| standing.policy.rule_keys().map(str::to_owned))
        .collect();
    let rules: Vec<SuggestedRule> = lesson.traffic.rules(
        |host, port, covers| standing.map_or_else(Adopted::default, |standing| Adopted::from(&standing.policy, host, port, covers)),
        taken,
    );
    let remarks = render::remarks(lesson);
    let Some(standing) = standing else {
        return checked(render::policy(&remarks, &rules), operator);
    };
    let mut files = standing.sources.iter();
    let (Some((_, only)), None) = (files.next(), files.next()) else {
        return fragment(&render::policy(&remarks, &rules), standing, operator);
    };
    if let Some(joined) = join::insert(only.text(), &remarks, &rules)
        && policy_text::load(&Sources::one("suggestion", joined.as_str()), operator).is_ok()
    {
        return Ok(joined);
    }
    let file = Path::new(&standing.name);
    let rewritten = join::rewrite(only.text(), &remarks, &rules)
        .map_err(|error| ConfigError::whole_file(file, "unreadable", format!("cannot be written anew: {error}")))?;
    let rewritten = checked(rewritten, operator)?;
    output::error(format_args!(
        "{}: warning[rewritten]: the policy is not laid out so that rules can be put into it as it stands; it was written anew, without comments",
        standing.name
    ));
    Ok(rewritten)
}

/// One more file for a policy of several: it must load beside them.
fn fragment(text: &str, standing: &PolicyText, operator: &Config) -> Result<String, CliError> {
    match policy_text::load(&standing.sources.with("suggestion", text), operator) {
        Ok(_) => Ok(text.to_owned()),
        Err(errors) => Err(SuggestError::Unloadable(errors).into()),
    }
}

/// What is printed must load: a suggestion with errors helps nobody.
fn checked(text: String, operator: &Config) -> Result<String, CliError> {
    match policy_text::load(&Sources::one("suggestion", text.as_str()), operator) {
        Ok(_) => Ok(text),
        Err(errors) => Err(SuggestError::Unloadable(errors).into()),
    }
}
