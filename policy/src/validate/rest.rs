//! `access`, `rules` and `deny_rules` of endpoints that judge requests by method, path and query.

use super::lists::{self, Base, Fields, label, required};
use super::pattern;
use crate::decide::{RuleLabel, RuleList, WEBSOCKET_TEXT};
use crate::diagnostic::{Code, Diagnostics};
use crate::document::{At, EndpointSection, MatcherSection, QueryEntry};
use crate::matcher::{MethodMatcher, SegmentedGlob};
use crate::policy::{AllowRule, DenyRule, QueryMatcher, RestRules, Tls, Traffic};

const METHODS: [&str; 12] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "REPORT", "QUERY",
];

/// What the rules of an endpoint are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requests {
    /// HTTP requests.
    Http,
    /// The handshake of a WebSocket, and each text message of the client.
    WebSocket,
}

impl Requests {
    fn protocol(self) -> &'static str {
        match self {
            Requests::Http => "rest",
            Requests::WebSocket => "websocket",
        }
    }

    fn fields(self) -> Fields {
        Fields {
            protocol: self.protocol(),
            own: &["method", "path", "query"],
            hint: "match requests by method, path and query",
        }
    }

    /// The methods of an `access` preset.
    fn preset(self, access: &str) -> Option<&'static [&'static str]> {
        Some(match (self, access) {
            (Requests::Http, "read-only") => &["GET", "HEAD", "OPTIONS"],
            (Requests::Http, "read-write") => &["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH"],
            (Requests::WebSocket, "read-only") => &["GET"],
            (Requests::WebSocket, "read-write") => &["GET", WEBSOCKET_TEXT],
            (_, "full") => &["*"],
            _ => return None,
        })
    }
}

/// Rules on an endpoint that is not read would be silently ignored, and everything allowed.
pub(super) fn refuse_without_protocol(section: &EndpointSection, found: &mut Diagnostics) -> Option<Traffic> {
    let access = section
        .access
        .as_ref()
        .filter(|text| !text.value.is_empty())
        .map(|access| (access.at, "access"));
    let rules = section.rules.as_ref().map(|rules| (rules.at, "rules"));
    let deny = section.deny_rules.as_ref().map(|rules| (rules.at, "deny_rules"));
    let mut accepted = true;
    for (at, key) in [access, rules, deny].into_iter().flatten() {
        let message = format!("`{key}` needs a protocol: without one, requests are not read");
        found.error(Code::RulesWithoutProtocol, at, message, "write `protocol: rest`");
        accepted = false;
    }
    accepted.then_some(Traffic::L4)
}

pub(super) fn compile(section: &mut EndpointSection, tls: Tls, found: &mut Diagnostics) -> Option<RestRules> {
    lists::refuse_tls_skip(section, tls, found);
    let allow = lists::base(section, found).and_then(|base| match base {
        Base::Access(access) => preset(&access, Requests::Http, found),
        Base::Rules(rules) => lists::allow_rules(rules, found, |matcher, label, found| {
            allow_rule(matcher, label, Requests::Http, found)
        }),
        Base::Nothing => {
            let hint = "write `access: read-only`, or list what may be sent under `rules`";
            lists::missing_base(section, "rest", "`access` or `rules`", hint, found)
        }
    });
    let deny = section.deny_rules.take();
    let deny = lists::deny_rules(deny, found, |matcher, label, found| {
        deny_rule(matcher, label, Requests::Http, found)
    });
    Some(RestRules {
        allow: allow?.into_boxed_slice(),
        deny: deny?.into_boxed_slice(),
    })
}

pub(super) fn allow_rule(matcher: MatcherSection, label: RuleLabel, requests: Requests, found: &mut Diagnostics) -> Option<AllowRule> {
    let Parts { method, path, query } = Parts::compile(matcher, requests, pattern::canonical, found)?;
    Some(AllowRule {
        label,
        method,
        path,
        query,
    })
}

