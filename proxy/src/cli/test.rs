//! `tollgate test`: whether policies do what their cases files expect, by the same dry run as `explain`.
//!
//! In: cases files. Out: a line, an object or a JUnit test case for each case, and for a wrong one what differs and how it came about.

mod human;
mod json;
mod junit;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::explain::Explained;
use super::{CliError, Exit, output};
use crate::cases::{Case, Mismatch, Ran, Suite};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
    Junit,
}

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Cases files; the policies that they name are looked for beside them
    #[arg(required = true, value_name = "CASES")]
    files: Vec<PathBuf>,
    /// For reading, one JSON document, or JUnit's XML for build servers
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// A cases file whose cases were run.
struct Tested<'a> {
    suite: &'a Suite,
    results: Vec<Tried<'a>>,
}

/// One case that was run.
struct Tried<'a> {
    case: &'a Case,
    mismatches: Vec<Mismatch>,
    explained: Explained<'a>,
}

impl Tested<'_> {
    fn failed(&self) -> usize {
        self.results.iter().filter(|tried| !tried.mismatches.is_empty()).count()
    }

    fn file(&self) -> String {
        self.suite.file.path.display().to_string()
    }
}

pub(super) fn run(Arguments { files, format }: &Arguments) -> Result<Exit, CliError> {
    let Report { exit, errors, text } = report(files, *format)?;
    for error in errors {
        output::error(error);
    }
    output::verbatim(&text);
    Ok(exit)
}

/// What there is to print.
struct Report {
    exit: Exit,
    /// Why files cannot be used.
    errors: Vec<CliError>,
    /// What came of the cases.
    text: String,
}

fn report(files: &[PathBuf], format: Format) -> Result<Report, CliError> {
    // All are loaded before any is run: a report of some of the files would be taken for one of all.
    let (suites, errors) = load(files);
    if !errors.is_empty() {
        let (exit, text) = (Exit::Unusable, String::new());
        return Ok(Report { exit, errors, text });
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CliError::Runtime)?;
    let mut tested = Vec::with_capacity(suites.len());
    for suite in &suites {
        tested.push(runtime.block_on(test(suite))?);
    }
    let text = match format {
        Format::Human => human::text(&tested),
        Format::Json => json::document(&tested),
        Format::Junit => junit::document(&tested)?,
    };
    let right = tested.iter().all(|tested| tested.failed() == 0);
    let exit = if right { Exit::Yes } else { Exit::No };
    Ok(Report { exit, errors, text })
}

fn load(files: &[PathBuf]) -> (Vec<Suite>, Vec<CliError>) {
    let (mut suites, mut unusable) = (Vec::new(), Vec::new());
    for file in files {
        match Suite::load(file) {
            Ok(suite) => suites.push(suite),
            Err(error) => unusable.push(error.into()),
        }
    }
    (suites, unusable)
}

async fn test(suite: &Suite) -> Result<Tested<'_>, CliError> {
    let results = suite.run().await?.into_iter().map(|ran| tried(suite, ran)).collect();
    Ok(Tested { suite, results })
}

fn tried<'a>(suite: &'a Suite, Ran { case, run, mismatches }: Ran<'a>) -> Tried<'a> {
    let request = &case.request;
    let explained = Explained::new(&request.method, suite.sources(), request.binary(), run, suite.binaries());
    Tried {
        case,
        mismatches,
        explained,
    }
}
