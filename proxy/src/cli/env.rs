//! `tollgate env`: the environment that makes clients use the proxy and trust its certificate.
//!
//! In: the folder of the certificate files that a running Tollgate wrote, and where it is reached. Out: variables on stdout. Files
//! that are not there are an error here, since every client would later report them in words of its own.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tollgate_certs::{ClientEnvironment, DEFAULT_NO_PROXY, TrustBundle, read_certificates};

use super::{CliError, Exit, output};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Sh,
    Dotenv,
    Json,
}

impl From<Format> for tollgate_certs::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Sh => tollgate_certs::Format::Sh,
            Format::Dotenv => tollgate_certs::Format::Dotenv,
            Format::Json => tollgate_certs::Format::Json,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// For a POSIX shell's `eval`, for env files, or one JSON object
    #[arg(long, value_enum, default_value = "sh")]
    format: Format,
    /// The folder of the file that `tollgate run` names as `ca=…` when it is ready
    #[arg(long, value_name = "DIR")]
    ca_dir: Option<PathBuf>,
    /// The proxy, as its clients reach it
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:3128")]
    proxy: String,
    /// Hosts that clients reach directly, separated by commas; empty sends loopback through the proxy as well
    #[arg(long, value_name = "LIST", default_value = DEFAULT_NO_PROXY)]
    no_proxy: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, CliError> {
    output::verbatim(&text(arguments)?);
    Ok(Exit::Yes)
}

fn text(
    Arguments {
        format,
        ca_dir,
        proxy,
        no_proxy,
    }: &Arguments,
) -> Result<String, CliError> {
    let usage = |text: String| Err(CliError::Usage(text));
    let Some(folder) = ca_dir else {
        let text = "say where the certificate files are with `--ca-dir DIR`: the folder of the file that `tollgate run` names as \
                    ca=… when it is ready; `tls.ca_dir` in tollgate.yaml chooses it";
        return usage(text.to_owned());
    };
    // A proxy variable that does not parse is ignored by most clients, which then go out directly.
    if let Err(why) = check_proxy(proxy) {
        return usage(format!("--proxy {proxy}: {why}"));
    }
    let files = files(folder)?;
    match ClientEnvironment::new(proxy, &files, no_proxy) {
        Ok(environment) => Ok(environment.render((*format).into())),
        Err(error) => usage(error.to_string()),
    }
}

fn check_proxy(proxy: &str) -> Result<(), String> {
    let url = url::Url::parse(proxy).map_err(|error| error.to_string())?;
    if url.scheme() != "http" {
        return Err("the proxy speaks plain HTTP to its clients, so its URL starts with http://".to_owned());
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err("expected http://HOST:PORT and nothing behind it".to_owned());
    }
    Ok(())
}

/// The files of the folder, all of which have to be there.
fn files(folder: &Path) -> Result<TrustBundle, CliError> {
    let missing = |what: String| {
        CliError::Usage(format!(
            "{what}; `tollgate run` writes it when it starts, into the folder of its ca=…"
        ))
    };
    let files = TrustBundle::within(folder).map_err(|error| CliError::Usage(format!("--ca-dir: {error}")))?;
    for file in [&files.ca, &files.bundle] {
        read_certificates(file).map_err(|error| missing(error.to_string()))?;
    }
    for file in [&files.java, &files.apt, &files.wget] {
        std::fs::metadata(file).map_err(|error| missing(format!("{}: {error}", file.display())))?;
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
