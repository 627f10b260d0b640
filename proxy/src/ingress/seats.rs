//! Room for client connections: so many in all, and so many of one address, so that no client takes the others' place.
//!
//! In: the address of a connection that has been accepted. Out: its seat, given back when that is dropped, or what is full.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::settings::Limits;

/// See the module.
#[derive(Debug)]
pub(super) struct Seats {
    taken: Arc<Mutex<Taken>>,
    in_all: usize,
    of_one: usize,
}

#[derive(Debug, Default)]
struct Taken {
    in_all: usize,
    by: HashMap<IpAddr, usize>,
}

/// Why there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    /// `limits.connections`.
    InAll,
    /// `limits.connections_per_client`.
    ForThisClient,
}

impl Full {
    /// What the client is told.
    pub(super) fn detail(self) -> &'static str {
        match self {
            Full::InAll => "too many client connections are open",
            Full::ForThisClient => "too many connections of this client are open",
        }
    }
}

/// One connection's place.
#[derive(Debug)]
pub(super) struct Seat {
    taken: Arc<Mutex<Taken>>,
    client: IpAddr,
}

impl Seats {
    pub(super) fn new(limits: &Limits) -> Self {
        Seats {
            taken: Arc::default(),
            in_all: limits.connections,
            of_one: limits.connections_per_client,
        }
    }

    pub(super) fn take(&self, client: IpAddr) -> Result<Seat, Full> {
        // An IPv4 client is the same one through a socket for both.
        let client = client.to_canonical();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.in_all >= self.in_all {
            return Err(Full::InAll);
        }
        let of_this = taken.by.get(&client).copied().unwrap_or_default();
        if of_this >= self.of_one {
            return Err(Full::ForThisClient);
        }
        taken.by.insert(client, of_this + 1);
        taken.in_all += 1;
        Ok(Seat {
            taken: self.taken.clone(),
            client,
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.in_all = taken.in_all.saturating_sub(1);
        if let Entry::Occupied(mut of_this) = taken.by.entry(self.client) {
            *of_this.get_mut() = of_this.get().saturating_sub(1);
            if *of_this.get() == 0 {
                of_this.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn seats(connections: usize, connections_per_client: usize) -> Seats {
        Seats::new(&Limits {
            connections,
            connections_per_client,
            ..Limits::default()
        })
    }

    #[test]
    fn no_client_takes_the_others_place() {
        let seats = seats(3, 2);
        let (one, other): (IpAddr, IpAddr) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let mapped: IpAddr = "::ffff:10.0.0.1".parse().unwrap();
        let first = seats.take(one).unwrap();
        let second = seats.take(mapped).unwrap();
        assert_eq!(seats.take(one).unwrap_err(), Full::ForThisClient);
        let third = seats.take(other).unwrap();
        assert_eq!(seats.take(other).unwrap_err(), Full::InAll);
        drop(second);
        assert!(seats.take(one).is_ok());
        drop((first, third));
        assert!(seats.taken.lock().unwrap().by.is_empty(), "clients that have gone are remembered");
        assert_eq!(seats.taken.lock().unwrap().in_all, 0);
    }
}
