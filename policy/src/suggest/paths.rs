//! The paths that one method was seen with, as a tree of segments.
//!
//! Where two ids of one shape were seen at a place, they become one entry at once: what comes of it doesn't depend on the order, and
//! a million ids take no more room than two.

use std::collections::BTreeMap;

use super::segment::{IdShape, is_abbreviated, literal};
use crate::matcher::SegmentedGlob;

#[derive(Debug, Default)]
pub(super) struct Paths {
    root: Node,
}

#[derive(Debug, Default)]
struct Node {
    /// Whether a path ends here.
    ends: bool,
    words: BTreeMap<Box<str>, Node>,
    ids: BTreeMap<IdShape, Ids>,
}

#[derive(Debug)]
enum Ids {
    One(Box<str>, Node),
    Several(Node),
}

impl Paths {
    /// Takes a canonical path in, and says how many entries that added.
    pub(super) fn add(&mut self, path: &str) -> usize {
        let mut added = 0;
        let mut node = &mut self.root;
        for segment in path.strip_prefix('/').unwrap_or(path).split('/') {
            node = node.child(segment, &mut added);
        }
        node.ends = true;
        added
    }

    /// The globs that cover what was seen, without those that another of them covers, or one of `others`.
    pub(super) fn globs(&self, others: &[String]) -> Vec<String> {
        let mut globs = Vec::new();
        self.root.collect(&mut String::new(), &mut globs);
        let general: Vec<SegmentedGlob> = globs
            .iter()
            .filter(|seen| seen.general)
            .filter_map(|seen| SegmentedGlob::parse(&seen.glob, b'/').ok())
            .collect();
        let others_parsed: Vec<SegmentedGlob> = others.iter().filter_map(|glob| SegmentedGlob::parse(glob, b'/').ok()).collect();
        let covered = |seen: &Pattern| {
            let mut wider = general.iter().chain(&others_parsed);
            others.contains(&seen.glob) || (!seen.general && wider.any(|glob| glob.matches(seen.text.as_bytes())))
        };
        globs.iter().filter(|seen| !covered(seen)).map(|seen| seen.glob.clone()).collect()
    }
}

/// A path as a glob of itself, or of what was written down of it.
pub(super) fn path_glob(path: &str) -> String {
    let mut glob = String::with_capacity(path.len());
    for segment in path.strip_prefix('/').unwrap_or(path).split('/') {
        glob.push('/');
        glob.push_str(&literal(segment));
    }
    glob
}

/// A glob, and the path that it was made from where it is for that one only.
struct Pattern {
    glob: String,
    text: String,
    general: bool,
}

impl Node {
    fn child(&mut self, segment: &str, added: &mut usize) -> &mut Node {
        let Some(shape) = IdShape::of(segment) else {
            return self.words.entry(segment.into()).or_insert_with(|| {
                *added += 1;
                Node::default()
            });
        };
        let ids = self.ids.entry(shape).or_insert_with(|| {
            *added += 1;
            Ids::One(segment.into(), Node::default())
        });
        if let Ids::One(own, node) = ids
            && **own != *segment
        {
            *ids = Ids::Several(std::mem::take(node));
        }
        match ids {
            Ids::One(_, node) | Ids::Several(node) => node,
        }
    }

    fn collect(&self, prefix: &mut String, found: &mut Vec<Pattern>) {
        self.walk(
            &mut Prefix {
                glob: prefix,
                text: &mut String::new(),
                general: false,
            },
            found,
        );
    }

    fn walk(&self, prefix: &mut Prefix<'_>, found: &mut Vec<Pattern>) {
        if self.ends {
            found.push(Pattern {
                glob: prefix.glob.clone(),
                text: prefix.text.clone(),
                general: prefix.general,
            });
        }
        for (word, node) in &self.words {
            let glob = literal(word);
            let general = prefix.general || is_abbreviated(word);
            prefix.with(&glob, word, general, |prefix| node.walk(prefix, found));
        }
        for (shape, ids) in &self.ids {
            match ids {
                Ids::One(id, node) => prefix.with(&literal(id), id, prefix.general, |prefix| node.walk(prefix, found)),
                Ids::Several(node) => prefix.with(&shape.glob(), "", true, |prefix| node.walk(prefix, found)),
            }
        }
    }
}

/// The way from the root to a node.
struct Prefix<'a> {
    glob: &'a mut String,
    text: &'a mut String,
    general: bool,
}

impl Prefix<'_> {
    fn with(&mut self, glob: &str, text: &str, general: bool, walk: impl FnOnce(&mut Self)) {
        let (glob_end, text_end, was_general) = (self.glob.len(), self.text.len(), self.general);
        self.glob.push('/');
        self.glob.push_str(glob);
        self.text.push('/');
        self.text.push_str(text);
        self.general = general;
        walk(self);
        self.glob.truncate(glob_end);
        self.text.truncate(text_end);
        self.general = was_general;
    }
}
