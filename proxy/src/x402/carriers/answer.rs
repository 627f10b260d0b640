//! Challenges in JSON-RPC answers: what an MCP server or an A2A agent asks for before it does what it was called for.
//!
//! In: one whole answer, or the data of one event of a stream. Out: its challenges, each with the call that it answers, and the same text
//! with fewer options. They are looked for where clients look: in `structuredContent` and in the texts of a result that is an error (also
//! behind a few words, which the Python SDK looks through), in an error's `data`, under `x402/error`, and under
//! `x402.payment.required` wherever an agent puts it.

use std::ops::Range;
use std::sync::LazyLock;

use super::{A2A_REQUIRED, Call, Carrier, MAX_DEPTH, text};
use crate::x402::challenge::{Asked, Challenge, ChallengeError, asks};
use crate::x402::json::{self, Object, Value};
use crate::x402::resource::ResourceUrl;
use crate::x402::words::{Words, without_escapes};

/// How deep below `result` or `error` an agent's challenge may stand; A2A's own places reach 5 (`history`, item, `metadata`, member).
const AGENT_DEPTH: u8 = 8;
/// Where v1 servers put their challenge.
const MCP_ERROR: &str = "x402/error";

/// A challenge, and where in the answer it stands.
#[derive(Debug, Clone)]
pub struct Posed {
    /// What is asked for.
    pub challenge: Challenge,
    /// The id of the call that it answers, as JSON; `null` where it answers none.
    pub id: Box<str>,
    by: Asker,
    place: Place,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Asker {
    Mcp,
    A2a { task: Option<Box<str>> },
}

#[derive(Debug, Clone)]
struct Place {
    /// Of the JSON value that holds the challenge.
    span: Range<usize>,
    /// What stands before and after it, if that value is a string.
    around: Option<(String, String)>,
}

impl Posed {
    /// What would be paid for, given the call that this answers, as far as it is known. `None`: nobody could tell.
    pub fn carrier<'p>(&'p self, call: Option<&'p Call>) -> Option<Carrier<'p>> {
        match (&self.by, call) {
            (Asker::A2a { task }, _) => Some(Carrier::Task(task.as_deref())),
            (Asker::Mcp, Some(call)) => Some(call.carrier()),
            // An answer that comes by another way than its call: the resource names the tool.
            (Asker::Mcp, None) => self.challenge.asked().find_map(|asked| match &asked.resource {
                ResourceUrl::Tool(name) => Some(Carrier::Tool(name)),
                ResourceUrl::Web(_) => None,
            }),
        }
    }
}

static WORDS: LazyLock<Option<Words>> = LazyLock::new(|| {
    let escapes = ["\\u002", "\\u003", "\\u004", "\\u005", "\\u006", "\\u007"];
    // The last two are MPP's, which is a rail.
    let asks = ["x402", "X402", "ccepts\"", "ccepts\\", "paymentauth", "\"challenges\""];
    let words: Vec<String> = asks.into_iter().chain(escapes).map(str::to_owned).collect();
    Words::new(&words).ok()
});

/// Whether a text may hold a challenge at all, of x402 or of MPP; most hold none of the words.
pub fn may_ask(text: &[u8]) -> bool {
    // Words that cannot be built must not open the gate.
    WORDS.as_ref().is_none_or(|words| words.any(text))
}

/// Whether a text that cannot be read in one way speaks of a challenge to those who read it in another.
pub fn speaks_of_one(text: &[u8]) -> bool {
    let plain = without_escapes(text).to_ascii_lowercase();
    let has = |word: &[u8]| memchr::memmem::find(&plain, word).is_some();
    has(b"x402") && [&b"accepts\""[..], b"accepts\\", b"accepts'"].into_iter().any(has)
}

/// The id of an answer, as JSON.
pub fn id_of(text: &[u8]) -> Box<str> {
    let text = std::str::from_utf8(text).ok();
    text.and_then(|text| text::member(text, "id")).unwrap_or("null").into()
}

/// Every challenge of an answer.
pub fn challenges(text: &str) -> Result<Vec<Posed>, ChallengeError> {
    let mut found = Vec::new();
    match json::parse(text.as_bytes(), MAX_DEPTH)? {
        Value::Object(message) => Message {
            whole: text,
            message: text,
        }
        .look(&message, &mut found)?,
        Value::Array(batch) => {
            for (message, slice) in batch.iter().zip(text::items(text).ok_or(LOST)?) {
                if let Some(message) = message.as_object() {
                    Message {
                        whole: text,
                        message: slice,
                    }
                    .look(message, &mut found)?;
                }
            }
        }
        _ => {}
    }
    let mut places: Vec<&Range<usize>> = found.iter().map(|one| &one.place.span).collect();
    places.sort_unstable_by_key(|place| place.start);
    if places.windows(2).any(|pair| matches!(pair, [one, next] if one.end > next.start)) {
        // Taken out of one, an option would still stand in the other.
        return Err(ChallengeError::Shape("one challenge stands within another"));
    }
    Ok(found)
}

/// The answer with only the options for which `keep` says so, by the number of their challenge.
pub fn only(text: &str, posed: &[Posed], keep: impl Fn(usize, &Asked) -> bool) -> Option<String> {
    let mut places: Vec<(Range<usize>, String)> = Vec::new();
    for (number, one) in posed.iter().enumerate() {
        let document = one.challenge.only(|asked| keep(number, asked))?;
        let written = match &one.place.around {
            None => document,
            Some((before, after)) => serde_json::to_string(&format!("{before}{document}{after}")).ok()?,
        };
        places.push((one.place.span.clone(), written));
    }
    places.sort_by_key(|(span, _)| span.start);
    let (mut out, mut end) = (String::with_capacity(text.len()), 0);
    for (span, written) in places {
        out.push_str(text.get(end..span.start)?);
        out.push_str(&written);
        end = span.end;
    }
    out.push_str(text.get(end..)?);
    Some(out)
}

/// One answer, and the text that it is a part of.
#[derive(Clone, Copy)]
struct Message<'t> {
    whole: &'t str,
    message: &'t str,
}

