//! Runs a file's cases, each through the dry run.

use std::path::Path;

use thiserror::Error;
use tollgate_policy::Sources;

use super::document::{Case, CasesFile};
use super::expectation::Mismatch;
use crate::config::{Config, ConfigError};
use crate::flow::{Binaries, DryRequest, DryRun, now};
use crate::serve::{Rehearsal, RehearsalError, Settings};

/// Why cases cannot be run.
#[derive(Debug, Error)]
pub enum CasesError {
    /// The cases file or the operator's.
    #[error(transparent)]
    File(#[from] ConfigError),
    /// The policy, or what it would run under.
    #[error(transparent)]
    Rehearsal(#[from] RehearsalError),
    /// A payment could not be signed.
    #[error("{0}: the payment of case `{1}` cannot be signed")]
    Unsigned(String, String),
}

/// A cases file, put together with the policy that it is about.
pub struct Suite {
    /// The file.
    pub file: CasesFile,
    rehearsal: Rehearsal,
}

/// A case that was run.
pub struct Ran<'a> {
    /// The case.
    pub case: &'a Case,
    /// All that the dry run found.
    pub run: DryRun,
    /// What is not as expected; empty where all is.
    pub mismatches: Vec<Mismatch>,
}

impl Suite {
    /// Loads the cases, and what `run` would be started with.
    pub fn load(path: &Path) -> Result<Self, CasesError> {
        let file = CasesFile::load(path)?;
        let settings = Settings {
            policy: file.policy.clone().into(),
            config: Config::load(file.config.as_deref())?,
            directory: file.config.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned(),
        };
        let rehearsal = Rehearsal::new(&settings)?;
        Ok(Suite { file, rehearsal })
    }

    /// Whether `binaries` are judged.
    pub fn binaries(&self) -> Binaries {
        self.rehearsal.engine.binaries
    }

    /// What the policy was read from.
    pub fn sources(&self) -> &Sources {
        &self.rehearsal.sources
    }

    /// Runs every case.
    pub async fn run(&self) -> Result<Vec<Ran<'_>>, CasesError> {
        let mut all = Vec::with_capacity(self.file.cases.len());
        for case in &self.file.cases {
            all.push(self.run_one(case).await?);
        }
        Ok(all)
    }

    async fn run_one<'a>(&'a self, case: &'a Case) -> Result<Ran<'a>, CasesError> {
        let request = &case.request;
        let mut headers = request.headers.clone();
        if let Some(payment) = &request.payment {
            let unsigned = || CasesError::Unsigned(self.file.path.display().to_string(), case.name.clone());
            let rule = self.rehearsal.engine.gate.standing().terms.signer();
            let field = payment.signed(&request.url, request.at.unwrap_or_else(now), rule);
            headers.push(field.ok_or_else(unsigned)?);
        }
        let dry = DryRequest {
            method: &request.method,
            url: &request.url,
            headers: &headers,
            body: request.body.clone(),
            caller: &request.caller,
            at: request.at,
        };
        let run = self
            .rehearsal
            .engine
            .judge(&dry)
            .await
            .map_err(|error| self.file.url_error(case, error.to_string()))?;
        let mismatches = case.expected.mismatches(&run);
        Ok(Ran { case, run, mismatches })
    }
}
