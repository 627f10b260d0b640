//! Random policies of all protocols that differ in a few places, and what may pass by them: nothing may pass anew without a finding that
//! says so.

mod asked;
mod policies;

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::findings;
use crate::judge::loaded;
use asked::{Asked, Said, Sent, asked};
use policies::{document, pair};
use tollgate_policy::compare::Effect;
use tollgate_policy::operation::McpMessage;
use tollgate_policy::{
    BodyProtocol, Caller, CanonicalPath, EncodedSlash, Facts, Host, HttpFacts, Messages, Operation, Policy, Process, ToolNames,
    WEBSOCKET_TEXT,
};

/// Whether it passes, as at run time: the connection, the head, then what is sent.
fn passes(policy: &Policy, asked: &Asked) -> bool {
    let host = Host::parse(asked.host).unwrap();
    let process = Process {
        binary: asked.binary.to_owned(),
        ancestors: Vec::new(),
    };
    let path = CanonicalPath::parse(asked.path, EncodedSlash::Reject).unwrap();
    let connection = Facts {
        host: &host,
        port: asked.port,
        caller: Caller::Identified(&process),
        request: None,
    };
    let request = |method| Facts {
        request: Some(HttpFacts {
            method,
            path: &path,
            query: None,
            operation: None,
        }),
        ..connection
    };
    if !policy.decide(&connection).action.passes() {
        return false;
    }
    let head = request(if matches!(asked.sent, Sent::Message(_)) {
        "GET"
    } else {
        asked.method
    });
    let decision = policy.decide(&head);
    let Some(treatment) = decision.treatment.as_ref().filter(|_| decision.action.passes()) else {
        return false;
    };
    let each = |facts: &Facts<'_>, operation: &Operation| policy.decide_each(facts, std::slice::from_ref(operation)).0.action.passes();
    match (&asked.sent, treatment.body) {
        (Sent::Message(_), Some(_)) => false,
        (Sent::Message(said), None) => {
            let message = request(WEBSOCKET_TEXT);
            match (treatment.messages, said) {
                (Messages::Unread, _) | (Messages::Operations, Said::Nothing) => true,
                (Messages::Judged, _) => policy.decide(&message).action.passes(),
                (Messages::Operations, Said::Operation(operation)) => each(&message, operation),
                (Messages::Operations, Said::Anything) => false,
            }
        }
        (_, None) => true,
        (Sent::Nothing, Some(reading)) => match (reading.protocol, asked.method) {
            (BodyProtocol::Mcp, "GET") => each(&head, &Operation::Mcp(McpMessage::Stream)),
            (BodyProtocol::Mcp, "DELETE") => each(&head, &Operation::Mcp(McpMessage::SessionEnd)),
            _ => false,
        },
        (Sent::Body(operation, bytes), Some(reading)) => {
            let tool = match operation {
                Operation::Mcp(McpMessage::Call { tool: Some(tool), .. }) => tool,
                _ => "",
            };
            let is_read = operation.protocol() == reading.protocol
                && *bytes <= reading.limit
                && (!tool.contains(' ') || reading.tool_names == ToolNames::Any)
                && asked.method == "POST";
            is_read && each(&head, operation)
        }
    }
}

#[test]
fn nothing_passes_anew_without_a_finding_that_says_so() {
    let cases: u32 = std::env::var("DIFF_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400);
    let (widened, narrowed, certain) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let mut runner = TestRunner::new(Config {
        cases,
        source_file: Some(file!()),
        ..Config::default()
    });
    let both = (pair(), any::<bool>(), proptest::collection::vec(asked(), 40));
    let outcome = runner.run(&both, |((old, new), swap, all)| {
        let (old, new) = if swap {
            (document(&new), document(&old))
        } else {
            (document(&old), document(&new))
        };
        let (Some(before), Some(after)) = (loaded(&old).policy, loaded(&new).policy) else {
            return Ok(());
        };
        prop_assert_eq!(findings((&before, &old), (&before, &old)), []);
        let found = findings((&before, &old), (&after, &new));
        let widens = found.iter().any(|finding| finding.effect == Effect::Widening);
        for asked in all {
            let about = || format!("{asked:?}\n{old}{new}{found:#?}");
            match (passes(&before, &asked), passes(&after, &asked)) {
                (false, true) => {
                    prop_assert!(widens, "{}", about());
                    widened.fetch_add(1, Ordering::Relaxed);
                }
                (true, false) => {
                    prop_assert!(found.iter().any(|finding| finding.effect != Effect::None), "{}", about());
                    narrowed.fetch_add(1, Ordering::Relaxed);
                    certain.fetch_add(usize::from(!widens), Ordering::Relaxed);
                }
                _ => {}
            }
        }
        Ok(())
    });
    let [widened, narrowed, certain] = [widened, narrowed, certain].map(AtomicUsize::into_inner);
    if let Err(error) = outcome {
        panic!("{error}");
    }
    // A comparison that calls everything a widening would hold, too.
    assert!(widened > 50 && narrowed > 50 && certain > 5, "{widened} {narrowed} {certain}");
}
