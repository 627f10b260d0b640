//! What is lacking, in words.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Lacking;
use super::grant::Grant;
use super::lack::Lack;
use crate::compare::Direction;
use crate::compare::contents::Contents;
use crate::compare::finding::{Certainty, Finding, FindingKind, Spot};
use crate::compare::reach::Program;
use crate::compare::words::{self, operations};
use crate::matcher::MethodMatcher;
use crate::policy::{AllowRule, Endpoint, OtherMethods, Tls};

/// Writes findings about one endpoint.
pub(super) struct Report<'a, 'f> {
    pub(super) subject: &'a Endpoint,
    /// Of the policy that it stands in.
    pub(super) contents: &'a Contents,
    pub(super) counterpart: Option<&'a Arc<Endpoint>>,
    pub(super) direction: Direction,
    pub(super) findings: &'f mut Vec<Finding>,
}

/// Grants that are told in one sentence.
type Together<'a> = (Lack, Vec<&'a Grant<'a>>, Vec<u16>, Vec<Program<'a>>);

impl Report<'_, '_> {
    fn push(&mut self, kind: FindingKind, certainty: Certainty, own: Spot, text: String) {
        let matcher = self.contents.matcher(own.at);
        let other = self.counterpart.map(|endpoint| Spot::of(endpoint));
        let (old, new) = match self.direction {
            Direction::Gained => (other, Some(own)),
            Direction::Lost => (Some(own), other),
        };
        self.findings.push(Finding {
            effect: self.direction.effect(),
            certainty,
            kind,
            text,
            matcher,
            old,
            new,
        });
    }

