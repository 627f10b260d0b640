//! `listen:`.

use std::net::{Ipv4Addr, SocketAddr};

use serde::Deserialize;

/// Where Tollgate listens. Port 0 picks a free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ListenConfig {
    /// For the sandbox.
    pub proxy: SocketAddr,
    /// For the supervisor: health, readiness, metrics.
    pub admin: SocketAddr,
}

impl Default for ListenConfig {
    fn default() -> Self {
        ListenConfig {
            proxy: (Ipv4Addr::LOCALHOST, 3128).into(),
            admin: (Ipv4Addr::LOCALHOST, 9465).into(),
        }
    }
}

impl ListenConfig {
    /// With the addresses of the command line in place of the file's.
    #[must_use]
    pub fn overridden(self, proxy: Option<SocketAddr>, admin: Option<SocketAddr>) -> Self {
        ListenConfig {
            proxy: proxy.unwrap_or(self.proxy),
            admin: admin.unwrap_or(self.admin),
        }
    }
}
