//! Endpoint fields that are typed already and enforced by no one yet: validation refuses them, so that none is silently ignored.

use super::reader::MapReader;
use super::tree::Node;
use crate::diagnostic::{Diagnostics, Position};

/// A field that is set to something other than its default.
#[derive(Debug)]
pub(crate) struct LaterField {
    pub(crate) name: &'static str,
    pub(crate) at: Position,
    pub(crate) why: LaterWhy,
}

/// What the field is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaterWhy {
    Credentials,
    /// In messages of a WebSocket.
    MessageCredentials,
    Sql,
}

pub(super) fn read_all(map: &mut MapReader, found: &mut Diagnostics) -> Vec<LaterField> {
    let mut fields = Vec::new();
    let mut set = |name, at, why| fields.push(LaterField { name, at, why });
    for (name, why) in [
        ("websocket_credential_rewrite", LaterWhy::MessageCredentials),
        ("request_body_credential_rewrite", LaterWhy::Credentials),
        ("allow_uninspected_credentials", LaterWhy::Credentials),
    ] {
        if let Some(flag) = map.boolean(name, found).filter(|flag| flag.value) {
            set(name, flag.at, why);
        }
    }
    for name in ["credential_signing", "signing_service", "signing_region"] {
        if let Some(value) = map.text(name, found).filter(|text| !text.value.is_empty()) {
            set(name, value.at, LaterWhy::Credentials);
        }
    }
    if let Some(node) = map.take("credential_binding") {
        let at = node.at;
        typed_map(node, "credential_binding", found, |map, found| {
            let _ = map.text("provider", found);
        });
        set("credential_binding", at, LaterWhy::Credentials);
    }
    fields
}

fn typed_map(node: Node, what: &'static str, found: &mut Diagnostics, fields: impl FnOnce(&mut MapReader, &mut Diagnostics)) {
    if let Some(mut map) = MapReader::open(node, what, found) {
        fields(&mut map, found);
        map.finish(found);
    }
}

/// The matcher field of a protocol that is not read.
pub(super) fn command(map: &mut MapReader, found: &mut Diagnostics) -> Option<LaterField> {
    let command = map.text("command", found)?;
    Some(LaterField {
        name: "command",
        at: command.at,
        why: LaterWhy::Sql,
    })
}
