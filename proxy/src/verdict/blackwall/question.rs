//! What a Blackwall service is told about a payment, and nothing else.
//!
//! Never the signature or the payment header: whoever has a signed EIP-3009 authorisation can settle it, so handing it over before GO would let
//! the service, or a listener, pay what we then refuse.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::verdict::Question;
use crate::x402::claim::Resource;
use crate::x402::network::Caip2;

/// Longest `resource` that is told; a longer one is left out.
const MAX_RESOURCE: usize = 2048;

/// The operator's name for this sandbox: 1 to 128 of `A-Z a-z 0-9 . _ : -`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct AgentId(Box<str>);

impl AgentId {
    /// The name, if it has that form.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'-');
        ((1..=128).contains(&text.len()) && text.bytes().all(fits)).then(|| AgentId(text.into()))
    }
}

impl<'de> Deserialize<'de> for AgentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        AgentId::parse(&text).ok_or_else(|| de::Error::custom("agent_id must be 1 to 128 letters, digits and ._:-"))
    }
}

/// The members of a forecast request, in the order in which the service's own clients send them.
#[derive(Serialize)]
struct Forecast<'a> {
    counterparty: String,
    amount: String,
    /// The contract, not a symbol: a symbol switches the service's own asset and signer checks off.
    asset: String,
    chain: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a AgentId>,
}

/// The request body.
pub(super) fn body(question: &Question, agent_id: Option<&AgentId>) -> Bytes {
    let forecast = Forecast {
        counterparty: question.payee.to_string(),
        amount: question.amount.to_decimal(question.asset.decimals),
        asset: question.asset.address.to_string(),
        chain: chain(question.asset.network),
        resource: resource(&question.resource),
        payer: question.payer.map(|payer| payer.to_string()),
        agent_id,
    };
    // Strings only: serialising them cannot fail. An empty body would be refused by the service, never judged.
    Bytes::from(serde_json::to_vec(&forecast).unwrap_or_default())
}

/// The service's simulations know the bare names only, and it takes them for equal to CAIP-2.
fn chain(network: Caip2) -> Cow<'static, str> {
    match network {
        Caip2::Eip155 { chain_id: 8453 } => Cow::Borrowed("base"),
        Caip2::Eip155 { chain_id: 84532 } => Cow::Borrowed("base-sepolia"),
        _ => Cow::Owned(network.to_string()),
    }
}

/// [`Resource`] has no user information, query or fragment; cut again here, where it would leave the host.
fn resource(resource: &Resource) -> Option<String> {
    let mut text = resource.to_string();
    let end = text.find(['?', '#']).unwrap_or(text.len());
    text.truncate(end);
    (text.len() <= MAX_RESOURCE).then_some(text)
}

#[cfg(test)]
mod tests;
