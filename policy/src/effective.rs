//! The policy as the gate sees it: every key, whether it was written or not, with where its value comes from.
//!
//! In: the files of a policy that loads. Out: one policy.yaml that means exactly the same, with a comment on every line: `file:line`, or
//! `default`. Presets are written out as the rules that they stand for, several files as one.

mod endpoint;
mod writer;

use crate::diagnostic::{Diagnostics, Position};
use crate::document::{Node, Value, trees};
use crate::load::Limits;
use crate::schema::{FILESYSTEM, Field, Kind, LANDLOCK, MIDDLEWARE, PROCESS, Presence, Shape};
use crate::source::Sources;
use writer::flow;

pub use writer::{Indent, Writer, scalar};

/// Writes it; `None` where the files are no policy. What was not loaded must not be asked for: nothing is validated here.
pub fn effective(sources: &Sources, limits: Limits) -> Option<String> {
    let trees = trees(sources, limits, &mut Diagnostics::default())?;
    let mut out = Output {
        writer: Writer::default(),
        sources,
    };
    let version = trees.iter().find_map(|tree| get(tree, "version"))?;
    out.line(Indent::NONE, "version: 1".to_owned(), &Origin::At(version.at));
    for (key, shape) in [("filesystem_policy", &FILESYSTEM), ("landlock", &LANDLOCK), ("process", &PROCESS)] {
        match trees.iter().find_map(|tree| get(tree, key)) {
            Some(section) => {
                out.line(Indent::NONE, format!("{key}:"), &Origin::At(section.at));
                out.fields(Indent::NONE.deeper(), shape, section);
            }
            None => out.note(Indent::NONE, &format!("{key}: not given, so the supervisor's own default holds")),
        }
    }
    out.rules(&named(&trees, "network_policies"));
    out.middlewares(&named(&trees, "network_middlewares"));
    Some(out.writer.finish())
}

/// Where a value comes from.
enum Origin {
    At(Position),
    /// Nobody wrote it.
    Default,
    /// Something that was written stands for it.
    From(String),
}

struct Output<'s> {
    writer: Writer,
    sources: &'s Sources,
}

impl Output<'_> {
    fn line(&mut self, indent: Indent, text: String, origin: &Origin) {
        let comment = match origin {
            Origin::At(at) => self.sources.place(*at),
            Origin::Default => "default".to_owned(),
            Origin::From(what) => what.clone(),
        };
        self.writer.line(indent, text, comment);
    }

    fn note(&mut self, indent: Indent, text: &str) {
        self.writer.note(indent, text);
    }

    fn rules(&mut self, rules: &[(&str, &Node, &Node)]) {
        if rules.is_empty() {
            self.line(Indent::NONE, "network_policies: {}".to_owned(), &Origin::Default);
            return;
        }
        self.writer.line(Indent::NONE, "network_policies:", "");
        for (name, key, rule) in rules {
            let indent = Indent::NONE.deeper();
            self.line(indent, format!("{}:", scalar(name)), &Origin::At(key.at));
            let inner = indent.deeper();
            if let Some(name) = get(rule, "name") {
                self.line(inner, format!("name: {}", flow(name)), &Origin::At(name.at));
            }
            self.list(inner, "endpoints", rule, |out, item| out.endpoint(inner.deeper(), item));
            self.list(inner, "binaries", rule, |out, item| {
                out.line(inner.deeper(), format!("- {}", flow(item)), &Origin::At(item.at));
            });
        }
    }

    fn list(&mut self, indent: Indent, key: &str, rule: &Node, mut item: impl FnMut(&mut Self, &Node)) {
        match items(rule, key).filter(|items| !items.is_empty()) {
            Some(items) => {
                self.writer.line(indent, format!("{key}:"), "");
                for node in items {
                    item(self, node);
                }
            }
            None => self.line(indent, format!("{key}: []"), &Origin::Default),
        }
    }

    fn middlewares(&mut self, stanzas: &[(&str, &Node, &Node)]) {
        if stanzas.is_empty() {
            self.line(Indent::NONE, "network_middlewares: {}".to_owned(), &Origin::Default);
            return;
        }
        self.writer.line(Indent::NONE, "network_middlewares:", "");
        let order = |node: &Node| match get(node, "order").map(|order| &order.value) {
            Some(Value::Integer(order)) => *order,
            _ => 0,
        };
        let mut stanzas = stanzas.to_vec();
        stanzas.sort_by_key(|(_, _, stanza)| order(stanza));
        for (name, key, stanza) in stanzas {
            let indent = Indent::NONE.deeper();
            self.line(indent, format!("{}:", scalar(name)), &Origin::At(key.at));
            self.fields(indent.deeper(), &MIDDLEWARE, stanza);
        }
    }

    /// Every key of a map in the order of its table: as written, or its default.
    fn fields(&mut self, indent: Indent, shape: &'static Shape, node: &Node) {
        for field in shape.fields {
            self.field(indent, field, get(node, field.key));
        }
    }

    fn field(&mut self, indent: Indent, field: &'static Field, given: Option<&Node>) {
        let key = field.key;
        let Some(node) = given.filter(|node| !is_blank(node)) else {
            if let Presence::Default(default) = field.presence {
                self.line(indent, format!("{key}: {default}"), &Origin::Default);
            }
            return;
        };
        match (&field.kind, &node.value) {
            (Kind::Map(shape), _) => {
                self.line(indent, format!("{key}:"), &Origin::At(node.at));
                self.fields(indent.deeper(), shape, node);
            }
            (Kind::Free, Value::Map(entries)) if !entries.is_empty() => {
                self.line(indent, format!("{key}:"), &Origin::At(node.at));
                for (name, value) in entries {
                    self.line(indent.deeper(), format!("{}: {}", flow(name), flow(value)), &Origin::At(name.at));
                }
            }
            _ => self.line(indent, format!("{key}: {}", flow(node)), &Origin::At(node.at)),
        }
    }
}

/// Empty text means the same as a key that is left out.
fn is_blank(node: &Node) -> bool {
    matches!(&node.value, Value::Text(text) if text.is_empty())
}

fn get<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    let Value::Map(entries) = &node.value else { return None };
    let own = |(name, _): &&(Node, Node)| matches!(&name.value, Value::Text(text) if text == key);
    entries.iter().find(own).map(|(_, value)| value)
}

fn items<'n>(node: &'n Node, key: &str) -> Option<&'n [Node]> {
    match &get(node, key)?.value {
        Value::List(items) => Some(items),
        _ => None,
    }
}

/// The entries of a section in all files, by name: the order in which the gate has them.
fn named<'n>(trees: &'n [Node], section: &str) -> Vec<(&'n str, &'n Node, &'n Node)> {
    let mut all = Vec::new();
    for tree in trees {
        let Some(Value::Map(entries)) = get(tree, section).map(|node| &node.value) else {
            continue;
        };
        for (key, value) in entries {
            if let Value::Text(name) = &key.value {
                all.push((name.as_str(), key, value));
            }
        }
    }
    all.sort_by_key(|(name, ..)| *name);
    all
}
