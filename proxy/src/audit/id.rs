//! Names of requests and connections: unique over restarts, made without a lock or an allocation, and telling a client nothing.

use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Serialize, Serializer};

static BOOT: LazyLock<u64> = LazyLock::new(rand::random);
static REQUESTS: AtomicU64 = AtomicU64::new(1);
static CONNECTIONS: AtomicU64 = AtomicU64::new(1);

/// Names one request in the answer's `request_id`, the audit line and the log: 32 hex digits, the first half of which name the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(u64);

impl RequestId {
    /// The next one.
    pub fn next() -> Self {
        RequestId(REQUESTS.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", *BOOT, self.0)
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Numbers the client connections of this process from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct ConnectionId(u64);

impl ConnectionId {
    /// The next one.
    pub fn next() -> Self {
        ConnectionId(CONNECTIONS.fetch_add(1, Ordering::Relaxed))
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_ids_differ_and_share_the_process_half() {
        let (first, second) = (RequestId::next().to_string(), RequestId::next().to_string());
        assert_eq!(first.len(), 32);
        assert_ne!(first, second);
        assert_eq!(first.get(..16), second.get(..16));
    }
}
