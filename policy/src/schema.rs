//! What a policy may hold, as data: every key with its type, its default and what it means.
//!
//! In: the tables of this folder. Out: a JSON Schema for editors ([`json`]), and the defaults that `check --effective` shows. The reader
//! of the document is written by hand, so a test holds its keys against these.

mod endpoint;
mod json;
mod matcher;
mod middleware;
mod rule;
mod sandbox;
mod shape;
#[cfg(test)]
mod tests;

pub use json::{MiddlewareConfig, json};

pub(crate) use endpoint::ENDPOINT;
pub(crate) use middleware::MIDDLEWARE;
pub(crate) use sandbox::{FILESYSTEM, LANDLOCK, PROCESS};
pub(crate) use shape::{Field, Kind, Presence, Shape};
