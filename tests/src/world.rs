//! The usual surroundings: one cleartext and one TLS origin for [`crate::policy::HOST`], and the proxy between.

use crate::answer::Answer;
use crate::authority::{Alpn, Authority};
use crate::client::{Ask, Via};
use crate::origin::Origin;
use crate::tollgate::{Setup, Tollgate};

/// Two origins and a proxy.
pub struct World {
    /// The proxy.
    pub gate: Tollgate,
    /// The cleartext origin.
    pub plain: Origin,
    /// The TLS origin, h2 and h1.
    pub tls: Origin,
    /// What certified the TLS origin.
    pub authority: Authority,
}

impl World {
    /// Starts all three; `policy` gets the origins' ports, and `setup` may be added to.
    pub async fn start(policy: impl FnOnce(&[u16]) -> String, setup: impl FnOnce(Setup) -> Setup) -> Self {
        let authority = Authority::default();
        let plain = Origin::plain().await;
        let tls = Origin::tls(&authority, Alpn::H2).await;
        let policy = policy(&[plain.port(), tls.port()]);
        let gate = setup(Setup::new(policy).local_host().trust(&authority)).start();
        Self {
            gate,
            plain,
            tls,
            authority,
        }
    }

    /// Everything on [`crate::policy::HOST`] is allowed.
    pub async fn open() -> Self {
        Self::start(crate::policy::open, |setup| setup).await
    }

    /// The origin that `via` leads to.
    pub fn origin(&self, via: Via) -> &Origin {
        if via.is_tls() { &self.tls } else { &self.plain }
    }

    /// Its port.
    pub fn port(&self, via: Via) -> u16 {
        self.origin(via).port()
    }

    /// A GET of `target` by this way.
    pub async fn get(&self, via: Via, target: &str) -> Answer {
        self.gate.fetch(via, &Ask::get(self.port(via), target)).await
    }

    /// Fails if anything reached either origin.
    #[track_caller]
    pub fn assert_untouched(&self) {
        self.plain.assert_untouched();
        self.tls.assert_untouched();
    }
}
