//! Captured exchanges, for the tests of this room.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::path::PathBuf;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tollgate_policy::Authority;

use super::{PaymentRequest, UrlScheme};
use crate::x402::carriers::Carrier;

pub(crate) fn load(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("testdata/x402")
        .join(format!("{name}.json"));
    serde_json::from_slice(&std::fs::read(&path).expect("test data")).expect("test data is JSON")
}

pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no {pointer}"))
}

/// Header pairs as on the wire; `None` if they are no HTTP headers at all.
pub(crate) fn headers(pairs: &Value) -> Option<HeaderMap> {
    let mut map = HeaderMap::new();
    for pair in pairs.as_array()? {
        let name = HeaderName::from_bytes(pair[0].as_str()?.as_bytes()).ok()?;
        map.append(name, HeaderValue::from_bytes(pair[1].as_str()?.as_bytes()).ok()?);
    }
    Some(map)
}

/// A request taken apart: method, scheme, authority, path, query.
#[derive(Clone)]
pub(crate) struct Parts {
    pub method: String,
    pub scheme: UrlScheme,
    pub authority: Authority,
    pub path: String,
    pub query: Option<String>,
}

impl Parts {
    pub(crate) fn new(method: &str, scheme: UrlScheme, authority: &str, target: &str) -> Self {
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (target, None),
        };
        Parts {
            method: method.to_owned(),
            scheme,
            authority: Authority::parse(authority, Some(scheme.default_port())).unwrap(),
            path: path.to_owned(),
            query,
        }
    }

    pub(crate) fn request(&self) -> PaymentRequest<'_> {
        PaymentRequest {
            method: &self.method,
            scheme: self.scheme,
            authority: &self.authority,
            path: &self.path,
            query: self.query.as_deref(),
            carrier: Carrier::Head,
        }
    }
}

/// The paying request of a captured exchange.
pub(crate) fn paying_request(vector: &Value) -> (Parts, HeaderMap, Vec<u8>) {
    let request = &vector["exchanges"].as_array().unwrap().last().unwrap()["request"];
    let mut line = request["start_line"].as_str().unwrap().split(' ');
    let (method, target) = (line.next().unwrap(), line.next().unwrap());
    let headers = headers(&request["headers"]).unwrap();
    let host = headers["host"].to_str().unwrap();
    let parts = Parts::new(method, UrlScheme::Http, host, target);
    let body = request["body"].as_str().unwrap_or_default().as_bytes().to_vec();
    (parts, headers, body)
}
