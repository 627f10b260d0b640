//! What the crate promises, from outside: OpenShell's conformance tables, broken files with their findings, and properties.

mod addresses;
mod agreement;
mod broken;
mod compare;
mod effective;
mod hosts;
mod judge;
mod operations;
mod paths;
mod places;
mod robustness;
mod rules;
mod schema;
mod suggest;
mod websocket;