/// Go takes a member in any case, Python models in snake_case.
fn folded(name: &str) -> String {
    name.trim().chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect()
}

impl<'t> Message<'t> {
    fn look(self, message: &Object<'_>, found: &mut Vec<Posed>) -> Result<(), ChallengeError> {
        let id: Box<str> = text::member(self.message, "id").unwrap_or("null").into();
        let mut places = Vec::new();
        for (name, slice) in text::members(self.message).ok_or(LOST)? {
            let Some(value) = message.get(&name).and_then(Value::as_object) else {
                continue;
            };
            match folded(&name).as_str() {
                "result" => {
                    if is_error(value) {
                        self.in_result(slice, &mut places)?;
                    }
                    let first = places.len();
                    self.required(value, slice, AGENT_DEPTH, &mut places)?;
                    let task = || task_of(value).map(Box::from);
                    places.iter_mut().skip(first).for_each(|(by, ..)| *by = Asker::A2a { task: task() });
                }
                "error" => {
                    if let Some(data) = text::member(slice, "data") {
                        self.document(data, &mut places)?;
                        self.required(value, slice, AGENT_DEPTH, &mut places)?;
                    }
                }
                _ => {}
            }
        }
        found.extend(places.into_iter().map(|(by, challenge, place)| Posed {
            challenge,
            id: id.clone(),
            by,
            place,
        }));
        Ok(())
    }

