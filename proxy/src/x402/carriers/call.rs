//! The payment in a JSON-RPC call: `params._meta["x402/payment"]` of an MCP call, `params.message.metadata["x402.payment.payload"]` of a
//! message to an A2A agent. One call, one payment, one place: whatever a server might read in another way is refused.

use std::ops::Range;

use http::header::HeaderMap;
use http::{Method, header};
use tollgate_policy::Reason;
use tollgate_policy::operation::{Media, folds_to};

use super::again::{self, CallHash};
use super::{A2A_PAYMENT, Carrier, MCP_PAYMENT, text};
use crate::x402::json::{self, Object, Value};
use crate::x402::payment::MAX_PAYMENT_BYTES;
use crate::x402::refusal::PaymentRefusal;

/// Methods of an A2A agent that take a message.
const MESSAGES: [&str; 2] = ["message/send", "message/stream"];

/// What a call asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// `tools/call`: a tool by name.
    Tool(Box<str>),
    /// `resources/read`: a resource by URI.
    Reading(Box<str>),
    /// `prompts/get`: a prompt by name.
    Prompt(Box<str>),
    /// A message to an A2A agent, about a task if it is not the first one.
    Task(Option<Box<str>>),
}

impl Call {
    /// What a JSON-RPC request calls; `None` for what nobody pays for.
    pub fn of(request: &Object<'_>) -> Option<Self> {
        let params = request.object("params")?;
        let named = |name: &str| params.string(name).map(Box::from);
        match request.string("method")? {
            "tools/call" => named("name").map(Call::Tool),
            "resources/read" => named("uri").map(Call::Reading),
            "prompts/get" => named("name").map(Call::Prompt),
            method if MESSAGES.contains(&method) => params
                .object("message")
                .map(|message| Call::Task(message.string("taskId").map(Box::from))),
            _ => None,
        }
    }

    /// What the call of this id asks for, in the body of a request; `id` is as JSON has it.
    pub fn by_id(body: &[u8], id: &str) -> Option<Self> {
        let whole = std::str::from_utf8(body).ok()?;
        let document = json::parse(body, super::MAX_DEPTH).ok()?;
        match &document {
            Value::Object(request) => (text::member(whole, "id") == Some(id)).then(|| Call::of(request)).flatten(),
            Value::Array(batch) => batch
                .iter()
                .zip(text::items(whole)?)
                .filter_map(|(request, slice)| request.as_object().zip(Some(slice)))
                .find(|(_, slice)| text::member(slice, "id") == Some(id))
                .and_then(|(request, _)| Call::of(request)),
            _ => None,
        }
    }

    /// As what it is paid for.
    pub fn carrier(&self) -> Carrier<'_> {
        match self {
            Call::Tool(name) => Carrier::Tool(name),
            Call::Reading(uri) => Carrier::Reading(uri),
            Call::Prompt(name) => Carrier::Prompt(name),
            Call::Task(task) => Carrier::Task(task.as_deref()),
        }
    }
}

/// A payment in the place that its protocol has for it; still to be decoded. Its text has a signature in it: do not log it.
#[derive(Clone, PartialEq, Eq)]
pub struct Carried {
    /// What is paid for.
    pub call: Call,
    /// The payment's JSON, byte for byte as it leaves.
    pub payment: Box<str>,
    /// Where it stands in the document.
    pub at: Range<usize>,
    /// The call's id, as JSON.
    pub id: Box<str>,
    /// Names the call, whatever pays for it.
    pub hash: CallHash,
}

impl std::fmt::Debug for Carried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Carried").field("call", &self.call).finish_non_exhaustive()
    }
}

impl Carried {
    /// Whether the request that it travels in is one that its protocol knows: a POST of JSON.
    pub fn check_request(&self, method: &Method, headers: &HeaderMap) -> Result<(), PaymentRefusal> {
        if method != Method::POST {
            return Err(PaymentRefusal::malformed("a payment in the body of a request that is no POST"));
        }
        let declared = headers.get_all(header::CONTENT_TYPE).iter().map(http::HeaderValue::as_bytes);
        // What is declared as text or as a form is read by some other server than the one the payment is for.
        let essence = |value: &http::HeaderValue| value.as_bytes().split(|b| *b == b';').next().map(<[u8]>::to_vec);
        let named_json = headers
            .get(header::CONTENT_TYPE)
            .and_then(essence)
            .is_some_and(|essence| essence.trim_ascii().eq_ignore_ascii_case(b"application/json"));
        if named_json && Media::of(declared) == Media::Json {
            return Ok(());
        }
        Err(PaymentRefusal::malformed(
            "a payment in a body that is not declared as application/json",
        ))
    }
}

/// The payments of a document that stand where MCP or A2A has them.
#[derive(Debug, Default)]
pub struct Sought<'v>(Vec<Place<'v>>);

