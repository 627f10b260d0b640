//! One single-threaded runtime per core, for client connections and what they wait for.
//!
//! A connection stays with its worker, and so does the origin connection that its tunnel keeps: no request is handed from core to core,
//! and what is ready together is written together. Against one runtime that steals work it saves a tenth to a fifth of the CPU of a
//! request.

use std::future::Future;
use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The workers; their threads end when this goes.
pub struct Workers {
    first: Worker,
    others: Vec<Worker>,
    stop: CancellationToken,
}

struct Worker {
    runtime: Handle,
    /// Connections it has.
    load: Arc<AtomicUsize>,
}

/// One connection's share of its worker's load.
struct Share(Arc<AtomicUsize>);

impl Share {
    fn of(load: &Arc<AtomicUsize>) -> Self {
        load.fetch_add(1, Ordering::Relaxed);
        Share(load.clone())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    /// Starts as many as the process may use cores.
    pub fn start() -> io::Result<Self> {
        let stop = CancellationToken::new();
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Ok(Workers {
            first: Worker::start(stop.clone())?,
            others: (1..cores).map(|_| Worker::start(stop.clone())).collect::<io::Result<_>>()?,
            stop,
        })
    }

    /// Runs a connection on the worker that has fewest.
    pub(super) fn spawn(&self, connections: &mut JoinSet<()>, connection: impl Future<Output = ()> + Send + 'static) {
        let mut idlest = &self.first;
        for worker in &self.others {
            if worker.load() < idlest.load() {
                idlest = worker;
            }
        }
        let share = Share::of(&idlest.load);
        connections.spawn_on(
            async move {
                connection.await;
                drop(share);
            },
            &idlest.runtime,
        );
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Worker {
    fn start(stop: CancellationToken) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        thread::Builder::new()
            .name("tollgate-worker".into())
            .spawn(move || run(runtime, &stop))?;
        Ok(Worker {
            runtime: handle,
            load: Arc::default(),
        })
    }

    fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }
}

fn run(runtime: Runtime, stop: &CancellationToken) {
    runtime.block_on(stop.cancelled());
    runtime.shutdown_background();
}
