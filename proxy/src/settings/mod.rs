//! What the operator sets and every room reads: bounds, weakening switches, and the units that both are written in.
//!
//! The file itself is read in [`config`](crate::config), which stands above the rooms whose sections it has.

mod closers;
mod insecure;
mod limits;
mod private_file;
pub mod schema;
pub mod units;

pub use closers::{Closer, Closers};
pub use insecure::{Insecure, Weakening};
pub use limits::{LimitRow, Limits, Unit};
pub use private_file::{PrivateFileError, read_private_file};
