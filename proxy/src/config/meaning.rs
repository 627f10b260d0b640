//! What single values can't show: whether sections mean something, by the words of the rooms that use them.

use super::Config;
use crate::gate::payment::terms::{Terms, TermsError};
use crate::gate::rail::{Rails, RailsError};

/// Something that parses and can't be meant.
pub(super) struct Mistake {
    /// Where, as a JSON pointer (RFC 6901).
    pub(super) pointer: String,
    pub(super) message: String,
}

pub(super) fn first_mistake(config: &Config) -> Option<Mistake> {
    listen(config)
        .or_else(|| tls(config))
        .or_else(|| upstream(config))
        .or_else(|| rails(config))
        .or_else(|| payments(config))
        .or_else(|| verdict(config))
}

fn listen(config: &Config) -> Option<Mistake> {
    let (proxy, admin) = (config.listen.proxy, config.listen.admin);
    (proxy == admin && proxy.port() != 0).then(|| Mistake {
        pointer: "/listen".into(),
        message: "`proxy` and `admin` can't share one address".into(),
    })
}

fn tls(config: &Config) -> Option<Mistake> {
    let tls = &config.tls;
    (tls.hand_over_ca && tls.ca_dir.is_none()).then(|| Mistake {
        pointer: "/tls/hand_over_ca".into(),
        message: "without `ca_dir`, the files by which clients trust the CA go with the process; name a folder for them".into(),
    })
}

fn upstream(config: &Config) -> Option<Mistake> {
    let upstream = &config.upstream;
    upstream.proxy_credentials.as_ref()?;
    let message = match &upstream.proxy {
        None => "credentials for a proxy, and no `proxy` that they are for",
        Some(url) if url.is_cleartext_beyond_loopback() && !config.insecure.proxy_credentials_in_clear => {
            "the credentials would be sent in clear; write `https://` for the proxy, or set `insecure.proxy_credentials_in_clear`"
        }
        Some(_) => return None,
    };
    Some(Mistake {
        pointer: "/upstream/proxy_credentials".into(),
        message: message.into(),
    })
}

fn rails(config: &Config) -> Option<Mistake> {
    let error = Rails::new(&config.rails).err()?;
    let pointer = match &error {
        RailsError::Host { index, .. } => format!("/rails/hosts/{index}"),
        RailsError::Address { index } => format!("/rails/addresses/{index}"),
        RailsError::BuiltIn(_) => "/rails".into(),
    };
    Some(Mistake {
        pointer,
        message: error.to_string(),
    })
}

fn payments(config: &Config) -> Option<Mistake> {
    if let Some((member, range)) = config.payments.rate.mistake() {
        return Some(Mistake {
            pointer: format!("/payments/rate/{member}"),
            message: range.to_owned(),
        });
    }
    let TermsError { pointer, message } = Terms::operator(&config.payments).err()?.into_iter().next()?;
    Some(Mistake {
        pointer: format!("/payments{pointer}"),
        message,
    })
}

fn verdict(config: &Config) -> Option<Mistake> {
    let error = config.verdict.validate().err()?;
    Some(Mistake {
        pointer: "/verdict".into(),
        message: error.to_string(),
    })
}
