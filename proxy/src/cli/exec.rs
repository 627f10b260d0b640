//! `tollgate exec`: the proxy, and one command behind it.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use clap::Args;
use rustix::process::{DumpableBehavior, Pid, Signal, kill_process, set_dumpable_behavior};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tollgate_certs::{ClientEnvironment, DEFAULT_NO_PROXY, Variable};

use super::{CliError, Documents, Exit};
use crate::audit::Output;
use crate::config::ListenConfig;
use crate::isolation::Sandbox;
use crate::serve::Tollgate;
use crate::signer::config::SignerConfig;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    documents: Documents,
    /// Run the command in a network namespace of its own, with nothing in it but the proxy
    #[arg(long)]
    isolate: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, num_args = 1.., value_names = ["COMMAND", "ARG"])]
    command: Vec<OsString>,
}

pub(super) fn run(arguments: Arguments) -> Result<Exit, CliError> {
    let Arguments {
        documents,
        isolate,
        command,
    } = arguments;
    let mut settings = documents.settings()?;
    if settings.config.listen == ListenConfig::default() {
        // Several commands may run side by side, each behind a proxy of its own.
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        settings.config.listen = settings.config.listen.overridden(Some(any), Some(any));
    }
    // Standard output is the command's.
    settings.config.audit.output.get_or_insert(Output::Stderr);
    // Where loopback may be dialled, it is meant to be reached through the proxy.
    let no_proxy = if settings.config.insecure.allow_loopback {
        ""
    } else {
        DEFAULT_NO_PROXY
    };
    let signer = settings.config.payments.signer.iter();
    let secrets: Vec<String> = signer.flat_map(SignerConfig::secret_variables).map(str::to_owned).collect();
    super::runtime()?.block_on(async {
        let (tollgate, place) = if isolate {
            let (sandbox, listener) = Sandbox::open(&command, settings.config.listen.proxy.port(), &secrets).await?;
            let tollgate = Tollgate::start_inside(settings, listener, sandbox.pid()).await?;
            // One user's processes may look into each other: the command would get at our network by way of our memory.
            set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|error| CliError::Runtime(error.into()))?;
            (tollgate, Place::Inside(sandbox))
        } else {
            (Tollgate::start(settings).await?, Place::Beside)
        };
        let proxy = format!("http://{}", tollgate.proxy());
        let environment = ClientEnvironment::new(&proxy, tollgate.trust(), no_proxy).map_err(|e| CliError::Usage(e.to_string()))?;
        let inherited = |variable: &Variable| variable.over(std::env::var(variable.name).ok().as_deref());
        let variables: Vec<(&str, String)> = environment.variables().iter().map(|v| (v.name, inherited(v))).collect();
        let child = match place {
            Place::Inside(sandbox) => sandbox.enter(&variables)?,
            Place::Beside => beside(&command, &variables, &secrets)?,
        };
        let status = tollgate.serve_until(wait(child)).await.map_err(CliError::Runtime)?;
        Ok(Exit::Child(code(status)))
    })
}

/// Where the command runs.
enum Place {
    /// In our own network namespace.
    Beside,
    /// In one of its own.
    Inside(Sandbox),
}

fn beside(command: &[OsString], variables: &[(&str, String)], secrets: &[String]) -> Result<Child, CliError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(CliError::Usage("no command".to_owned()));
    };
    let mut child = Command::new(program);
    child.args(arguments).envs(variables.iter().cloned());
    for secret in secrets {
        child.env_remove(secret);
    }
    let child = child.kill_on_drop(true).spawn();
    child.map_err(|source| CliError::Command {
        program: program.display().to_string(),
        source,
    })
}

/// Waits for the command, passing on the signal that asks us to end; a terminal's Ctrl-C reaches the command by itself.
async fn wait(mut child: Child) -> std::io::Result<ExitStatus> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    loop {
        tokio::select! {
            status = child.wait() => return status,
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {
                if let Some(pid) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) {
                    let _ = kill_process(pid, Signal::TERM);
                }
            }
        }
    }
}

/// As a shell tells it: 128 and the signal's number where a signal ended the command.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(255)
}
