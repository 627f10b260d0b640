//! `tollgate run`: the proxy, until a signal ends it.

use std::net::SocketAddr;

use clap::Args;

use super::{CliError, Documents, Exit, output};
use crate::audit::Output;
use crate::config::ListenConfig;
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
}

pub(super) fn run(Arguments { documents, listeners }: Arguments) -> Result<Exit, CliError> {
    let mut settings = documents.settings()?;
    settings.config.listen = listeners.over(settings.config.listen);
    settings.config.audit.output.get_or_insert(Output::Stdout);
    super::runtime()?.block_on(async {
        let signals = Signals::listen().map_err(CliError::Runtime)?;
        let tollgate = Tollgate::start(settings).await?;
        let (proxy, admin, ca) = (tollgate.proxy(), tollgate.admin(), tollgate.trust().ca.display());
        output::result(format_args!("tollgate ready proxy={proxy} admin={admin} ca={ca}"));
        signals.serve(tollgate).await;
        Ok(Exit::Yes)
    })
}
