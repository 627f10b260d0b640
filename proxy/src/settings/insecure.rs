//! `insecure:`: every switch that weakens Tollgate, in one place.

use serde::Deserialize;

/// One weakening, as it is logged at start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weakening {
    /// The switch in `insecure:`.
    pub switch: &'static str,
    /// What it gives away.
    pub consequence: &'static str,
}

macro_rules! switches {
    ($($(#[doc = $doc:literal])+ $name:ident => $consequence:literal;)+) => {
        /// All weakening switches; off by default.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        // Each is a switch of its own in the operator's file; none excludes another.
        #[allow(clippy::struct_excessive_bools)]
        pub struct Insecure { $($(#[doc = $doc])+ pub $name: bool,)+ }

        impl Insecure {
            /// Every switch.
            pub const SWITCHES: &'static [Weakening] = &[$(Weakening { switch: stringify!($name), consequence: $consequence },)+];

            /// Those that are on.
            pub fn weakenings(&self) -> Vec<Weakening> {
                let on = [$(self.$name,)+];
                on.into_iter().zip(Self::SWITCHES).filter_map(|(on, weakening)| on.then_some(*weakening)).collect()
            }
        }
    };
}

switches! {
    /// Loopback addresses may be dialled, where the policy lists them. Link-local and metadata addresses may not even then.
    allow_loopback => "the sandbox may reach services on this host's loopback, where the policy lists them";
    /// The `binaries` of the policy are not looked at.
    ignore_binaries => "every process may use every endpoint, whatever its `binaries` say";
    /// The upstream proxy gets its credentials over a connection without TLS.
    proxy_credentials_in_clear => "whoever is on the way to the upstream proxy can read its credentials";
}

impl Insecure {
    /// Logs each switch that is on.
    pub fn log(&self) {
        for Weakening { switch, consequence } in self.weakenings() {
            tracing::warn!(switch = %format_args!("insecure.{switch}"), "weakened: {consequence}");
        }
    }
}
