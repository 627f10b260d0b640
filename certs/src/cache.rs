//! The leaves in use: bounded, because the client chooses the names, and minted once however many ask at the same time.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use rustls::ServerConfig;
use time::OffsetDateTime;

use crate::authority::CertificateAuthority;
use crate::mint::{Leaf, LeafError, LeafLifetime, Mint};
use crate::name::LeafName;

/// Hosts whose leaves are kept when nothing else is said.
pub const DEFAULT_CAPACITY: NonZeroUsize = NonZeroUsize::new(1_024).unwrap();

/// The place of one host's leaf. Whoever holds its lock mints; whoever wants the same host waits for that, nobody else does.
type Slot = Arc<Mutex<Option<Leaf>>>;
type Clock = Box<dyn Fn() -> OffsetDateTime + Send + Sync>;

/// One TLS configuration per host, minted on first use, least recently used out first.
///
/// A leaf is minted anew when less than a third of its life is left, so no connection is ever offered one that is about to
/// expire, however long the process runs.
pub struct LeafCache {
    mint: Mint,
    slots: Mutex<LruCache<LeafName, Slot>>,
    minted: AtomicU64,
    clock: Clock,
}

impl LeafCache {
    /// A cache whose leaves `authority` signs.
    pub fn new(authority: CertificateAuthority, lifetime: LeafLifetime, capacity: NonZeroUsize) -> Result<Self, LeafError> {
        Self::with_clock(authority, lifetime, capacity, Box::new(OffsetDateTime::now_utc))
    }

    fn with_clock(
        authority: CertificateAuthority,
        lifetime: LeafLifetime,
        capacity: NonZeroUsize,
        clock: Clock,
    ) -> Result<Self, LeafError> {
        Ok(Self {
            mint: Mint::new(authority, lifetime)?,
            slots: Mutex::new(LruCache::new(capacity)),
            minted: AtomicU64::new(0),
            clock,
        })
    }

    /// The authority that signs the leaves.
    pub fn authority(&self) -> &CertificateAuthority {
        self.mint.authority()
    }

    /// The configuration under which to answer as `host`: the chain is leaf and authority, ALPN offers `h2` and `http/1.1`.
    ///
    /// Blocks for one signature (tens of microseconds) when the host is new; a task may call it directly.
    pub fn server_config(&self, host: &LeafName) -> Result<Arc<ServerConfig>, LeafError> {
        let slot = self.slot(host);
        let mut leaf = lock(&slot);
        let now = (self.clock)();
        if let Some(leaf) = leaf.as_ref().filter(|leaf| leaf.is_fresh(now)) {
            return Ok(leaf.config.clone());
        }
        let minted = self.mint.mint(host, now)?;
        self.minted.fetch_add(1, Ordering::Relaxed);
        Ok(leaf.insert(minted).config.clone())
    }

    /// Leaves minted so far.
    pub fn minted(&self) -> u64 {
        self.minted.load(Ordering::Relaxed)
    }

    /// Hosts in the cache; never more than its capacity.
    pub fn cached(&self) -> usize {
        lock(&self.slots).len()
    }

    fn slot(&self, host: &LeafName) -> Slot {
        lock(&self.slots).get_or_insert_ref(host, Slot::default).clone()
    }
}

/// What a panic elsewhere left behind is either no leaf or a whole one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for LeafCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeafCache")
            .field("authority", self.mint.authority())
            .field("minted", &self.minted())
            .field("cached", &self.cached())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
