//! A cases file, read strictly: a mistyped key must not make a test that is always green.
//!
//! In: the file. Out: the policy and the operator's file that it is about, and its cases; or a [`ConfigError`] with file, line, column
//! and a hint. Relative paths start from the file's own folder.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use serde_saphyr::{DuplicateKeyPolicy, Spanned};
use tollgate_policy::{Limits, Reason, yaml};

use super::expectation::{Decision, Expected};
use super::payment::{self, Payment};
use super::written;
use crate::audit::Process;
use crate::config::{ConfigError, nearest, position};
use crate::gate::Caller;

/// Bytes that a cases file, or a body beside it, may have.
const LARGEST: u64 = 16 << 20;

/// Line and column, from 1.
type Place = Option<(u32, u32)>;

/// See the module.
pub struct CasesFile {
    /// The file.
    pub path: PathBuf,
    /// The policy under test.
    pub policy: PathBuf,
    /// The operator's file, if the policy is tested under one.
    pub config: Option<PathBuf>,
    /// The cases, in the order of the file; at least one.
    pub cases: Vec<Case>,
    source: String,
}

/// A request and what should become of it.
pub struct Case {
    /// What the case is about; no two are the same.
    pub name: String,
    /// Where it stands.
    pub line: Option<u32>,
    /// What is sent.
    pub request: CaseRequest,
    /// What should come of it.
    pub expected: Expected,
}

/// A request as its client would send it.
pub struct CaseRequest {
    /// The method.
    pub method: Method,
    /// The URL, absolute.
    pub url: String,
    url_at: Place,
    /// Who asks.
    pub caller: Caller,
    /// The fields.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body; may be empty.
    pub body: Bytes,
    /// When, in Unix seconds.
    pub at: Option<u64>,
    pub(super) payment: Option<Payment>,
}

impl CaseRequest {
    /// The executable of the process that asks.
    pub fn binary(&self) -> Option<&str> {
        self.caller.binary()
    }
}

impl CasesFile {
    /// Reads the file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let bytes = read(path)?;
        let source = String::from_utf8(bytes)
            .map_err(|_| ConfigError::whole_file(path, "unreadable", "cannot be read: the file is not UTF-8".to_owned()))?;
        CasesFile::parse(source, path)
    }

    /// Parses `source` as the content of the file `path`.
    pub fn parse(source: String, path: &Path) -> Result<Self, ConfigError> {
        let limits = Limits {
            bytes: usize::try_from(LARGEST).unwrap_or(usize::MAX),
            nodes: 500_000,
            ..Limits::default()
        };
        let options = yaml::strict(limits, DuplicateKeyPolicy::Error);
        let file: written::File =
            serde_saphyr::from_str_with_options(&source, options).map_err(|error| ConfigError::from_yaml(path, &source, &error))?;
        let reader = Reader {
            path,
            folder: path.parent().unwrap_or(Path::new("")),
            source: &source,
        };
        let cases = reader.cases(file.cases)?;
        let (policy, config) = (
            reader.folder.join(file.policy),
            file.config.map(|config| reader.folder.join(config)),
        );
        Ok(CasesFile {
            path: path.to_owned(),
            policy,
            config,
            cases,
            source,
        })
    }

    /// A case whose URL no client could ask for.
    pub(super) fn url_error(&self, case: &Case, message: String) -> ConfigError {
        ConfigError::at(&self.path, &self.source, case.request.url_at, "invalid-value", message)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, ConfigError> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| ConfigError::unreadable(path, &error))?;
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| ConfigError::unreadable(path, &error))?;
    if bytes.len() as u64 > LARGEST {
        return Err(ConfigError::whole_file(
            path,
            "file-too-large",
            "the file is larger than 16 MiB".to_owned(),
        ));
    }
    Ok(bytes)
}

struct Reader<'a> {
    path: &'a Path,
    folder: &'a Path,
    source: &'a str,
}

