//! A policy and everything that there is to say about it: what `check`, `run`, a reload and dry runs all begin with.

use tollgate_policy::{Diagnostic, Limits, Loaded, Policy, Severity, Sources, Style};

use crate::gate::lints;
use crate::gate::rail::Rails;
use crate::gate::stanzas::Stanzas;

/// See the module.
pub struct Judged {
    /// `None` if a finding is an error.
    pub policy: Option<Policy>,
    /// In the order of files, lines and columns.
    pub findings: Vec<Diagnostic>,
}

impl Judged {
    /// Loads a policy, and has every rule look at it.
    pub fn of(sources: &Sources, stanzas: Stanzas<'_>, rails: &Rails) -> Self {
        let Loaded {
            policy,
            diagnostics: findings,
        } = tollgate_policy::load_within(sources, &stanzas, Limits::default());
        let lints = policy.iter().flat_map(|policy| lints::findings(policy, rails)).collect();
        let mut judged = Judged { policy, findings };
        judged.add(lints);
        judged
    }

    /// Takes in what others found.
    pub fn add(&mut self, findings: Vec<Diagnostic>) {
        self.findings.extend(findings);
        self.findings.sort_by_key(|finding| (finding.position(), finding.severity));
    }

    /// Those of one severity.
    pub fn findings_of(&self, severity: Severity) -> impl Iterator<Item = &Diagnostic> {
        self.findings.iter().filter(move |finding| finding.severity == severity)
    }

    /// All of them in the words of `tollgate check`.
    pub fn rendered(&self, sources: &Sources) -> String {
        sources.render_all(&self.findings, Style::Plain)
    }
}
