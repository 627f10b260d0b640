//! Suggestions as YAML with remarks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tollgate_policy::Reason;
use tollgate_policy::suggest::{Stands, SuggestedEntry, SuggestedRule};

use super::learn::{LeftOut, Lesson};

/// What there is to say about the suggestion as a whole, as comment lines.
pub(super) fn remarks(lesson: &Lesson<'_>) -> Vec<String> {
    let lines = if lesson.lines == 1 { "line" } else { "lines" };
    let mut remarks = vec![format!("Suggested by `tollgate suggest` from {} audit {lines}.", lesson.lines)];
    if !lesson.left_out.is_empty() {
        remarks.push("No rule is suggested for:".to_owned());
        remarks.extend(lesson.left_out.iter().map(|(left, count)| format!("  {count} x {}", why(*left))));
    }
    remarks
}

fn why(left: LeftOut) -> String {
    match left {
        LeftOut::Denied(code) => match Reason::from_code(code) {
            Some(Reason::DeniedByRule) => format!("{code}: a deny rule matches. No allow rule can override it."),
            Some(reason) => format!("{code}: {}", decapitalised(reason.summary())),
            None => code.to_owned(),
        },
        LeftOut::DenyRule => "denied_by_rule: a deny rule of this policy matches. No allow rule can override it.".to_owned(),
        LeftOut::UnknownCaller => {
            "requests of an unknown program that this policy allows to the programs it lists. If one was missing, a run under this policy \
             tells which."
                .to_owned()
        }
        LeftOut::Binary => "binary messages of WebSockets, which no rule is about.".to_owned(),
        LeftOut::ManyOperations => "requests for more operations than an audit line lists, or with longer names.".to_owned(),
        LeftOut::Persisted => {
            "persisted queries: only the server knows what they ask for. Say it under `graphql_persisted_queries`.".to_owned()
        }
        LeftOut::NoCall => "answers where nothing was asked, or calls of `*`, which in a rule would be any.".to_owned(),
        LeftOut::UnreadBody => {
            "requests that were refused before their body was read, which the rules there are about. A run in audit mode tells what they \
             ask for."
                .to_owned()
        }
        LeftOut::Unnameable => "the method `*`, which in a rule would be any method.".to_owned(),
    }
}

/// Behind a colon.
fn decapitalised(sentence: &str) -> String {
    let mut characters = sentence.chars();
    match characters.next() {
        // `HTTP`, `CONNECT` and the like stay.
        Some(first) if characters.as_str().starts_with(|c: char| c.is_lowercase() || c == ' ') => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => sentence.to_owned(),
    }
}

fn remark(stands: Stands) -> &'static str {
    match stands {
        Stands::AnyProgram => "Any program: the audit lines do not say which one it was. List it under `binaries` instead of /**.",
        Stands::ConnectionOnly => {
            "Everything on this host and port: only the connection was seen. Run once under this rule, suggest again from that run, and it narrows."
        }
        Stands::Bytes => "Bytes that are not read as HTTP were seen, so host and port are all that can be judged.",
        Stands::Borrowed => "Was refused at its connection: given the requests that other programs made there.",
        Stands::StreamsOnly => "Only a server's stream was seen, without the calls that go with it.",
        Stands::Audits => "Only audits, as the endpoints do that the policy has for this host and port.",
    }
}

/// A whole policy.
pub(super) fn policy(remarks: &[String], rules: &[SuggestedRule]) -> String {
    let mut text = comments(remarks, 0);
    text.push_str("version: 1\n");
    if rules.is_empty() {
        text.push_str("network_policies: {}\n");
    } else {
        text.push_str("network_policies:\n");
        text.push_str(&entries(rules, 2));
    }
    text
}

/// Comment lines, so far to the right.
pub(super) fn comments(lines: &[String], indent: usize) -> String {
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{:indent$}# {line}", "");
    }
    text
}

/// Rules as entries of `network_policies`, so far to the right.
pub(super) fn entries(rules: &[SuggestedRule], indent: usize) -> String {
    let mut text = String::new();
    for rule in rules {
        let stands: Vec<String> = rule.stands.iter().map(|stands| remark(*stands).to_owned()).collect();
        text.push_str(&comments(&stands, indent));
        for line in yaml(&BTreeMap::from([(&rule.key, &rule.entry)])).lines() {
            let _ = writeln!(text, "{:indent$}{line}", "");
        }
    }
    text
}

/// Texts, numbers, lists and maps with text keys: nothing that YAML can't hold.
fn yaml(rule: &BTreeMap<&String, &SuggestedEntry>) -> String {
    serde_yaml::to_string(rule).unwrap_or_default()
}