#[derive(Debug)]
struct Place<'v> {
    request: &'v Object<'v>,
    /// The way to the payment from the request.
    path: &'static [&'static str],
    payment: &'v Value<'v>,
    within: Within,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Itself,
    Batch,
}

const IN_MCP: &[&str] = &["params", "_meta", MCP_PAYMENT];
const IN_A2A: &[&str] = &["params", "message", "metadata", A2A_PAYMENT];

impl<'v> Sought<'v> {
    /// Looks at a request, or at each one of a batch.
    pub fn of(document: &'v Value<'v>) -> Self {
        let mut found = Sought::default();
        match document {
            Value::Object(request) => found.look(request, Within::Itself),
            Value::Array(batch) => batch
                .iter()
                .filter_map(Value::as_object)
                .for_each(|request| found.look(request, Within::Batch)),
            _ => {}
        }
        found
    }

    fn look(&mut self, request: &'v Object<'v>, within: Within) {
        for path in [IN_MCP, IN_A2A] {
            if let Some(payment) = member(request, path) {
                self.0.push(Place {
                    request,
                    path,
                    payment,
                    within,
                });
            }
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this value is one of them.
    pub fn has(&self, value: &Value<'_>) -> bool {
        self.0.iter().any(|place| std::ptr::eq(place.payment, value))
    }

    /// The one payment of a body that is this one document; `text` is the document's.
    pub fn one(&self, text: &str) -> Result<Option<Carried>, PaymentRefusal> {
        let place = match self.0.as_slice() {
            [] => return Ok(None),
            [place] => place,
            _ => {
                let detail = "the body holds more than one payment";
                return Err(PaymentRefusal::new(Reason::PaymentConflicting, detail));
            }
        };
        if place.within == Within::Batch {
            // The verdict would be about one call, and the others would leave with it.
            return Err(PaymentRefusal::malformed("a payment in a batch of calls"));
        }
        place.carried(text).map(Some)
    }
}

impl Place<'_> {
    fn carried(&self, text: &str) -> Result<Carried, PaymentRefusal> {
        let request = self.request;
        if request.string("jsonrpc") != Some("2.0") || !matches!(request.get("id"), Some(Value::Integer(_) | Value::String(_))) {
            return Err(PaymentRefusal::malformed("a payment in what is no JSON-RPC request with an id"));
        }
        self.refuse_other_spellings()?;
        let call = Call::of(request).filter(|call| matches!(call, Call::Task(_)) == (self.path == IN_A2A));
        let call = call.ok_or_else(|| PaymentRefusal::malformed("a payment in a call that nothing is sold by"))?;
        if self.payment.as_object().is_none() {
            return Err(PaymentRefusal::malformed("the payment is not a JSON object"));
        }
        let lost = || PaymentRefusal::malformed("the payment cannot be found again");
        let payment = text::at(text, self.path).ok_or_else(lost)?;
        let id = text::member(text, "id").ok_or_else(lost)?.into();
        let at = text::place(text, payment).ok_or_else(lost)?;
        if payment.len() > MAX_PAYMENT_BYTES {
            return Err(PaymentRefusal::new(Reason::PaymentTooLarge, "the payment is larger than 16 KiB"));
        }
        let anew = match call {
            Call::Tool(_) | Call::Reading(_) | Call::Prompt(_) => again::IN_MCP,
            Call::Task(_) => again::IN_A2A,
        };
        let hash = CallHash::of(text, anew);
        Ok(Carried {
            call,
            payment: payment.into(),
            at,
            id,
            hash,
        })
    }

    /// Go takes `Params` for `params`, and the last of the two.
    fn refuse_other_spellings(&self) -> Result<(), PaymentRefusal> {
        let mut object = Some(self.request);
        let mut names: &[&str] = &["jsonrpc", "id", "method", "params"];
        let mut way = self.path.iter();
        while let Some(here) = object {
            let other = |(key, _): (&str, &Value<'_>)| names.iter().any(|name| *name != key && folds_to(key, name));
            if here.members().any(other) {
                return Err(PaymentRefusal::malformed("a member beside the payment is spelled like another"));
            }
            object = way.next().and_then(|name| here.object(name));
            names = &["_meta", "message", "name", "uri", "metadata", "taskId", MCP_PAYMENT, A2A_PAYMENT];
            if way.as_slice().is_empty() {
                break; // the payment itself has its own exact reading
            }
        }
        Ok(())
    }
}

fn member<'v>(request: &'v Object<'v>, path: &[&str]) -> Option<&'v Value<'v>> {
    let (last, way) = path.split_last()?;
    way.iter().try_fold(request, |object, name| object.object(name))?.get(last)
}

#[cfg(test)]
mod tests;