impl Reader<'_> {
    fn error(&self, at: Place, code: &'static str, message: impl Into<String>) -> ConfigError {
        ConfigError::at(self.path, self.source, at, code, message.into())
    }

    fn cases(&self, written: Spanned<Vec<written::Case>>) -> Result<Vec<Case>, ConfigError> {
        if written.value.is_empty() {
            return Err(self.error(position(written.referenced), "no-cases", "there is no case, so nothing is tested"));
        }
        let mut seen: HashMap<String, Place> = HashMap::new();
        written
            .value
            .into_iter()
            .map(|case| {
                let at = position(case.name.referenced);
                if let Some(first) = seen.insert(case.name.value.clone(), at) {
                    let hint = first.map(|(line, _)| format!("line {line} has it already; say what is different").into());
                    let message = format!("two cases are named `{}`", case.name.value);
                    return Err(ConfigError {
                        hint,
                        ..self.error(at, "duplicate-name", message)
                    });
                }
                self.case(case)
            })
            .collect()
    }

    fn case(&self, written: written::Case) -> Result<Case, ConfigError> {
        if written.name.value.trim().is_empty() {
            return Err(self.error(
                position(written.name.referenced),
                "invalid-value",
                "a case needs a name to be found by",
            ));
        }
        Ok(Case {
            line: position(written.name.referenced).map(|(line, _)| line),
            name: written.name.value,
            request: self.request(written.request)?,
            expected: self.expected(written.expect)?,
        })
    }

    fn expected(&self, Spanned { value, referenced, .. }: Spanned<written::Expectation>) -> Result<Expected, ConfigError> {
        let reason_code = value.reason_code.map(|code| self.reason(&code)).transpose()?;
        if value.decision == Decision::Allow && reason_code.is_some() {
            let message = "what is allowed has no reason code";
            return Err(ConfigError {
                hint: Some("expect `deny`, or `would_deny` where the endpoint only audits".into()),
                ..self.error(position(referenced), "contradiction", message)
            });
        }
        Ok(Expected {
            decision: value.decision,
            reason_code,
            policy: value.policy,
            rule: value.rule,
        })
    }

    fn reason(&self, code: &Spanned<String>) -> Result<Reason, ConfigError> {
        Reason::from_code(&code.value).ok_or_else(|| {
            let known: Vec<&'static str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
            ConfigError {
                hint: Some(nearest(&code.value, &known).into()),
                ..self.error(
                    position(code.referenced),
                    "unknown-value",
                    format!("`{}` is not a reason code", code.value),
                )
            }
        })
    }

    fn request(&self, written: written::Request) -> Result<CaseRequest, ConfigError> {
        let url_at = position(written.url.referenced);
        let body = match (written.body, written.body_file) {
            (Some(_), Some(file)) => {
                let message = "`body` and `body_file` are two bodies of one request";
                return Err(self.error(position(file.referenced), "contradiction", message));
            }
            (Some(text), None) => Bytes::from(text),
            (None, Some(file)) => {
                let path = self.folder.join(&file.value);
                let bytes = read(&path).map_err(|error| {
                    self.error(
                        position(file.referenced),
                        "unreadable",
                        format!("{}: {}", path.display(), error.message),
                    )
                })?;
                Bytes::from(bytes)
            }
            (None, None) => Bytes::new(),
        };
        let payment = written.payment.map(|payment| self.payment(payment)).transpose()?;
        let headers = written.headers.0;
        if let Some((name, _)) = headers
            .iter()
            .find(|(name, _)| *name == header::CONTENT_LENGTH)
            .filter(|_| body.is_empty())
        {
            let message = format!("`{name}` announces a body, and there is none");
            return Err(self.error(url_at, "contradiction", message));
        }
        Ok(CaseRequest {
            method: written.method.0,
            url: written.url.value,
            url_at,
            caller: self.caller(written.binary, written.ancestors)?,
            headers,
            body,
            at: written.at.map(|at| at.0),
            payment,
        })
    }

    fn payment(&self, Spanned { value, referenced, .. }: Spanned<written::Payment>) -> Result<Payment, ConfigError> {
        Payment::new(value.scheme, value.network.0, value.asset.0, value.payee.0, &value.amount)
            .map_err(|error: payment::PaymentError| self.error(position(referenced), "invalid-value", error.to_string()))
    }

    fn caller(&self, binary: Option<Spanned<String>>, ancestors: Vec<Spanned<String>>) -> Result<Caller, ConfigError> {
        for path in binary.iter().chain(&ancestors) {
            if !Path::new(&path.value).is_absolute() {
                let message = format!("`{}` is not an absolute path", path.value);
                return Err(self.error(position(path.referenced), "invalid-value", message));
            }
        }
        match (binary, ancestors.first()) {
            (Some(binary), _) => Ok(Caller::identified(Process {
                binary: binary.value,
                pid: 0,
                ancestors: ancestors.into_iter().map(|path| path.value).collect(),
            })),
            (None, Some(ancestor)) => {
                let message = "`ancestors` are the ancestors of a `binary`, and there is none";
                Err(self.error(position(ancestor.referenced), "missing-key", message))
            }
            (None, None) => Ok(Caller::NotEnforced),
        }
    }
}
