//! The same in the answer to a JSON-RPC call: `result._meta["x402/payment-response"]` of an MCP server; `x402.payment.receipts` and
//! `x402.payment.status` in the metadata of an A2A agent's task, event or message.
//!
//! In: one answer, or the data of one event. Out: whether it answers the call, and the seller's word if it gives one. Each level is read
//! once, so that a large answer costs no more than its depth in these few names.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::{MAX_BYTES, Settlement, SettlementOutcome};
use crate::x402::carriers::{A2A_RECEIPTS, A2A_STATUS, MCP_RECEIPT, text};

/// An answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallAnswer {
    /// Whether the call was done.
    pub result: CallResult,
    /// What the seller says of the payment.
    pub settlement: Option<Settlement>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallResult {
    /// With a result.
    Done,
    /// With an error, or with a result that says that it is one.
    Error,
}

type Members<'t> = HashMap<String, &'t RawValue>;

impl CallAnswer {
    /// The answer to the call of this id; `None` for anything else: another call's, a request of the server's own, a notification.
    pub fn read(answer: &str, id: &str) -> Option<Self> {
        let answer = members(answer)?;
        let own = serde_json::from_str::<serde_json::Value>(id).ok()?;
        let named = serde_json::from_str::<serde_json::Value>(get(&answer, "id")?).ok()?;
        if own != named {
            return None;
        }
        if let Some(result) = get(&answer, "result") {
            return Some(Self::of(&members(result).unwrap_or_default()));
        }
        let error = get(&answer, "error")?;
        Some(CallAnswer {
            result: CallResult::Error,
            settlement: text::at(error, &["data", MCP_RECEIPT]).and_then(receipt),
        })
    }

    fn of(result: &Members<'_>) -> Self {
        let in_mcp = || {
            let places = ["_meta", "structuredContent"].into_iter();
            places
                .filter_map(|name| text::member(get(result, name)?, MCP_RECEIPT))
                .find_map(receipt)
        };
        // A task, an event or a message; newer agents wrap each in an object that names it.
        let wrapped = ["task", "statusUpdate", "message"].into_iter();
        let wrapped = wrapped.filter_map(|name| members(get(result, name)?));
        let in_a2a = || in_task(result).or_else(|| wrapped.into_iter().find_map(|task| in_task(&task)));
        CallAnswer {
            result: if get(result, "isError") == Some("true") {
                CallResult::Error
            } else {
                CallResult::Done
            },
            settlement: in_mcp().or_else(in_a2a),
        }
    }
}

fn members(object: &str) -> Option<Members<'_>> {
    serde_json::from_str(object).ok()
}

fn get<'t>(members: &Members<'t>, name: &str) -> Option<&'t str> {
    members.get(name).map(|raw| raw.get())
}

fn receipt(text: &str) -> Option<Settlement> {
    (text.len() <= MAX_BYTES).then(|| Settlement::read(text.as_bytes())).flatten()
}

fn in_task(task: &Members<'_>) -> Option<Settlement> {
    let of_message = || in_metadata(text::at(get(task, "status")?, &["message", "metadata"])?);
    of_message().or_else(|| in_metadata(get(task, "metadata")?))
}

/// The last receipt is about this payment, the others about attempts before; where there is none, the status is all that is said.
fn in_metadata(metadata: &str) -> Option<Settlement> {
    let metadata = members(metadata)?;
    let last = || text::items(get(&metadata, A2A_RECEIPTS)?)?.last().copied().and_then(receipt);
    let bare = |outcome| Settlement {
        outcome,
        transaction: None,
        amount: None,
    };
    last().or_else(|| match get(&metadata, A2A_STATUS)? {
        "\"payment-completed\"" => Some(bare(SettlementOutcome::Settled)),
        "\"payment-failed\"" | "\"payment-rejected\"" | "\"payment-required\"" => Some(bare(SettlementOutcome::Failed)),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
