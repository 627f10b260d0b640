//! Identities for connections on an asynchronous runtime.
//!
//! A look at all processes costs hundreds of microseconds. One thread takes it for all connections that wait, so that a
//! burst of them costs little more than one; and it rests in between, so that a storm cannot take a whole core.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use tokio::sync::{Semaphore, mpsc, oneshot};

use super::attribute::{Attributed, Connection, attribute};
use super::socket::Network;
use super::{BinaryLedger, ClientProcess, IdentityError};

/// Connections that may wait for the next look.
const QUEUE: usize = 1_024;
/// Connections answered with one look.
const BATCH: usize = 256;
/// Rest after a look, in times of what it took: at most a third of a core goes into looking.
const REST: u32 = 2;
/// Binaries read at the same time; one may lie on a file system that does not answer.
const READERS: usize = 32;
/// How long a connection waits for its identity: a large binary is read on its first use.
const PATIENCE: Duration = Duration::from_secs(10);

struct Ask {
    connection: Connection,
    answer: oneshot::Sender<Result<Attributed, IdentityError>>,
}

/// Tells who is behind each connection. Cheap to clone; the thread behind it ends with the last clone.
#[derive(Debug, Clone)]
pub struct Identities {
    asks: mpsc::Sender<Ask>,
    readers: Arc<Semaphore>,
    ledger: Arc<BinaryLedger>,
}

impl std::fmt::Debug for Ask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.connection.fmt(f)
    }
}

impl Identities {
    /// Starts the thread that looks, for clients in `network`.
    pub fn start(ledger: Arc<BinaryLedger>, network: Network) -> io::Result<Self> {
        let (asks, waiting) = mpsc::channel(QUEUE);
        thread::Builder::new()
            .name("tollgate-identity".into())
            .spawn(move || look(network, waiting))?;
        Ok(Self {
            asks,
            readers: Arc::new(Semaphore::new(READERS)),
            ledger,
        })
    }

    /// The first-use digests.
    pub fn ledger(&self) -> &BinaryLedger {
        &self.ledger
    }

    /// The process that opened the connection from `client` to `listener` (the local address of the accepted socket).
    ///
    /// Answers within ten seconds, usually within one millisecond. Dropping the future gives up.
    pub async fn of(&self, client: SocketAddr, listener: SocketAddr) -> Result<ClientProcess, IdentityError> {
        let asked = self.ask(Connection { client, listener });
        tokio::time::timeout(PATIENCE, asked)
            .await
            .unwrap_or(Err(IdentityError::Overloaded))
    }

    async fn ask(&self, connection: Connection) -> Result<ClientProcess, IdentityError> {
        let (answer, answered) = oneshot::channel();
        self.asks
            .try_send(Ask { connection, answer })
            .map_err(|_| IdentityError::Overloaded)?;
        let attributed = answered.await.map_err(|_| IdentityError::Overloaded)??;
        let permit = self.readers.clone().acquire_owned().await.map_err(|_| IdentityError::Overloaded)?;
        let ledger = self.ledger.clone();
        let vouched = tokio::task::spawn_blocking(move || {
            // Held until the reading ends, not until we stop waiting for it.
            let _permit = permit;
            attributed.vouch(&ledger)
        });
        vouched.await.map_err(|_| IdentityError::Overloaded)?
    }
}

fn look(network: Network, mut waiting: mpsc::Receiver<Ask>) {
    let mut asks = Vec::with_capacity(BATCH);
    while waiting.blocking_recv_many(&mut asks, BATCH) > 0 {
        asks.retain(|ask| !ask.answer.is_closed());
        let connections: Vec<_> = asks.iter().map(|ask| ask.connection).collect();
        let started = Instant::now();
        for (ask, answer) in asks.drain(..).zip(attribute(network, &connections)) {
            // Whoever no longer waits does not need it.
            let _ = ask.answer.send(answer);
        }
        thread::sleep(started.elapsed() * REST);
    }
}
