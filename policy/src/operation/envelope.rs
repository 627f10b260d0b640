//! GraphQL over HTTP: what stands around a document.

use sha2::{Digest, Sha256};

use super::parameters::{IDS, Parameters};
use super::{GraphqlOperation, Media, OperationError, Sent, document, look_alike, parse};
use crate::json::{Object, Value};

const MEMBERS: [&str; 7] = ["query", "operationName", "extensions", "id", "documentId", "queryId", "doc_id"];

/// The operations of a whole request.
pub(super) fn request(sent: &Sent<'_>) -> Result<Vec<GraphqlOperation>, OperationError> {
    let in_target = Parameters::of(sent.query.unwrap_or_default())?;
    if sent.method == "GET" {
        // Some servers read the body of a GET.
        return if sent.body.is_empty() {
            by_parameters(&in_target)
        } else {
            Err(OperationError::UnexpectedBody)
        };
    }
    let mut operations = match sent.media {
        Media::Graphql => {
            let text = std::str::from_utf8(sent.body).map_err(|_| OperationError::Document)?;
            documents(text, in_target.operation_name.as_deref())?
        }
        Media::Form => {
            let text = std::str::from_utf8(sent.body).map_err(|_| OperationError::Media)?;
            if Parameters::of(text)?.asks() {
                return Err(OperationError::Media);
            }
            json_body(sent.body)?
        }
        Media::Json | Media::Unreadable => json_body(sent.body)?,
    };
    // Several servers let what stands in the target win over the body.
    if in_target.asks() {
        operations.extend(by_parameters(&in_target)?);
    }
    Ok(operations)
}

fn json_body(body: &[u8]) -> Result<Vec<GraphqlOperation>, OperationError> {
    match parse(body)? {
        Value::Object(object) => envelope(&object),
        Value::Array(batch) => {
            let mut operations = Vec::new();
            for item in &batch {
                operations.extend(envelope(item.as_object().ok_or(OperationError::Member("query"))?)?);
            }
            super::within(operations)
        }
        _ => Err(OperationError::Member("query")),
    }
}

/// The operations of one envelope: `query`, `operationName`, `extensions`. A message of GraphQL over WebSocket has one as its payload.
pub fn envelope(object: &Object<'_>) -> Result<Vec<GraphqlOperation>, OperationError> {
    look_alike::refuse(object, &MEMBERS)?;
    let mut ids = Vec::new();
    for name in IDS {
        ids.extend(text(object, name)?);
    }
    let extensions = match object.get("extensions") {
        None | Some(Value::Null) => None,
        Some(Value::Object(extensions)) => Some(extensions),
        Some(_) => return Err(OperationError::Member("extensions")),
    };
    asked(text(object, "query")?, text(object, "operationName")?, extensions, &ids)
}

fn by_parameters(parameters: &Parameters<'_>) -> Result<Vec<GraphqlOperation>, OperationError> {
    let extensions = match &parameters.extensions {
        None => None,
        Some(text) => Some(parse(text.as_bytes())?),
    };
    let extensions = match &extensions {
        None | Some(Value::Null) => None,
        Some(Value::Object(extensions)) => Some(extensions),
        Some(_) => return Err(OperationError::Member("extensions")),
    };
    let ids: Vec<&str> = parameters.ids.iter().map(AsRef::as_ref).collect();
    asked(parameters.query.as_deref(), parameters.operation_name.as_deref(), extensions, &ids)
}

/// A document, and every persisted query that is named beside it: which of them a server executes is its own choice.
fn asked(
    query: Option<&str>,
    operation_name: Option<&str>,
    extensions: Option<&Object<'_>>,
    ids: &[&str],
) -> Result<Vec<GraphqlOperation>, OperationError> {
    let query = query.filter(|text| !text.trim().is_empty());
    let mut operations = match query {
        Some(text) => documents(text, operation_name)?,
        None => Vec::new(),
    };
    let hash = extensions.map_or(Ok(None), persisted_hash)?;
    // A hash of the document itself only registers it.
    let hash = hash.filter(|hash| query.is_none_or(|text| !is_hash_of(hash, text)));
    let persisted = ids.iter().copied().chain(hash);
    operations.extend(persisted.map(|key| GraphqlOperation::Persisted { key: key.into() }));
    if operations.is_empty() {
        return Err(OperationError::NoQuery);
    }
    Ok(operations)
}

fn documents(query: &str, operation_name: Option<&str>) -> Result<Vec<GraphqlOperation>, OperationError> {
    let operations = document(query, operation_name)?;
    Ok(operations.into_iter().map(GraphqlOperation::Document).collect())
}

fn persisted_hash<'a>(extensions: &'a Object<'_>) -> Result<Option<&'a str>, OperationError> {
    look_alike::refuse(extensions, &["persistedQuery"])?;
    let persisted = match extensions.get("persistedQuery") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(persisted)) => persisted,
        Some(_) => return Err(OperationError::Member("persistedQuery")),
    };
    look_alike::refuse(persisted, &["sha256Hash"])?;
    match text(persisted, "sha256Hash")? {
        Some(hash) => Ok(Some(hash)),
        None => Err(OperationError::Member("sha256Hash")),
    }
}

fn is_hash_of(hash: &str, text: &str) -> bool {
    let digest = Sha256::digest(text.as_bytes());
    let digits = hash.as_bytes();
    let hex = |nibble: u8| char::from_digit(u32::from(nibble), 16);
    digits.len() == 64
        && digest
            .iter()
            .flat_map(|byte| [hex(byte >> 4), hex(byte & 15)])
            .eq(digits.iter().map(|b| Some(char::from(b.to_ascii_lowercase()))))
}

/// `null` and the empty text stand for none.
fn text<'a>(object: &'a Object<'_>, name: &'static str) -> Result<Option<&'a str>, OperationError> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_ref()).filter(|text| !text.is_empty())),
        Some(_) => Err(OperationError::Member(name)),
    }
}
