//! The paths: three to read, and one that closes all egress. JSON also where something is wrong.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::readiness::Readiness;
use crate::audit::Sink;
use crate::metrics::Metrics;

/// What the answers are made of.
#[derive(Clone)]
pub struct Sources {
    /// Behind `/readyz`.
    pub readiness: Arc<Readiness>,
    /// Behind `/metrics`.
    pub metrics: Arc<Metrics>,
    /// Behind both.
    pub audit: Arc<Sink>,
    /// Closes all egress.
    pub kill: Arc<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

pub(super) fn router(sources: Sources) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/kill", post(kill).fallback(only_post))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(sources)
}

async fn healthz() -> Response {
    answer(StatusCode::OK, "application/json", json!({ "status": "ok" }).to_string())
}

async fn readyz(State(sources): State<Sources>) -> Response {
    let report = sources.readiness.report(sources.audit.status());
    let status = if report.ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    match serde_json::to_string(&report) {
        Ok(body) => answer(status, "application/json", body),
        Err(error) => {
            // Only a path that is not UTF-8 can do this; the status still tells the truth.
            tracing::error!(%error, "readiness could not be serialized");
            answer(status, "application/json", json!({ "ready": report.ready }).to_string())
        }
    }
}

async fn metrics(State(sources): State<Sources>) -> Response {
    sources.metrics.set_audit(&sources.audit.status());
    answer(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", sources.metrics.render())
}

async fn kill(State(sources): State<Sources>) -> Response {
    (sources.kill)();
    answer(StatusCode::OK, "application/json", json!({ "egress": "closed" }).to_string())
}

async fn only_post() -> Response {
    refused_method("POST")
}

async fn not_found() -> Response {
    let body = json!({ "error": "not_found", "paths": ["/healthz", "/readyz", "/metrics", "/kill"] });
    answer(StatusCode::NOT_FOUND, "application/json", body.to_string())
}

async fn method_not_allowed() -> Response {
    refused_method("GET, HEAD")
}

fn refused_method(allowed: &'static str) -> Response {
    let body = json!({ "error": "method_not_allowed" }).to_string();
    let mut response = answer(StatusCode::METHOD_NOT_ALLOWED, "application/json", body);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

fn answer(status: StatusCode, content_type: &'static str, body: String) -> Response {
    (status, [(CONTENT_TYPE, content_type), (CACHE_CONTROL, "no-store")], body).into_response()
}
