//! `tollgate env`: the environment that makes clients use the proxy and trust its certificate.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tollgate_certs::{BUNDLE_FILE, CA_FILE, ClientEnvironment, DEFAULT_NO_PROXY};

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
            Format::Sh => Self::Sh,
            Format::Dotenv => Self::Dotenv,
            Format::Json => Self::Json,
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// For a POSIX shell's `eval`, for env files, or one JSON object
    #[arg(long, value_enum, default_value = "sh")]
    format: Format,
    /// The folder with the proxy's certificate: `tls.ca_dir`, or that of the file in `tollgate ready … ca=FILE`
    #[arg(long, value_name = "DIR")]
    ca_dir: Option<PathBuf>,
    /// The proxy, as its clients reach it
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:3128")]
    proxy: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, CliError> {
    output::verbatim(&environment(arguments)?.render(arguments.format.into()));
    Ok(Exit::Yes)
}

fn environment(Arguments { ca_dir, proxy, .. }: &Arguments) -> Result<ClientEnvironment, CliError> {
    let Some(folder) = ca_dir else {
        let text = "`--ca-dir` is missing\nhint: it is `tls.ca_dir` of tollgate.yaml, or the folder of the file that `tollgate run` prints as `ca=`";
        return Err(CliError::Usage(text.into()));
    };
    // A client is started in any folder, so a relative path would mean another file there.
    let folder = std::path::absolute(folder).map_err(|error| CliError::Usage(format!("{}: {error}", folder.display())))?;
    let (ca, bundle) = (present(&folder, CA_FILE)?, present(&folder, BUNDLE_FILE)?);
    ClientEnvironment::new(proxy, &ca, &bundle, DEFAULT_NO_PROXY).map_err(|error| CliError::Usage(error.to_string()))
}

/// Clients that are told of a file that is not there fail with riddles, or fall back to trusting nothing.
fn present(folder: &Path, name: &str) -> Result<PathBuf, CliError> {
    let file = folder.join(name);
    if file.is_file() {
        return Ok(file);
    }
    let hint = "hint: start `tollgate run` with this `tls.ca_dir` first";
    Err(CliError::Usage(format!("there is no {name} in {}\n{hint}", folder.display())))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn arguments(ca_dir: Option<PathBuf>, proxy: &str) -> Arguments {
        Arguments {
            format: Format::Sh,
            ca_dir,
            proxy: proxy.into(),
        }
    }

    #[test]
    fn clients_are_told_of_the_proxy_and_of_files_that_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let asked = arguments(Some(folder.path().into()), "http://127.0.0.1:3128");
        let missing = environment(&asked).unwrap_err().to_string();
        assert!(missing.contains("tollgate-ca.pem"), "{missing}");
        for name in [CA_FILE, BUNDLE_FILE] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let environment = environment(&asked).unwrap();
        let value = |name| {
            environment
                .variables()
                .iter()
                .find(|variable| variable.name == name)
                .map(|variable| variable.value.clone())
        };
        assert_eq!(value("HTTPS_PROXY").as_deref(), Some("http://127.0.0.1:3128"));
        assert_eq!(value("SSL_CERT_FILE").as_deref(), folder.path().join(BUNDLE_FILE).to_str());
        assert_eq!(value("NODE_EXTRA_CA_CERTS").as_deref(), folder.path().join(CA_FILE).to_str());
    }

    #[test]
    fn what_would_give_a_broken_environment_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for name in [CA_FILE, BUNDLE_FILE] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        for asked in [
            arguments(None, "http://127.0.0.1:3128"),
            arguments(Some(folder.path().into()), "127.0.0.1:3128"),
            arguments(Some(folder.path().into()), "http://127.0.0.1:3128\nLD_PRELOAD=x"),
        ] {
            assert!(matches!(environment(&asked), Err(CliError::Usage(_))), "{asked:?}");
        }
    }
}
