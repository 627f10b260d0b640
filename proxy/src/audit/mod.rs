//! One audit event per decision, as a JSON line, into a file or to stdout.
//!
//! In: an [`Event`] whose fields can hold no query, header value or body. Out: a line of JSONL. Nothing is sampled and nothing is
//! dropped: when lines can't be written, [`Sink::ready`] says so and the flow lets nothing more out.

pub mod entry;
pub mod event;
pub mod id;
mod line;
pub mod sink;
pub mod vocabulary;

pub use entry::{Entry, EntryProcess};
pub use event::{Event, PaymentRecord, Process, RequestPath, VerdictRecord};
pub use id::{ConnectionId, RequestId};
pub use sink::{AuditError, AuditFull, Output, Sink, Status};
pub use vocabulary::{
    Adapter, Decision, PaymentOutcome, PaymentScheme, Protocol, ReportFate, Scheme, SignatureOutcome, VerdictBackend, VerdictOutcome,
    X402Version,
};
