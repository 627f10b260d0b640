//! A server of the clients' folder behind TLS, and the proxy in front of it.

use tempfile::TempDir;
use tollgate_tests::authority::Authority;
use tollgate_tests::policy::HOST;
use tollgate_tests::real_clients::Server;
use tollgate_tests::tollgate::{Setup, Tollgate};

/// See the module.
pub(crate) struct Served {
    /// The server.
    pub(crate) server: Server,
    authority: Authority,
    _files: TempDir,
}

impl Served {
    /// Starts a program that takes a certificate and its key.
    pub(crate) fn start(program: &str) -> Self {
        let authority = Authority::default();
        let files = TempDir::new().unwrap();
        let (leaf, key) = authority.leaf_pem(&[HOST]);
        let path = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(path("leaf.pem"), leaf).unwrap();
        std::fs::write(path("key.pem"), key).unwrap();
        let server = Server::start(program, &[&path("leaf.pem"), &path("key.pem")]);
        Self {
            server,
            authority,
            _files: files,
        }
    }

    /// The proxy under this policy.
    pub(crate) fn gate(&self, policy: &str) -> Tollgate {
        Setup::new(policy).local_host().trust(&self.authority).start()
    }
}
