//! What carries a payment, and what asks for one, besides the HTTP head: JSON-RPC calls of MCP clients and A2A agents, and the answers to
//! them.
//!
//! In: a decoded body that speaks of payments. Out: the one payment in the one place that its protocol gives it ([`call`]), or the
//! challenges in an answer ([`answer`]). A payment in any other place is a trace ([`super::traces`]), which is refused.

pub mod again;
pub mod answer;
pub mod call;
pub(in crate::x402) mod text;

pub use call::{Call, Carried, Sought};

/// The member of `params._meta` that pays for an MCP call.
pub const MCP_PAYMENT: &str = "x402/payment";
/// The member of a message's `metadata` that pays an A2A agent.
pub const A2A_PAYMENT: &str = "x402.payment.payload";
/// The member of a result's `_meta` that says what became of an MCP call's payment.
pub const MCP_RECEIPT: &str = "x402/payment-response";
/// The members of a message's `metadata` that say the same to an A2A agent's client.
pub const A2A_RECEIPTS: &str = "x402.payment.receipts";
/// One word for it.
pub const A2A_STATUS: &str = "x402.payment.status";
/// The member of a message's `metadata` by which an A2A agent asks to be paid.
pub const A2A_REQUIRED: &str = "x402.payment.required";

/// The deepest nesting of a message that is looked through; `serde_json` itself gives up at 128.
pub(crate) const MAX_DEPTH: u8 = 100;

/// What of a request a payment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Carrier<'r> {
    /// The request as a whole: the payment stands in its head.
    #[default]
    Head,
    /// A call of an MCP tool, by name.
    Tool(&'r str),
    /// A reading of an MCP resource, by URI.
    Reading(&'r str),
    /// A prompt of an MCP server, by name.
    Prompt(&'r str),
    /// A task of an A2A agent; `None` before it has a name.
    Task(Option<&'r str>),
}

impl Carrier<'_> {
    /// Names the kind in hashes.
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Carrier::Head => "head",
            Carrier::Tool(_) => "mcp tool",
            Carrier::Reading(_) => "mcp resource",
            Carrier::Prompt(_) => "mcp prompt",
            Carrier::Task(_) => "a2a task",
        }
    }

    /// What of its kind it is.
    pub(super) const fn name(&self) -> Option<&str> {
        match self {
            Carrier::Head => None,
            Carrier::Tool(name) | Carrier::Reading(name) | Carrier::Prompt(name) => Some(name),
            Carrier::Task(name) => *name,
        }
    }
}
