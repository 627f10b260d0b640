//! The audit lines of all pairs.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use tollgate_policy::WEBSOCKET_TEXT;

use super::Found;
use super::generate::Shape;

/// Lines by connection, in order.
pub(super) struct Audited(HashMap<u64, Vec<Line>>);

#[derive(Deserialize)]
struct Line {
    connection: u64,
    decision: String,
    reason_code: Option<String>,
    policy: Option<String>,
    rule: Option<String>,
    method: Option<String>,
    protocol: Option<String>,
    status: Option<u16>,
}

impl Audited {
    pub(super) fn read(file: &Path) -> Self {
        let mut lines: HashMap<u64, Vec<Line>> = HashMap::new();
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let line: Line = serde_json::from_str(line).unwrap();
            lines.entry(line.connection).or_default().push(line);
        }
        Audited(lines)
    }

    /// What was written down about the pair: of a request the last line, or the one of its `101`. `None` for a message that passed, which
    /// leaves no line.
    pub(super) fn of(&self, connection: &str, shape: Shape) -> Option<Found> {
        let lines = self.0.get(&connection.parse().unwrap()).unwrap();
        let switched = lines.iter().find(|line| line.status == Some(101));
        let last = lines.last().unwrap();
        if shape != Shape::Message || switched.is_none() || last.protocol.as_deref() == Some("opaque") {
            return Some(switched.unwrap_or(last).found());
        }
        let message = lines.iter().find(|line| line.method.as_deref() == Some(WEBSOCKET_TEXT));
        message.map(Line::found)
    }
}

impl Line {
    fn found(&self) -> Found {
        Found {
            decision: self.decision.clone(),
            reason: self.reason_code.clone(),
            policy: self.policy.clone(),
            rule: self.rule.clone(),
        }
    }
}
