//! Sections whose types are at home in other rooms. Until those are here, what is written in them is accepted and not read.

use serde::Deserialize;

/// `verdict:`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct VerdictConfig(#[allow(dead_code)] serde_json::Value);

/// `payments:`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct PaymentsConfig(#[allow(dead_code)] serde_json::Value);

/// `rails:`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct RailsConfig(#[allow(dead_code)] serde_json::Value);
