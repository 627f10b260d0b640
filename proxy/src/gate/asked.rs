//! What a body or a message asks for, in names that may be written down: operations, calls, tools; never an argument.

use tollgate_policy::Operation;

/// So many are named in a sentence.
const SHOWN: usize = 8;
/// So many different ones are listed, with names of so many bytes in all: an audit line stays short, whatever a client makes up.
const LISTED: usize = 64;
const NAMES: usize = 4096;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    shown: String,
    different: Different,
}

/// Operations, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Different {
    /// `None`: they are more, or longer, than is kept.
    kept: Option<Vec<Operation>>,
    names: usize,
}

impl Default for Different {
    fn default() -> Self {
        Different {
            kept: Some(Vec::new()),
            names: 0,
        }
    }
}

impl Different {
    /// Adds one, unless it is there.
    pub fn add(&mut self, operation: &Operation) {
        let Some(kept) = &mut self.kept else { return };
        if kept.contains(operation) {
            return;
        }
        self.names += operation.names().map(str::len).sum::<usize>();
        if kept.len() == LISTED || self.names > NAMES {
            self.kept = None;
        } else {
            kept.push(operation.clone());
        }
    }

    /// Adds what something asked for.
    pub fn add_all(&mut self, asked: &Asked) {
        match asked.different() {
            Some(operations) => {
                for operation in operations {
                    self.add(operation);
                }
            }
            None => self.kept = None,
        }
    }

    /// All of them, if that is not too much.
    pub fn all(&self) -> Option<&[Operation]> {
        self.kept.as_deref()
    }
}

impl Asked {
    /// All of them, in the order in which they were asked for.
    pub fn of(operations: &[Operation]) -> Self {
        let mut shown: Vec<String> = operations.iter().take(SHOWN).map(ToString::to_string).collect();
        if operations.len() > SHOWN {
            shown.push(format!("{} more", operations.len() - SHOWN));
        }
        let mut different = Different::default();
        for operation in operations {
            different.add(operation);
        }
        Asked {
            shown: shown.join(", "),
            different,
        }
    }

    /// All of them, of which one was decisive.
    pub fn deciding(decisive: &Operation, operations: &[Operation]) -> Self {
        Asked {
            shown: decisive.to_string(),
            ..Asked::of(operations)
        }
    }

    /// What several things asked for; `None` where that is nothing.
    pub fn all(different: &Different) -> Option<Self> {
        match different.all() {
            Some([]) => None,
            Some(operations) => Some(Asked::of(operations)),
            None => Some(Asked {
                shown: "more operations than are listed".to_owned(),
                different: different.clone(),
            }),
        }
    }

    /// For people.
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// Each once; `None` where they are too many or too long to be written down.
    pub fn different(&self) -> Option<&[Operation]> {
        self.different.all()
    }
}

#[cfg(test)]
mod tests {
    use tollgate_policy::operation::JsonRpcMessage;

    use super::*;

    fn call(method: impl Into<Box<str>>) -> Operation {
        Operation::JsonRpc(JsonRpcMessage::Call { method: method.into() })
    }

    #[test]
    fn each_is_kept_once_and_never_more_than_a_line_holds() {
        let twice = Asked::of(&[call("a"), call("b"), call("a")]);
        assert_eq!((twice.as_str(), twice.different()), ("a, b, a", Some(&[call("a"), call("b")][..])));
        let many: Vec<_> = (0..=LISTED).map(|number| call(number.to_string())).collect();
        assert_eq!(Asked::of(&many).different(), None);
        assert_eq!(
            Asked::of(many.get(1..).unwrap_or_default()).different().map(<[_]>::len),
            Some(LISTED)
        );
        assert_eq!(Asked::of(&[call("x".repeat(NAMES + 1))]).different(), None);
    }
}
