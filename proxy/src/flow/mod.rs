//! One request, from its head to its settlement. The order of things is written down in [`exchange`] and nowhere else.
//!
//! In: a session on which a request head has been read, and what is known of its connection. Out: an answer on the same session, one
//! audit line, and the counters.

mod absolute_form;
mod answer;
mod body;
mod challenge;
mod connection;
pub mod decoders;
mod dry_run;
mod engine;
mod exchange;
mod failure;
mod grpc;
mod head;
mod inbound;
mod outbound;
mod payment;
mod record;
mod relay;
mod send;
mod session;
mod signing;
mod splice;
mod trailers;
mod upload;
mod websocket;

pub(crate) use absolute_form::{AbsoluteTarget, Agreement};
pub(crate) use answer::last_words;
pub(crate) use body::HeldBytes;
pub(crate) use connection::{Client, Connection};
pub use dry_run::{Answer, DryEngine, DryRequest, DryRun, Finding, Pass, Stage, Step, UrlError};
pub use engine::{Binaries, Engine};
pub(crate) use exchange::{Outcome, now};
pub(crate) use head::has_bare_line_ends;
pub(crate) use payment::backend_label;
pub(crate) use record::{Record, Traffic};
pub(crate) use session::{ClientSession, H1Request, H2Request};
pub(crate) use splice::copy_both_ways;
pub use websocket::{Bounds, Encoding, Fault, MessageReader, Passage, Takeover};
