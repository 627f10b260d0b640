//! The command line: one file per subcommand, and nothing else parses arguments or prints.
//!
//! In: the arguments. Out: an exit code; results on stdout, errors on stderr as `file:line:col: error[code]: text`, or
//! `tollgate: error[code]: text` where no file is at fault.

mod check;
mod demo;
mod diff;
mod documents;
mod env;
mod exec;
mod explain;
mod inside;
mod output;
mod policy_text;
mod run;
mod schema;
mod suggest;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use thiserror::Error;

use crate::cases::CasesError;
use crate::config::ConfigError;
use crate::demo::DemoError;
use crate::handover::HandoverError;
use crate::isolation::IsolationError;
use crate::logging::{self, LogFormat, LoggingError};
use crate::serve::{RehearsalError, StartError, Unreadable};

pub use documents::Documents;
pub use run::Listeners;

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// It did what it was asked, and the answer is yes: clean, allowed, as expected.
    Yes,
    /// It did what it was asked, and the answer is no: errors found, denied, not as expected.
    No,
    /// It could not do what it was asked.
    Unusable,
    /// The code of a command that it ran.
    Child(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(match exit {
            Exit::Yes => 0,
            Exit::No => 1,
            Exit::Unusable => 2,
            Exit::Child(code) => code,
        })
    }
}

/// Why a command could not do what it was asked.
#[derive(Debug, Error)]
pub enum CliError {
    /// The operator's file.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The policy.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The log.
    #[error("tollgate: error[log-filter]: {0}")]
    Logging(#[from] LoggingError),
    /// A combination of arguments that has no meaning.
    #[error("tollgate: error[usage]: {0}")]
    Usage(String),
    /// Tollgate does not start.
    #[error("tollgate: error[start]: {0}")]
    Start(#[from] StartError),
    /// The policy, for a command that judges by it; its findings are written as `tollgate check` writes them.
    #[error("{0}")]
    Policy(String),
    /// Audit lines that cannot be learned from.
    #[error(transparent)]
    Suggest(#[from] suggest::SuggestError),
    /// The demo's world.
    #[error("tollgate: error[demo]: {0}")]
    Demo(#[from] DemoError),
    /// The command that was to be run.
    #[error("tollgate: error[command]: cannot run {program}: {source}")]
    Command {
        /// The command.
        program: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The process before this one.
    #[error("tollgate: error[successor]: {0}")]
    Handover(#[from] HandoverError),
    /// The command's own network namespace.
    #[error("tollgate: error[isolate]: {0}")]
    Isolation(#[from] IsolationError),
    /// The runtime, signals or a child process.
    #[error("tollgate: error[runtime]: {0}")]
    Runtime(#[source] std::io::Error),
    /// A subcommand or format that is promised but not here yet.
    #[error("tollgate: error[not-supported-yet]: {0} is not supported yet")]
    NotSupportedYet(&'static str),
}

impl From<CasesError> for CliError {
    fn from(error: CasesError) -> Self {
        match error {
            CasesError::File(error) => CliError::Config(error),
            CasesError::Rehearsal(error) => error.into(),
            CasesError::Unsigned(..) => CliError::Usage(error.to_string()),
        }
    }
}

impl From<RehearsalError> for CliError {
    fn from(error: RehearsalError) -> Self {
        match error {
            RehearsalError::Start(error) => CliError::Start(error),
            RehearsalError::Unreadable(error) => CliError::Unreadable(error),
            RehearsalError::Policy(findings) => CliError::Policy(findings),
        }
    }
}

/// The egress gate of AI-agent sandboxes.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, about, disable_help_subcommand = true)]
pub struct Cli {
    /// How log lines on stderr look; what is logged is in TOLLGATE_LOG (`info`, `debug`, `tollgate::flow=debug`, …)
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    log_format: LogFormat,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the proxy until it is told to stop
    Run(run::Arguments),
    /// Run a command behind the proxy
    Exec(exec::Arguments),
    #[command(hide = true)]
    Inside(inside::Arguments),
    /// Print the environment that makes clients use the proxy and trust its certificate
    Env(env::Arguments),
    /// Look for mistakes in policies: exit 0 if there are none, 1 if there are, 2 if a file can't be read
    Check(check::Arguments),
    /// Say whether a request would be let out, and why: exit 0 if it would, 1 if not, 2 if the policy can't be used
    Explain(explain::Arguments),
    /// Print the rules that would have allowed what audit lines tell of: exit 0 if all lines were read, 1 if some were skipped
    Suggest(suggest::Arguments),
    /// Say what a change of a policy lets out, and what it stops: exit 0, or 1 if something widens and `--fail-on-widening` is given
    Diff(diff::Arguments),
    /// Hold policies against what their cases files expect: exit 0 if all is as expected, 1 if not, 2 if a file can't be used
    Test(test::Arguments),
    /// Print the JSON Schema of a file, for editors
    Schema(schema::Arguments),
    /// Show the three rules at work, on this machine alone
    Demo(demo::Arguments),
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let Cli { log_format, command } = Cli::parse();
    let result = start_log(log_format, &command).and_then(|()| dispatch(command));
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::error(&error);
            Exit::Unusable.into()
        }
    }
}

/// The demo's table is its whole output; its log would only be in the way, unless somebody asks for it.
fn start_log(format: LogFormat, command: &Command) -> Result<(), CliError> {
    if matches!(command, Command::Demo(_)) && std::env::var_os(logging::VARIABLE).is_none() {
        return Ok(());
    }
    Ok(logging::start(format)?)
}

/// The runtime that serves.
fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(CliError::Runtime)
}

fn dispatch(command: Command) -> Result<Exit, CliError> {
    match command {
        Command::Run(arguments) => run::run(arguments),
        Command::Exec(arguments) => exec::run(arguments),
        Command::Inside(arguments) => inside::run(&arguments),
        Command::Env(arguments) => env::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Suggest(arguments) => suggest::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Schema(arguments) => Ok(schema::run(arguments)),
        Command::Demo(arguments) => demo::run(arguments),
    }
}

#[cfg(test)]
mod tests;
