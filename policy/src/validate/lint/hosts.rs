//! Hosts that hold more, or allow less, than they seem to.

use crate::diagnostic::{Code, Diagnostics};
use crate::document::{EndpointSection, RuleSection};
use crate::matcher::HostPattern;

/// Where git repositories are known to be served.
const GIT_HOSTS: [&str; 7] = [
    "github.com",
    "gitlab.com",
    "bitbucket.org",
    "codeberg.org",
    "git.sr.ht",
    "ssh.dev.azure.com",
    "dev.azure.com",
];

/// `*.co.uk`, `*.github.io`: whoever gets a name below it is let in.
pub(super) fn public_suffix(endpoint: &EndpointSection, found: &mut Diagnostics) {
    let Some(host) = &endpoint.host else { return };
    let Ok(pattern) = HostPattern::parse_endpoint(&host.value) else {
        return;
    };
    let Some(tail) = pattern.tail() else { return };
    if is_public_suffix(tail) {
        let message = format!(
            "`{}` covers names of many owners: `{tail}` is a public suffix, below which others get theirs",
            host.value
        );
        found.warn(
            Code::PublicSuffix,
            host.at,
            message,
            "list the hosts, or a wildcard below a name that one owner holds",
        );
    }
}

pub(super) fn is_public_suffix(name: &str) -> bool {
    let suffix = psl::suffix(name.as_bytes()).filter(psl::Suffix::is_known);
    suffix.is_some_and(|suffix| suffix.as_bytes() == name.as_bytes())
}

/// A clone asks by GET and fetches by POST.
pub(super) fn read_only_git(endpoint: &EndpointSection, rule: &RuleSection, found: &mut Diagnostics) {
    let Some(access) = endpoint.access.as_ref().filter(|access| access.value == "read-only") else {
        return;
    };
    let host = endpoint
        .host
        .as_ref()
        .map(|host| host.value.to_ascii_lowercase())
        .unwrap_or_default();
    let by_host = GIT_HOSTS.contains(&host.as_str())
        || host
            .split('.')
            .next()
            .is_some_and(|label| matches!(label, "git" | "gitlab" | "gitea"));
    // A rule that lets git fetch elsewhere knows what it takes.
    let by_binary = rule.binaries.iter().any(|binary| is_git(&binary.path.value)) && !rule.endpoints.iter().any(lets_git_fetch);
    if by_host || by_binary {
        found.warn(
            Code::ReadOnlyGit,
            access.at,
            "`access: read-only` lets no clone or fetch through: git asks for its objects by POST",
            "write rules: GET \"/**/info/refs*\" and POST \"/**/git-upload-pack\"",
        );
    }
}

fn is_git(path: &str) -> bool {
    path.ends_with("/git") || path.contains("/git-core/")
}

fn lets_git_fetch(endpoint: &EndpointSection) -> bool {
    let rules = endpoint.rules.iter().flat_map(|rules| &rules.value);
    let mut paths = rules.filter_map(|entry| entry.allow.as_ref()?.path.as_ref());
    paths.any(|path| path.value.contains("git-upload-pack"))
}
