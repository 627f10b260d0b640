//! An audit line read back, for commands that learn from a run.
//!
//! Only what they ask for is read, and read strictly: a line without these members is no audit line of ours. Members that this
//! version does not know are passed over.

use serde::Deserialize;
use tollgate_policy::{Host, Operation, Reason};

use super::vocabulary::{Adapter, Decision, Protocol};

/// One line.
#[derive(Debug, Clone, Deserialize)]
pub struct Entry {
    /// The caller, where somebody looked.
    pub process: Option<EntryProcess>,
    /// How the request came in.
    pub adapter: Adapter,
    /// What was spoken.
    pub protocol: Option<Protocol>,
    /// The method.
    pub method: Option<String>,
    /// The host.
    #[serde(deserialize_with = "host")]
    pub host: Option<Host>,
    /// The port.
    pub port: Option<u16>,
    /// The path, without query.
    pub path: Option<String>,
    /// What a body or message asked for, where rules are about that.
    pub operation: Option<String>,
    /// The same in full.
    #[serde(default)]
    pub operations: Option<Vec<Operation>>,
    /// Messages of a WebSocket.
    #[serde(default)]
    pub messages: Option<u64>,
    /// What was decided.
    pub decision: Decision,
    /// Why.
    #[serde(deserialize_with = "reason")]
    pub reason_code: Option<Reason>,
}

/// The caller.
#[derive(Debug, Clone, Deserialize)]
pub struct EntryProcess {
    /// Its executable.
    pub binary: String,
    /// The executables of its parents.
    pub ancestors: Vec<String>,
}

fn host<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Host>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| Host::parse(&text).map_err(|error| serde::de::Error::custom(format_args!("`host`: {error}"))))
        .transpose()
}

fn reason<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Reason>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| Reason::from_code(&text).ok_or_else(|| serde::de::Error::custom("`reason_code` is no reason that this version knows")))
        .transpose()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::{ConnectionId, Event, RequestId, RequestPath};
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for address in ["api.example.com", "10.0.0.1", "2001:db8::1"] {
            let host = Host::parse(address).unwrap();
            let event = Event {
                host: Some(&host),
                port: Some(443),
                protocol: Some(Protocol::Http2),
                method: Some("GET"),
                path: Some(RequestPath::of("/a?secret")),
                reason_code: Some(Reason::PathNotAllowed),
                ..Event::new(RequestId::next(), ConnectionId::next(), Adapter::Tunnel, Decision::WouldDeny)
            };
            let entry: Entry = serde_json::from_str(&serde_json::to_string(&event).unwrap()).unwrap();
            assert_eq!(entry.host.as_ref(), Some(&host));
            assert_eq!((entry.port, entry.path.as_deref()), (Some(443), Some("/a")));
            assert_eq!(
                (entry.decision, entry.reason_code),
                (Decision::WouldDeny, Some(Reason::PathNotAllowed))
            );
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for line in [
            "{}",
            "[]",
            "1",
            r#"{"adapter":"tunnel","decision":"maybe","host":null,"reason_code":null}"#,
        ] {
            assert!(serde_json::from_str::<Entry>(line).is_err(), "{line}");
        }
    }
}
