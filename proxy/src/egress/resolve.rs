//! Names to addresses, once per name and a short while: the addresses that were judged are the addresses that are dialled.
//!
//! In: a [`Host`]. Out: every address it has, for the guard to judge. Names fixed by the operator are asked before DNS. The cache is
//! bounded because the client chooses the names, and short-lived so that it follows DNS; a connection pins what it was given, so a
//! name that is rebound later cannot move a judged tunnel (DNS rebinding).

use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;
use thiserror::Error;
use tollgate_policy::Host;

use super::eyeballs::interleaved;

/// How long an answer is used again.
const TIME_TO_LIVE: Duration = Duration::from_secs(10);
/// Names remembered at once.
const CAPACITY: usize = 1_024;

/// Why a name has no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ResolveError {
    /// DNS says so, or cannot be asked.
    #[error("the name does not resolve")]
    NotResolved,
    /// No answer within the connect timeout.
    #[error("the name did not resolve in time")]
    Timeout,
}

type Answer = (Arc<[IpAddr]>, Instant);

/// See the module.
pub struct Resolver {
    fixed: HashMap<Box<str>, Arc<[IpAddr]>>,
    timeout: Duration,
    cache: Mutex<LruCache<Box<str>, Answer>>,
}

impl Resolver {
    /// `fixed` names are never asked of DNS; `timeout` bounds one look-up.
    pub fn new(fixed: HashMap<Box<str>, Arc<[IpAddr]>>, timeout: Duration) -> Self {
        let capacity = NonZeroUsize::new(CAPACITY).unwrap_or(NonZeroUsize::MIN);
        Resolver {
            fixed,
            timeout,
            cache: Mutex::new(LruCache::new(capacity)),
        }
    }

    /// What needs no look-up: a literal, or a name that the operator fixed.
    pub fn known(&self, host: &Host) -> Option<Arc<[IpAddr]>> {
        match host {
            Host::Address(address) => Some(Arc::from([*address])),
            Host::Name(name) => self.fixed.get(name).cloned(),
        }
    }

    /// Every address of `host`; never empty.
    pub async fn resolve(&self, host: &Host) -> Result<Arc<[IpAddr]>, ResolveError> {
        let name = match (self.known(host), host) {
            (Some(addresses), _) => return Ok(addresses),
            (None, Host::Name(name)) => name,
            (None, Host::Address(_)) => return Err(ResolveError::NotResolved),
        };
        if let Some(addresses) = self.cached(name) {
            return Ok(addresses);
        }
        let lookup = tokio::net::lookup_host((name.as_ref(), 0));
        let found = match tokio::time::timeout(self.timeout, lookup).await {
            Err(_) => return Err(ResolveError::Timeout),
            Ok(Err(_)) => return Err(ResolveError::NotResolved),
            Ok(Ok(found)) => found,
        };
        let mut addresses: Vec<IpAddr> = found.map(|socket| socket.ip()).collect();
        addresses.dedup();
        if addresses.is_empty() {
            return Err(ResolveError::NotResolved);
        }
        let addresses: Arc<[IpAddr]> = interleaved(addresses).into();
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.put(name.clone(), (addresses.clone(), Instant::now()));
        Ok(addresses)
    }

    fn cached(&self, name: &str) -> Option<Arc<[IpAddr]>> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let (addresses, at) = cache.get(name)?;
        (at.elapsed() < TIME_TO_LIVE).then(|| addresses.clone())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn resolver() -> Resolver {
        let fixed = HashMap::from([("api.example.test".into(), Arc::from(["192.0.2.7".parse::<IpAddr>().unwrap()]))]);
        Resolver::new(fixed, Duration::from_secs(2))
    }

    #[tokio::test]
    async fn fixed_names_and_literals_need_no_dns() {
        let r = resolver();
        let named = r.resolve(&Host::parse("API.example.test").unwrap()).await.unwrap();
        assert_eq!(named.to_vec(), ["192.0.2.7".parse::<IpAddr>().unwrap()]);
        let literal = r.resolve(&Host::parse("[2001:db8::1]").unwrap()).await.unwrap();
        assert_eq!(literal.to_vec(), ["2001:db8::1".parse::<IpAddr>().unwrap()]);
    }

    #[tokio::test]
    async fn an_unknown_name_is_an_error_and_not_a_wait() {
        let unknown = Host::parse("does-not-exist.invalid").unwrap();
        assert!(resolver().resolve(&unknown).await.is_err());
    }
}
