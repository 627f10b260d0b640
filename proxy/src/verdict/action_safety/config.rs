//! `verdict.action_safety`: a second opinion, which can only object.

use std::time::Duration;

use http::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde::Deserialize;
use thiserror::Error;
use tollgate_policy::Host;

use super::action::Place;
use super::{Access, ActionSafety, MAX_ANSWER, QUICK};
use crate::credentials::config::EnvName;
use crate::egress::Security;
use crate::egress::fetch::{Fetcher, Limits, ServiceUrl};

/// The one origin that the contract knows.
const ORIGIN: &str = "hermesplant.com";

/// The section. It is the operator's explicit permission to tell that origin about payments.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionSafetyConfig {
    /// Who may be told: `https://hermesplant.com`, or a service on loopback.
    pub share_with: ServiceUrl,
    /// The variable that holds the key for `X-API-Key`.
    #[serde(default)]
    pub api_key_from_env: Option<EnvName>,
    /// The variable that holds the bearer token.
    #[serde(default)]
    pub bearer_from_env: Option<EnvName>,
    /// What the service is told of where this runs, such as `production`.
    #[serde(default)]
    pub environment: Option<String>,
}

/// Why it can't be asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ActionSafetyError {
    /// Another origin.
    #[error("verdict.action_safety.share_with must be https://{ORIGIN} or a service on loopback")]
    Origin,
    /// No way in, or two.
    #[error("verdict.action_safety needs exactly one of api_key_from_env and bearer_from_env")]
    Access,
    /// Not set, or not a field value.
    #[error("verdict.action_safety: the environment variable {0} holds no key that could be sent")]
    Key(EnvName),
    /// Too long, or with white space around it.
    #[error("verdict.action_safety.environment must have 1 to 500 characters and no white space around them")]
    Environment,
}

impl ActionSafetyConfig {
    /// Whether the settings fit together. Reads no variable and dials nobody.
    pub fn validate(&self) -> Result<(), ActionSafetyError> {
        let (destination, authority) = (self.share_with.destination(), self.share_with.destination().authority());
        let published = destination.security() == Security::Tls && authority.port == 443 && authority.host.name() == Some(ORIGIN);
        let own = matches!(&authority.host, Host::Address(address) if address.is_loopback());
        if !published && !own || !self.share_with.is_bare() {
            return Err(ActionSafetyError::Origin);
        }
        if self.api_key_from_env.is_some() == self.bearer_from_env.is_some() {
            return Err(ActionSafetyError::Access);
        }
        self.place().map(|_| ())
    }

    fn place(&self) -> Result<Option<Place>, ActionSafetyError> {
        let place = self.environment.as_deref().map(Place::parse).transpose();
        place.map_err(|_| ActionSafetyError::Environment)
    }

    fn access(&self) -> Result<Access, ActionSafetyError> {
        let (field, name, scheme) = match (&self.api_key_from_env, &self.bearer_from_env) {
            (Some(name), None) => (HeaderName::from_static("x-api-key"), name, ""),
            (None, Some(name)) => (AUTHORIZATION, name, "Bearer "),
            _ => return Err(ActionSafetyError::Access),
        };
        let unusable = || ActionSafetyError::Key(name.clone());
        let key = std::env::var(name.as_str()).map_err(|_| unusable())?;
        if key.trim().is_empty() {
            return Err(unusable());
        }
        let mut value = HeaderValue::try_from(format!("{scheme}{key}")).map_err(|_| unusable())?;
        value.set_sensitive(true);
        Ok(Access { field, value })
    }

    /// Somebody who can be asked. Reads the key from the environment; dials nobody.
    pub fn open(&self, fetcher: &Fetcher, timeout: Duration) -> Result<ActionSafety, ActionSafetyError> {
        self.validate()?;
        Ok(ActionSafety {
            fetcher: fetcher.clone(),
            service: self.share_with.clone(),
            target: self.share_with.target(QUICK).map_err(|_| ActionSafetyError::Origin)?,
            access: self.access()?,
            environment: self.place()?,
            limits: Limits {
                deadline: timeout,
                max_response: MAX_ANSWER,
            },
        })
    }
}