    /// A tool's result that is an error.
    fn in_result(self, result: &'t str, found: &mut Vec<Found>) -> Result<(), ChallengeError> {
        for (name, slice) in text::members(result).ok_or(LOST)? {
            match folded(&name).as_str() {
                "structuredcontent" => self.document(slice, found)?,
                "meta" => {
                    if let Some(error) = text::member(slice, MCP_ERROR) {
                        self.document(error, found)?;
                    }
                }
                "content" => {
                    for item in text::items(slice).unwrap_or_default() {
                        if let Some(slice) = text::member(item, "text")
                            && let Ok(string) = serde_json::from_str::<String>(slice)
                        {
                            self.string(slice, &string, found)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A JSON value that may be a challenge, or an object around one.
    fn document(self, slice: &'t str, found: &mut Vec<Found>) -> Result<(), ChallengeError> {
        let slice = text::member(slice, MCP_ERROR).unwrap_or(slice);
        if let Some(challenge) = read(slice)? {
            found.push((Asker::Mcp, challenge, self.place(slice, None)?));
        }
        Ok(())
    }

    /// A string that may be a challenge, or have one behind a few words.
    fn string(self, slice: &'t str, string: &str, found: &mut Vec<Found>) -> Result<(), ChallengeError> {
        let (Some(start), Some(end)) = (string.find('{'), string.rfind('}')) else {
            return Ok(());
        };
        let Some(document) = string.get(start..=end) else { return Ok(()) };
        let document = text::member(document, MCP_ERROR).unwrap_or(document);
        let challenge = match read(document) {
            Ok(Some(challenge)) => challenge,
            Ok(None) => return Ok(()),
            // Prose with braces in it is no document to anybody.
            Err(_) if !speaks_of_one(document.as_bytes()) => return Ok(()),
            Err(error) => return Err(error),
        };
        let span = text::place(string, document).ok_or(LOST)?;
        let around = string.get(..span.start).zip(string.get(span.end..)).ok_or(LOST)?;
        let around = (around.0.to_owned(), around.1.to_owned());
        found.push((Asker::Mcp, challenge, self.place(slice, Some(around))?));
        Ok(())
    }

    /// An agent's challenge: in the metadata of a message, wherever in the answer that is.
    fn required(self, value: &Object<'_>, slice: &'t str, depth: u8, found: &mut Vec<Found>) -> Result<(), ChallengeError> {
        for (name, slice) in text::members(slice).ok_or(LOST)? {
            match value.get(&name) {
                Some(Value::Null) | None => {}
                Some(_) if name == A2A_REQUIRED => {
                    let challenge = read(slice)?.ok_or(ChallengeError::Shape("x402.payment.required is no challenge"))?;
                    found.push((Asker::A2a { task: None }, challenge, self.place(slice, None)?));
                }
                Some(member) => self.required_in(member, slice, depth, found)?,
            }
        }
        Ok(())
    }

    fn required_in(self, value: &Value<'_>, slice: &'t str, depth: u8, found: &mut Vec<Found>) -> Result<(), ChallengeError> {
        // Each level is read again: deeper than any message of an agent nobody looks.
        let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
        match value {
            Value::Object(object) => self.required(object, slice, depth, found),
            Value::Array(values) => values
                .iter()
                .zip(text::items(slice).ok_or(LOST)?)
                .try_for_each(|(value, slice)| self.required_in(value, slice, depth, found)),
            _ => Ok(()),
        }
    }

    fn place(self, slice: &str, around: Option<(String, String)>) -> Result<Place, ChallengeError> {
        let span = text::place(self.whole, slice).ok_or(LOST)?;
        Ok(Place { span, around })
    }
}

type Found = (Asker, Challenge, Place);

const LOST: ChallengeError = ChallengeError::Shape("the challenge cannot be found again in its answer");

/// `Ok(None)`: nothing that asks for a payment.
fn read(slice: &str) -> Result<Option<Challenge>, ChallengeError> {
    let slice = slice.trim();
    let members = text::members(slice);
    if !slice.starts_with('{') || members.is_some_and(|members| !members.iter().any(|(name, _)| asks(name))) {
        return Ok(None);
    }
    match Challenge::from_body(slice.as_bytes()) {
        Ok(challenge) => Ok(Some(challenge)),
        Err(ChallengeError::Nothing) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Clients pay only for a result that says it is an error; Python takes `1` and `"true"` for true.
fn is_error(result: &Object<'_>) -> bool {
    result
        .members()
        .any(|(name, value)| folded(name) == "iserror" && !matches!(value, Value::Bool(false) | Value::Null))
}

/// The task that an agent's answer is about: a task has it as its id, events and messages name it.
fn task_of<'r>(result: &'r Object<'_>) -> Option<&'r str> {
    result.string("taskId").or_else(|| result.string("id")).or_else(|| {
        let task = result.object("task")?;
        task.string("id")
    })
}

#[cfg(test)]
mod tests;
