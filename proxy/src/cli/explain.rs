//! `tollgate explain`: what would be decided about one request, by the same function that decides at run time.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use http::{HeaderName, HeaderValue, Method};

use super::{CliError, Documents, Exit};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Human,
    Json,
}

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    documents: Documents,
    /// The request's method
    method: Method,
    /// The request's URL, absolute
    url: String,
    /// The calling program
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// A header field, `Name: value`; may be repeated
    #[arg(long = "header", value_name = "FIELD", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// A file with the request's body
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,
    /// For reading, or one JSON document
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

pub(super) fn run(Arguments { documents, .. }: Arguments) -> Result<Exit, CliError> {
    let _config = documents.load_config()?;
    Err(CliError::NotSupportedYet("`tollgate explain`"))
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("expected `Name: value`")?;
    let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|error| error.to_string())?;
    let value = HeaderValue::from_str(value.trim()).map_err(|error| error.to_string())?;
    Ok((name, value))
}
