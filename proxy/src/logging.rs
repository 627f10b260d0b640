//! The log: what an operator reads on stderr, as text or JSON.
//!
//! In: `TOLLGATE_LOG`, in the syntax of `RUST_LOG`; `info` when it is not set. Libraries that print request targets or header
//! fields, in which secrets stand, are kept quiet unless the operator names them.

use std::io::IsTerminal as _;

use thiserror::Error;
use tracing::Subscriber;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

/// The variable that says what is logged.
pub const VARIABLE: &str = "TOLLGATE_LOG";

/// In front of the operator's own directives, so that theirs win where they name the same target. The HTTP and TLS libraries show
/// heads and frames at `debug`; pingora shows raw paths and queries even in its errors.
const QUIET: &str = "info,pingora=off,h2=info,hyper=info,rustls=info";

/// How the log looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum LogFormat {
    /// For reading.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// The log can't be set up.
#[derive(Debug, Error)]
pub enum LoggingError {
    /// The variable does not parse.
    #[error("{VARIABLE} is not a log filter: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// Somebody else was first.
    #[error("the log is set up already")]
    Twice,
}

/// Sets up the log of this process.
pub fn start(format: LogFormat) -> Result<(), LoggingError> {
    let written = std::env::var(VARIABLE).unwrap_or_default();
    let filter = filter(&written)?;
    let ansi = std::io::stderr().is_terminal();
    let result = match format {
        LogFormat::Text => tracing_subscriber::util::SubscriberInitExt::try_init(text(filter, std::io::stderr, ansi)),
        LogFormat::Json => tracing_subscriber::util::SubscriberInitExt::try_init(json(filter, std::io::stderr)),
    };
    result.map_err(|_| LoggingError::Twice)
}

fn filter(written: &str) -> Result<EnvFilter, LoggingError> {
    Ok(EnvFilter::builder().parse(format!("{QUIET},{written}"))?)
}

fn text<W>(filter: EnvFilter, writer: W, ansi: bool) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    builder.with_ansi(ansi).with_target(false).finish()
}

fn json<W>(filter: EnvFilter, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    builder.json().flatten_event(true).finish()
}

#[cfg(test)]
mod tests;
