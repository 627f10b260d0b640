//! The stable names of findings.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal;)+) => {
        /// A kind of finding; its kebab-case name never changes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[doc = $doc])+ $variant,)+ }

        impl Code {
            /// Every code, in the order of the reference.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)+];

            /// The stable kebab-case name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $name,)+ }
            }

            /// One sentence of explanation.
            pub const fn summary(self) -> &'static str {
                match self { $(Code::$variant => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

codes! {
    /// The file is larger than a policy may be.
    FileTooLarge = "file-too-large";
    /// The file is not UTF-8.
    NotUnicode = "not-unicode";
    /// The file is not YAML, or uses what a policy may not: anchors, merge keys, tags, several documents, deep nesting.
    YamlSyntax = "yaml-syntax";
    /// A key stands twice in one map.
    DuplicateKey = "duplicate-key";
    /// A key that no policy has; a typo would otherwise silently widen or drop a rule.
    UnknownKey = "unknown-key";
    /// A required key is missing.
    MissingKey = "missing-key";
    /// A value of another type than the key takes.
    WrongType = "wrong-type";
    /// The version is not 1.
    UnsupportedVersion = "unsupported-version";
    /// A rule, a middleware or a static section that stands in two files of one policy.
    FragmentClash = "fragment-clash";
    /// A feature of the policy language that is not Tollgate's to enforce; the hint says what to do instead.
    NotEnforcedHere = "not-enforced-here";
    /// A feature of the policy language that this build cannot enforce yet.
    NotSupportedYet = "not-supported-yet";

    /// A path of the sandbox section that is relative, climbs, is too long, or one of too many.
    InvalidSandboxPath = "invalid-sandbox-path";
    /// A landlock mode that does not exist.
    InvalidLandlock = "invalid-landlock";
    /// A user or group that a sandbox may not run as.
    InvalidProcessIdentity = "invalid-process-identity";

    /// A rule key that is empty or reserved.
    InvalidRuleName = "invalid-rule-name";
    /// A host that is not a name, an address, or an allowed wildcard.
    InvalidHost = "invalid-host";
    /// A wildcard over a whole top-level domain, or over everything.
    BroadHost = "broad-host";
    /// An endpoint without a port.
    MissingPort = "missing-port";
    /// A number that is no port, or `port` and `ports` together.
    InvalidPort = "invalid-port";
    /// An endpoint path that neither starts with `/` nor with `**`.
    InvalidEndpointPath = "invalid-endpoint-path";
    /// A protocol that does not exist.
    UnknownProtocol = "unknown-protocol";
    /// A `tls` value that does not exist.
    InvalidTls = "invalid-tls";
    /// `tls: skip` with rules that need to read the traffic.
    TlsSkipWithRules = "tls-skip-with-rules";
    /// An `enforcement` value that does not exist.
    UnknownEnforcement = "unknown-enforcement";
    /// An `access` preset that does not exist.
    UnknownAccess = "unknown-access";
    /// `access` together with `rules`.
    AccessWithRules = "access-with-rules";
    /// A protocol endpoint that allows nothing.
    NoRules = "no-rules";
    /// `rules: []` or `deny_rules: []`.
    EmptyRules = "empty-rules";
    /// Rules on an endpoint without a protocol to read them by.
    RulesWithoutProtocol = "rules-without-protocol";
    /// A matcher field that means nothing for the endpoint's protocol.
    MatcherNotForProtocol = "matcher-not-for-protocol";
    /// An endpoint option that means nothing for the endpoint's protocol.
    OptionNotForProtocol = "option-not-for-protocol";
    /// A body limit that is no positive number.
    InvalidBodyLimit = "invalid-body-limit";
    /// A registry of persisted queries, or its mode, that is not well-formed.
    InvalidPersistedQueries = "invalid-persisted-queries";
    /// An operation type that GraphQL does not have.
    UnknownOperationType = "unknown-operation-type";
    /// A list of GraphQL root fields that is empty, or has an empty entry.
    InvalidFields = "invalid-fields";
    /// A wildcard in a method where methods are matched as they stand.
    MethodGlob = "method-glob";
    /// A tool matcher that is empty, ambiguous, or not on `tools/call`.
    InvalidTool = "invalid-tool";
    /// A rule for every tool call beside rules for single tools, which it would make void.
    BroadToolRule = "broad-tool-rule";
    /// A matcher without what its protocol needs, such as a method or a path.
    IncompleteMatcher = "incomplete-matcher";
    /// A query matcher that is empty or ambiguous.
    InvalidQuery = "invalid-query";
    /// A glob that is not well-formed.
    InvalidGlob = "invalid-glob";
    /// A rule path that can never match a canonical path.
    UnreachablePath = "unreachable-path";
    /// A method that HTTP does not know.
    UnknownMethod = "unknown-method";
    /// An entry of `allowed_ips` that is neither an address nor a network.
    InvalidAllowedIps = "invalid-allowed-ips";
    /// An entry of `allowed_ips` that covers loopback, link-local or unspecified addresses.
    ForbiddenAllowedIps = "forbidden-allowed-ips";
    /// A host that is an address which is never dialled.
    NeverDialled = "never-dialled";
    /// Two endpoints that overlap and disagree about how their traffic is treated.
    AmbiguousEndpoints = "ambiguous-endpoints";

    /// A middleware stanza that is incomplete, or over a limit.
    InvalidMiddleware = "invalid-middleware";
    /// A middleware's own configuration is refused by the middleware.
    InvalidMiddlewareConfig = "invalid-middleware-config";
    /// Two middlewares with the same order.
    DuplicateOrder = "duplicate-order";
    /// `on_error: fail_open` on a middleware that may not fail open.
    FailOpenRefused = "fail-open-refused";
    /// A middleware selector that is not a host pattern.
    InvalidSelector = "invalid-selector";
    /// A middleware that must see traffic selects a host whose traffic cannot be read.
    UninspectableSelection = "uninspectable-selection";

    /// A rule without binaries never matches.
    NoBinaries = "no-binaries";
    /// A rule without endpoints never matches.
    NoEndpoints = "no-endpoints";
    /// A binary path that is not absolute never matches.
    RelativeBinary = "relative-binary";
    /// Enforcement is left out, so requests that no rule allows are forwarded and only logged.
    EnforcementOmitted = "enforcement-omitted";
    /// A deprecated value or key that has no effect.
    Deprecated = "deprecated";
    /// An allowed network wider than /16.
    BroadAllowedIps = "broad-allowed-ips";
    /// A wildcard covers subdomains, but not the name itself.
    ApexNotCovered = "apex-not-covered";
    /// A deny rule for what is below a path does not cover the path itself.
    DenyMissesBase = "deny-misses-base";
    /// An mcp endpoint without a path: every GET on its host passes as the server's stream.
    McpWithoutPath = "mcp-without-path";
    /// A rule path for what is below a path does not cover the path itself, though the endpoint's own `path` does.
    AllowMissesBase = "allow-misses-base";
    /// A `*` at the end of a path stays inside one segment, though OpenShell's documentation says that it crosses `/`.
    GlobStaysInSegment = "glob-stays-in-segment";
    /// A `*` in a query glob does not cross a `.`.
    QueryGlobStopsAtDot = "query-glob-stops-at-dot";
    /// A wildcard over a public suffix, below which anybody can get a name.
    PublicSuffix = "public-suffix";
    /// `access: read-only` where git is to be used, which fetches by POST.
    ReadOnlyGit = "read-only-git";
    /// An allow rule that a deny rule takes back whole.
    RuleShadowed = "rule-shadowed";
    /// A rule that adds nothing: another one covers it, or the endpoint's `path` never lets it see a request.
    RuleUnreachable = "rule-unreachable";
    /// A binary that is a symbolic link on this machine.
    BinaryIsLink = "binary-is-link";
    /// No rule at all: everything is denied.
    NoPolicies = "no-policies";

    /// An endpoint lists a payment rail, which stays shut whatever the policy says.
    RailListed = "rail-listed";
    /// An endpoint's traffic is not read, so payments to it cannot be seen.
    PaymentsNotVisible = "payments-not-visible";
}

impl Code {
    /// Whether the finding is that something is not there.
    pub(super) fn is_about_absence(self) -> bool {
        matches!(
            self,
            Code::MissingKey
                | Code::MissingPort
                | Code::NoRules
                | Code::EmptyRules
                | Code::IncompleteMatcher
                | Code::EnforcementOmitted
                | Code::McpWithoutPath
                | Code::NoBinaries
                | Code::NoEndpoints
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
