//! `tollgate run`: the proxy, until a signal ends it.

use std::net::SocketAddr;

use clap::Args;

use super::{CliError, Documents, Exit, output};
use crate::audit::Output;
use crate::config::ListenConfig;
use crate::handover::{HandoverError, TakenOver};
use crate::serve::{Signals, Tollgate};

/// `--listen` and `--admin`.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Listeners {
    /// Where the sandbox reaches the proxy; port 0 picks a free one [default: 127.0.0.1:3128]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Where health, readiness and metrics are; port 0 picks a free one [default: 127.0.0.1:9465]
    #[arg(long, value_name = "ADDR")]
    pub admin: Option<SocketAddr>,
}

impl Listeners {
    /// The addresses to listen on: those given here, else the file's.
    pub fn over(self, file: ListenConfig) -> ListenConfig {
        file.overridden(self.listen, self.admin)
    }
}

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    documents: Documents,
    #[command(flatten)]
    listeners: Listeners,
    /// Started by a process that hands over: it stands in standard input
    #[arg(long, hide = true)]
    successor: bool,
}

pub(super) fn run(
    Arguments {
        documents,
        listeners,
        successor,
    }: Arguments,
) -> Result<Exit, CliError> {
    let mut settings = documents.settings()?;
    settings.config.listen = listeners.over(settings.config.listen);
    settings.config.audit.output.get_or_insert(Output::Stdout);
    super::runtime()?.block_on(async {
        let signals = Signals::listen().map_err(CliError::Runtime)?;
        let (tollgate, predecessor) = if successor {
            let (taken, predecessor) = TakenOver::from_stdin()?;
            (Tollgate::start_after(settings, taken).await?, Some(predecessor))
        } else {
            (Tollgate::start(settings).await?, None)
        };
        let (proxy, admin, ca) = (tollgate.proxy(), tollgate.admin(), tollgate.trust().ca.display());
        output::result(format_args!("tollgate ready proxy={proxy} admin={admin} ca={ca}"));
        if let Some(predecessor) = predecessor {
            predecessor.may_go().map_err(HandoverError::Broken)?;
        }
        signals.serve(tollgate).await;
        Ok(Exit::Yes)
    })
}