    pub(super) fn unlisted(&mut self, ports: &[u16], programs: &[Program<'_>]) {
        let (place, who) = (words::place(self.subject, ports), words::programs(programs));
        let what = words::passes(self.subject);
        let text = match self.direction {
            Direction::Gained => format!("{place} becomes reachable for {who}: {what}"),
            Direction::Lost => format!("{place} is no longer reachable for {who}: {what}"),
        };
        self.push(FindingKind::Endpoint, Certainty::Known, Spot::of(self.subject), text);
    }

    pub(super) fn closed(&mut self, closed: Vec<(Program<'_>, Vec<u16>)>) {
        let mut by_ports: BTreeMap<Vec<u16>, Vec<Program<'_>>> = BTreeMap::new();
        for (program, ports) in closed {
            by_ports.entry(ports).or_default().push(program);
        }
        for (ports, programs) in by_ports {
            let (place, who) = (words::place(self.subject, &ports), words::programs(&programs));
            let what = words::passes(self.subject);
            let text = match self.direction {
                Direction::Gained => format!("{who} may use {place}: {what}"),
                Direction::Lost => format!("{who} may no longer use {place}: {what}"),
            };
            self.push(FindingKind::Binary, Certainty::Known, Spot::of(self.subject), text);
        }
    }

    /// The methods of a preset are told together.
    pub(super) fn all_lacking(&mut self, grants: &[Grant<'_>], lacking: Lacking<'_>) {
        let mut open: Vec<Together<'_>> = Vec::new();
        for ((lack, index), (ports, programs)) in lacking {
            let Some(grant) = grants.get(index) else { continue };
            match open.last_mut() {
                Some((own, of, same_ports, same_programs))
                    if *own == lack
                        && *same_ports == ports
                        && *same_programs == programs
                        && of.first().is_some_and(|first| first.is_of_one_preset_with(grant)) =>
                {
                    of.push(grant);
                }
                _ => open.push((lack, vec![grant], ports, programs)),
            }
        }
        for (lack, grants, ports, programs) in open {
            self.lacking(lack, &grants, &ports, &programs);
        }
    }

    fn lacking(&mut self, lack: Lack, grants: &[&Grant<'_>], ports: &[u16], programs: &[Program<'_>]) {
        let (place, who) = (words::place(self.subject, ports), words::programs(programs));
        let gained = self.direction == Direction::Gained;
        let what = what(self.subject, grants);
        let label = grants.first().and_then(|grant| grant.label());
        let at = label.map_or_else(|| Spot::of(self.subject), |label| Spot::at(self.subject, label.at));
        match lack {
            Lack::Requests(certainty) => {
                let kind = match grants.first() {
                    None | Some(Grant::Unread | Grant::Requests(_)) => FindingKind::Requests,
                    Some(_) => FindingKind::Operations,
                };
                let text = match (gained, certainty) {
                    (true, Certainty::Known) => format!("{what} becomes allowed on {place} for {who}"),
                    (false, Certainty::Known) => format!("{what} is no longer allowed on {place} for {who}"),
                    (_, Certainty::Assumed) => format!("{what} on {place} for {who}: changed, and cannot be compared"),
                };
                self.push(kind, certainty, at, text);
            }
            Lack::EncodedSlash => {
                let verb = if gained { "is now taken" } else { "is no longer taken" };
                self.push(
                    FindingKind::Requests,
                    Certainty::Known,
                    at,
                    format!("%2F in paths {verb} on {place} for {who}: {what}"),
                );
            }
            Lack::Inspection => {
                let text = match (gained, self.subject.tls) {
                    (true, Tls::Auto) => format!("traffic to {place} is no longer judged by requests for {who}: whatever is sent passes"),
                    (true, Tls::Skip) => format!("TLS to {place} is no longer terminated for {who}: nothing in it can be read"),
                    (false, _) => format!("traffic to {place} is now read for {who}: not everything passes any more"),
                };
                self.push(FindingKind::Inspection, Certainty::Known, at, text);
            }
            Lack::Messages | Lack::LargeBodies | Lack::ToolNames | Lack::Protocol => self.read_otherwise(lack, &place, &who),
            Lack::Addresses => {
                let scope = words::addresses(&self.subject.addresses);
                let text = if gained {
                    format!("{place} may be dialled at more addresses: {scope}")
                } else {
                    format!("{place} may be dialled at fewer addresses than before: no longer {scope}")
                };
                self.push(FindingKind::Addresses, Certainty::Known, Spot::of(self.subject), text);
            }
        }
    }

    /// About the way in which requests and messages are read, and not about one rule.
    fn read_otherwise(&mut self, lack: Lack, place: &str, who: &str) {
        let gained = self.direction == Direction::Gained;
        let place = format!("{place}{} for {who}", words::under_path(self.subject));
        let protocol = words::protocol(self.subject.protocol());
        let (kind, certainty, text) = match lack {
            Lack::LargeBodies => {
                let limit = self.subject.reading().map_or(0, |reading| reading.limit);
                let text = if gained {
                    format!("bodies of up to {limit} bytes are taken on {place}: larger ones than before")
                } else {
                    format!("bodies of up to {limit} bytes are no longer taken on {place}: only smaller ones")
                };
                (FindingKind::Options, Certainty::Known, text)
            }
            Lack::ToolNames => {
                let verb = if gained { "are taken" } else { "are no longer taken" };
                let text = format!("names of tools beyond letters, digits, `_`, `.` and `-` {verb} on {place}");
                (FindingKind::Options, Certainty::Known, text)
            }
            Lack::Messages => {
                let text = format!(
                    "messages on {place} are judged by operations {}, so those of the session itself pass without a rule",
                    if gained { "now" } else { "no longer" }
                );
                (FindingKind::Options, Certainty::Assumed, text)
            }
            _ => {
                let text = if gained {
                    format!(
                        "requests to {place} are read as {protocol} now, and were not, or not all of them: what passes cannot be compared ({})",
                        words::passes(self.subject)
                    )
                } else {
                    format!("requests to {place} are no longer read as {protocol}, or not all of them: what passes cannot be compared")
                };
                (FindingKind::Protocol, Certainty::Assumed, text)
            }
        };
        self.push(kind, certainty, Spot::of(self.subject), text);
    }
}

/// What grants of one kind are about, in words.
fn what(endpoint: &Endpoint, grants: &[&Grant<'_>]) -> String {
    let requests: Vec<&AllowRule> = grants
        .iter()
        .filter_map(|grant| match grant {
            Grant::Requests(rule) => Some(*rule),
            _ => None,
        })
        .collect();
    let text = if let Some(rule) = requests.first() {
        let methods: Vec<&MethodMatcher> = requests.iter().map(|rule| &rule.method).collect();
        words::requests(&methods, &rule.path, &rule.query)
    } else {
        let told: Vec<String> = grants.iter().filter_map(|grant| operation(grant)).collect();
        if told.is_empty() {
            return words::passes(endpoint);
        }
        words::list(&told)
    };
    text + &words::under_path(endpoint)
}

fn operation(grant: &Grant<'_>) -> Option<String> {
    Some(match grant {
        Grant::Operation(rule) => operations::graphql(rule),
        Grant::Persisted(key, root) => operations::persisted(key, root),
        Grant::Call(rule) => operations::json_rpc(rule),
        Grant::Tool(rule) => operations::mcp(rule),
        Grant::OtherMethods(OtherMethods::Pass) => "every MCP method and tool without a rule".to_owned(),
        Grant::OtherMethods(_) => "every MCP method without a rule, but for tools".to_owned(),
        Grant::SessionEnd => "DELETE, which ends an MCP session,".to_owned(),
        Grant::Unread | Grant::Requests(_) | Grant::Messages | Grant::Bodies => return None,
    })
}
