//! The explanation for people: the decision first, then how it came about, then what to do.

use std::fmt::Write as _;

use tollgate_policy::{Candidate, Outcome, Sources};

use super::Explained;
use crate::flow::{Finding, Stage, Step};

pub(super) fn text(explained: &Explained<'_>) -> String {
    let mut text = String::new();
    decision(&mut text, explained);
    section(&mut text, "steps", explained.run.steps.iter().map(step));
    if let Some(policy) = &explained.run.policy {
        section(
            &mut text,
            "policy",
            policy
                .candidates
                .iter()
                .flat_map(|candidate| endpoint(candidate, explained.sources)),
        );
    }
    section(&mut text, "next steps", next_steps(explained).iter().map(|step| indented(step)));
    section(&mut text, "notes", explained.notes.iter().cloned());
    text
}

fn decision(text: &mut String, explained: &Explained<'_>) {
    let run = &explained.run;
    let place = run
        .authority
        .as_ref()
        .map(|authority| format!(" {authority}{}", run.path.as_deref().unwrap_or_default()));
    let request = format!("{}{}", explained.method, place.unwrap_or_default());
    let _ = match &run.outcome {
        Ok(pass) => {
            let word = if pass.would_deny.is_some() { "WOULD DENY" } else { "ALLOW" };
            let by = match (&pass.would_deny, &pass.policy, &pass.rule) {
                (Some(reason), _, _) => format!("{reason}; it passes, because the endpoint only audits"),
                (None, Some(policy), Some(rule)) => format!("by {rule} of policy '{policy}'"),
                (None, Some(policy), None) => format!("by policy '{policy}'"),
                (None, None, _) => "by the policy".to_owned(),
            };
            writeln!(text, "{word}  {request}\n  {by}")
        }
        Err(denial) => {
            let (status, word) = (denial.status().as_u16(), denial.error());
            writeln!(text, "DENY  {request}\n  {} ({status} {word})\n  {}", denial.reason, denial.detail)
        }
    };
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        let _ = writeln!(text, "\n{title}");
    }
    for line in lines {
        let _ = writeln!(text, "  {line}");
    }
}

fn step(Step { stage, finding, detail }: &Step) -> String {
    let finding = match finding {
        Finding::Passed => "pass",
        Finding::WouldDeny => "audit",
        Finding::Denied => "DENY",
        Finding::Unknown => "?",
    };
    let stage = match stage {
        Stage::Connection => "connection",
        Stage::Address => "address",
        Stage::Request => "request",
        Stage::Payment => "payment",
        Stage::Body => "body",
        Stage::Message => "message",
        Stage::Verdict => "verdict",
        Stage::Credentials => "credentials",
    };
    format!("{finding:<5}  {stage:<11}  {detail}")
}

/// One endpoint that lists the host and port, and its rules.
fn endpoint(candidate: &Candidate, sources: &Sources) -> Vec<String> {
    let ports: Vec<String> = candidate.ports.iter().map(ToString::to_string).collect();
    let head = format!(
        "{}: policy '{}', {} port {}: {}",
        sources.place(candidate.at),
        candidate.policy,
        candidate.host,
        ports.join(", "),
        outcome(candidate.outcome)
    );
    let rules = candidate.rules.iter().map(|rule| {
        let fits = rule.fails.map_or("matches".to_owned(), |part| format!("another {part}"));
        format!("  {}: {}: {fits}", sources.place(rule.at), rule.rule)
    });
    std::iter::once(head).chain(rules).collect()
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::OtherBinary => "for other binaries",
        Outcome::UnknownBinary => "for certain binaries, and the caller is unknown",
        Outcome::Matches => "lists it",
        Outcome::OtherEndpointPath => "its `path` is for other requests",
        Outcome::EncodedSlash => "does not allow %2F in paths",
        Outcome::DeniedByRule => "a deny rule matches",
        Outcome::AllowedByRule => "an allow rule matches",
        Outcome::PassesUnread => "lets every request pass",
        Outcome::NoRuleForPath => "no rule has the path",
        Outcome::NoRuleForMethod => "rules have the path with other methods",
        Outcome::NoRuleForQuery => "rules have path and method with another query",
        Outcome::BodyDecides => "its rules are about the body",
        Outcome::OtherHttpMethod => "its protocol does not use the method",
        Outcome::NoRuleForOperation => "no rule has the operation",
        Outcome::NeverAllowed => "its protocol never takes this from a client",
        Outcome::OtherProtocol => "reads the body by another protocol",
    }
}

fn next_steps<'e>(explained: &'e Explained<'_>) -> &'e [String] {
    let audited = explained.run.policy.as_ref();
    match &explained.run.outcome {
        Err(denial) => &denial.next_steps,
        Ok(pass) if pass.would_deny.is_some() => audited.map(|policy| policy.next_steps.as_slice()).unwrap_or_default(),
        Ok(_) => &[],
    }
}

/// Steps hold YAML to be pasted; its indentation stays relative.
fn indented(step: &str) -> String {
    step.replace('\n', "\n    ")
}