pub(super) fn deny_rule(matcher: MatcherSection, label: RuleLabel, requests: Requests, found: &mut Diagnostics) -> Option<DenyRule> {
    let Parts { method, path, query } = Parts::compile(matcher, requests, pattern::loosened, found)?;
    Some(DenyRule {
        label,
        method,
        path,
        query,
    })
}

pub(super) fn preset(access: &At<String>, requests: Requests, found: &mut Diagnostics) -> Option<Vec<AllowRule>> {
    let Some(methods) = requests.preset(&access.value) else {
        return lists::unknown_access(access, "write read-only, read-write (without DELETE) or full", found);
    };
    let everything = SegmentedGlob::parse("**", b'/').ok()?;
    let rule = |method: &&str| AllowRule {
        label: label(RuleList::Access, 0, access.at),
        method: MethodMatcher::parse(method),
        path: everything.clone(),
        query: Box::default(),
    };
    Some(methods.iter().map(rule).collect())
}

struct Parts {
    method: MethodMatcher,
    path: SegmentedGlob,
    query: Box<[QueryMatcher]>,
}

impl Parts {
    fn compile(matcher: MatcherSection, requests: Requests, spelling: fn(&str) -> String, found: &mut Diagnostics) -> Option<Self> {
        requests.fields().check(&matcher, found);
        let any = |key, any| format!("write `{key}: \"{any}\"` for any");
        let method = required(matcher.method, "method", matcher.at, any("method", "*"), found)
            .map(|method| method_matcher(&method, requests, found));
        let path = required(matcher.path, "path", matcher.at, any("path", "**"), found).and_then(|path| path_glob(&path, spelling, found));
        let query: Option<Vec<QueryMatcher>> = matcher.query.into_iter().map(|entry| query_matcher(entry, found)).collect();
        Some(Parts {
            method: method?,
            path: path?,
            query: query?.into_boxed_slice(),
        })
    }
}

fn method_matcher(method: &At<String>, requests: Requests, found: &mut Diagnostics) -> MethodMatcher {
    let matcher = MethodMatcher::parse(&method.value);
    if let MethodMatcher::One(name) = &matcher
        && !METHODS.contains(&&**name)
        && (requests, &**name) != (Requests::WebSocket, WEBSOCKET_TEXT)
    {
        let message = format!("`{}` is no method that HTTP knows", method.value);
        let hint = if **name == *WEBSOCKET_TEXT {
            "messages are judged where the endpoint says `protocol: websocket`"
        } else if method.value.contains('*') {
            "a method is matched whole; write `*` for any"
        } else {
            "check the spelling"
        };
        found.warn(Code::UnknownMethod, method.at, message, hint);
    }
    matcher
}

fn path_glob(path: &At<String>, spelling: fn(&str) -> String, found: &mut Diagnostics) -> Option<SegmentedGlob> {
    let text = &path.value;
    if let Some(why) = pattern::unreachable(text) {
        let hint = if text.starts_with(['/', '*']) {
            String::new()
        } else {
            format!("write `/{text}`")
        };
        found.error(
            Code::UnreachablePath,
            path.at,
            format!("the path `{text}` {why}, so the rule would never match"),
            hint,
        );
        return None;
    }
    match SegmentedGlob::parse(&spelling(text), b'/') {
        Ok(glob) => Some(glob),
        Err(error) => {
            found.error(
                Code::InvalidGlob,
                path.at,
                format!("`{text}`: {error}"),
                "put a backslash before a wildcard that is meant as itself",
            );
            None
        }
    }
}

fn query_matcher(entry: QueryEntry, found: &mut Diagnostics) -> Option<QueryMatcher> {
    let name = entry.name.value;
    let globs = lists::globs(entry.value, &name, Code::InvalidQuery, found)?;
    let compiled: Option<Box<[SegmentedGlob]>> = globs.iter().map(|glob| lists::value_glob(glob, &name, found)).collect();
    Some(QueryMatcher {
        name: name.into(),
        globs: compiled?,
    })
}
