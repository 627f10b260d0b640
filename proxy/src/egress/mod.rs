//! Egress: every byte that leaves goes through here.
//!
//! In: who may be dialled, decided elsewhere. Out: connections and answers. Only this room, `ingress` and `flow` know pingora's types.

pub mod fetch;
