//! `tollgate explain`: what would be decided about one request, by the same rules in the same order as at run time.
//!
//! In: a request as a client would send it, and the files that `run` would be started with. Out: the decision, how it came about, and
//! the smallest change that would turn a no into a yes. Nothing is resolved, dialled or asked of a service.

mod human;
mod json;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::{Args, ValueEnum};
use http::{HeaderName, HeaderValue, Method};
use tollgate_policy::{Outcome, Sources};

use super::{CliError, Documents, Exit, output};
use crate::audit::Process;
use crate::config::ConfigError;
use crate::flow::{Binaries, DryRequest, DryRun};
use crate::gate::Caller;
use crate::serve::Rehearsal;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
}

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    documents: Documents,
    /// The request's method; WEBSOCKET_TEXT is a text message on the WebSocket that the URL opens
    method: Method,
    /// The request's URL, absolute: http, https, ws or wss
    url: String,
    /// The calling program, as the kernel names its file; without it, binaries are not judged
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// A header field, `Name: value`; may be repeated
    #[arg(long = "header", value_name = "FIELD", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// A file with the request's body, or with the message
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,
    /// For reading, or one JSON document
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

/// A decision, with all that there is to show of it.
pub(super) struct Explained<'a> {
    method: &'a Method,
    sources: &'a Sources,
    binary: Option<&'a str>,
    run: DryRun,
    /// What the decision rests on that the run time may find otherwise.
    notes: Vec<String>,
}

impl<'a> Explained<'a> {
    pub(super) fn new(method: &'a Method, sources: &'a Sources, binary: Option<&'a str>, run: DryRun, binaries: Binaries) -> Self {
        Explained {
            method,
            sources,
            binary,
            notes: notes(&run, binary, binaries),
            run,
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        human::text(self)
    }

    /// For machines.
    pub(super) fn document(&self) -> serde_json::Value {
        json::document(self)
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, CliError> {
    let rehearsal = Rehearsal::new(&arguments.documents.settings()?)?;
    if arguments.format == Format::Human && !rehearsal.warnings.is_empty() {
        output::error(&rehearsal.warnings);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CliError::Runtime)?;
    let explained = runtime.block_on(explain(arguments, &rehearsal))?;
    match arguments.format {
        Format::Human => output::verbatim(&explained.text()),
        Format::Json => output::result(format!("{:#}", explained.document())),
    }
    Ok(if explained.run.outcome.is_ok() { Exit::Yes } else { Exit::No })
}

async fn explain<'a>(arguments: &'a Arguments, rehearsal: &'a Rehearsal) -> Result<Explained<'a>, CliError> {
    let body = match &arguments.body {
        None => Bytes::new(),
        Some(file) => std::fs::read(file)
            .map_err(|error| ConfigError::whole_file(file, "unreadable", format!("cannot be read: {error}")))?
            .into(),
    };
    let binary = arguments.binary.as_deref().map(path_text).transpose()?;
    let caller = match binary {
        Some(binary) => Caller::identified(Process {
            binary: binary.to_owned(),
            pid: 0,
            ancestors: Vec::new(),
        }),
        None => Caller::NotEnforced,
    };
    let request = DryRequest {
        method: &arguments.method,
        url: &arguments.url,
        headers: &arguments.headers,
        body,
        caller: &caller,
        at: None,
    };
    let run = rehearsal
        .engine
        .judge(&request)
        .await
        .map_err(|error| CliError::Usage(format!("{}: {error}", arguments.url)))?;
    let mut explained = Explained::new(&arguments.method, &rehearsal.sources, binary, run, rehearsal.engine.binaries);
    if arguments.body.is_none() && body_decides(&explained.run) {
        let note = "what the body asks for decides: give it with `--body FILE`, and its type with `--header 'Content-Type: …'`";
        explained.notes.push(note.to_owned());
    }
    Ok(explained)
}

fn path_text(path: &Path) -> Result<&str, CliError> {
    match path.to_str() {
        Some(text) if path.is_absolute() => Ok(text),
        _ => Err(CliError::Usage(format!("--binary {}: expected an absolute path", path.display()))),
    }
}

fn notes(run: &DryRun, binary: Option<&str>, binaries: Binaries) -> Vec<String> {
    let Some(policy) = run.policy.as_ref().filter(|policy| policy.needs_caller) else {
        return Vec::new();
    };
    match (binaries, binary) {
        (Binaries::Ignored, _) => vec!["binaries are not judged: `insecure.ignore_binaries` is set".to_owned()],
        (Binaries::Enforced, None) => {
            let mut notes = vec![
                "binaries are not judged without `--binary`; at run time the caller, or an ancestor of it, must be one of these".to_owned(),
            ];
            for candidate in &policy.candidates {
                let note = format!("policy '{}' is for {}", candidate.policy, list(&candidate.binaries));
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
            notes
        }
        (Binaries::Enforced, Some(binary)) => {
            let resolved = std::fs::canonicalize(binary).ok().filter(|resolved| *resolved != Path::new(binary));
            let note = |file: PathBuf| {
                format!(
                    "{binary} is a link to {} here; at run time the caller is known by its file",
                    file.display()
                )
            };
            resolved.map(note).into_iter().collect()
        }
    }
}

fn body_decides(run: &DryRun) -> bool {
    let candidates = run.policy.iter().flat_map(|policy| &policy.candidates);
    candidates.into_iter().any(|candidate| candidate.outcome == Outcome::BodyDecides)
}

fn list(binaries: &[String]) -> String {
    if binaries.is_empty() {
        "nobody: it lists no binaries".to_owned()
    } else {
        binaries.join(", ")
    }
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("expected `Name: value`")?;
    let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|error| error.to_string())?;
    let value = HeaderValue::from_str(value.trim()).map_err(|error| error.to_string())?;
    Ok((name, value))
}
