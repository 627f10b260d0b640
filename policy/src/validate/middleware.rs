//! Middleware stanzas.

use crate::diagnostic::{Code, Diagnostics, Position};
use crate::document::{At, MiddlewareSection, Node};
use crate::load::{ConfigFault, MiddlewareSchema};
use crate::matcher::{HostPattern, HostPatternError};
use crate::policy::{Endpoint, Middleware, OnError, Tls};

const MAX_MIDDLEWARES: usize = 10;
const MAX_PATTERNS: usize = 32;
const MAX_CONFIG: usize = 64 << 10;

/// Middlewares that hold a rule: without them the request would go out unjudged.
const NEVER_FAIL_OPEN: [&str; 1] = ["tollgate/x402"];

pub(super) fn compile(sections: Vec<MiddlewareSection>, schema: &dyn MiddlewareSchema, found: &mut Diagnostics) -> Vec<Middleware> {
    if let Some(extra) = sections.get(MAX_MIDDLEWARES) {
        let message = format!("more than {MAX_MIDDLEWARES} middlewares");
        found.error(Code::InvalidMiddleware, extra.key.at, message, "");
    }
    let mut compiled: Vec<Middleware> = sections
        .into_iter()
        .filter_map(|section| compile_one(section, schema, found))
        .collect();
    compiled.sort_by_key(|middleware| middleware.order);
    for pair in compiled.windows(2) {
        if let [first, second] = pair
            && first.order == second.order
        {
            let message = format!("`{}` and `{}` have the same order {}", first.key, second.key, first.order);
            found.error(
                Code::DuplicateOrder,
                first.at.max(second.at),
                message,
                "give each another `order`; they run in ascending order",
            );
        }
    }
    compiled
}

fn compile_one(section: MiddlewareSection, schema: &dyn MiddlewareSchema, found: &mut Diagnostics) -> Option<Middleware> {
    let service = section.middleware.as_ref();
    let on_error = on_error(&section, found);
    check_uninspectable(section.on_uninspectable.as_ref(), found);
    let (include, exclude) = selectors(&section, found);
    let order = order(section.order.as_ref(), found);
    let (config, config_at) = match &section.config {
        Some(node) => (node.to_json(), node.at),
        None => (serde_json::Value::Object(serde_json::Map::new()), section.at),
    };
    if !config.is_object() {
        found.error(Code::WrongType, config_at, "`config` takes a map", "");
    } else if config.to_string().len() > MAX_CONFIG {
        found.error(Code::InvalidMiddleware, config_at, "`config` is larger than 64 KiB", "");
    } else if let Some(service) = service
        && let Err(faults) = schema.validate(&service.value, &config)
    {
        for fault in faults {
            report(fault, service.at, config_at, section.config.as_ref(), found);
        }
    }
    Some(Middleware {
        name: section
            .name
            .filter(|name| !name.value.is_empty())
            .map_or_else(|| section.key.value.clone(), |name| name.value),
        key: section.key.value,
        middleware: section.middleware?.value,
        order,
        on_error,
        config,
        config_at,
        at: section.at,
        include,
        exclude,
    })
}

fn report(fault: ConfigFault, service_at: Position, config_at: Position, config: Option<&Node>, found: &mut Diagnostics) {
    let (code, at) = match &fault.pointer {
        None => (Code::InvalidMiddleware, service_at),
        Some(pointer) => (Code::InvalidMiddlewareConfig, config.map_or(config_at, |node| node.locate(pointer))),
    };
    found.error(code, at, fault.message, fault.hint.unwrap_or_default());
}

fn on_error(section: &MiddlewareSection, found: &mut Diagnostics) -> OnError {
    let Some(given) = section.on_error.as_ref().filter(|text| !text.value.is_empty()) else {
        return OnError::FailClosed;
    };
    match given.value.as_str() {
        "fail_closed" => OnError::FailClosed,
        "fail_open" => {
            let service = section.middleware.as_ref().map_or("", |service| service.value.as_str());
            if NEVER_FAIL_OPEN.contains(&service) {
                let message = format!("`{service}` may not fail open: a request it could not judge would go out");
                found.error(
                    Code::FailOpenRefused,
                    given.at,
                    message,
                    "write `on_error: fail_closed`, or leave it out",
                );
            }
            OnError::FailOpen
        }
        other => {
            let message = format!("`{other}` is no value of `on_error`");
            found.error(Code::InvalidMiddleware, given.at, message, "write fail_closed or fail_open");
            OnError::FailClosed
        }
    }
}

fn check_uninspectable(given: Option<&At<String>>, found: &mut Diagnostics) {
    if let Some(given) = given.filter(|text| !matches!(text.value.as_str(), "" | "deny")) {
        let message = format!("`on_uninspectable: {}` is not supported yet", given.value);
        found.error(
            Code::NotSupportedYet,
            given.at,
            message,
            "leave it out: what can't be read is denied; exclude the host instead",
        );
    }
}

fn order(order: Option<&At<i64>>, found: &mut Diagnostics) -> i32 {
    let Some(order) = order else { return 0 };
    i32::try_from(order.value).unwrap_or_else(|_| {
        found.error(Code::InvalidMiddleware, order.at, "`order` is out of range", "");
        0
    })
}

fn selectors(section: &MiddlewareSection, found: &mut Diagnostics) -> (Vec<HostPattern>, Vec<HostPattern>) {
    let include = section.include.as_ref();
    let exclude = section.exclude.as_ref();
    let count = |list: Option<&At<Vec<At<String>>>>| list.map_or(0, |list| list.value.len());
    if section.has_endpoints && count(include) == 0 {
        let at = include.map_or(section.at, |list| list.at);
        found.error(
            Code::InvalidMiddleware,
            at,
            "a middleware needs a non-empty `endpoints.include`",
            "write `include: [\"**\"]` for every host",
        );
    }
    if count(include) + count(exclude) > MAX_PATTERNS {
        let message = format!("more than {MAX_PATTERNS} patterns in `include` and `exclude`");
        found.error(Code::InvalidMiddleware, section.at, message, "use wildcards");
    }
    (patterns(include, found), patterns(exclude, found))
}

fn patterns(list: Option<&At<Vec<At<String>>>>, found: &mut Diagnostics) -> Vec<HostPattern> {
    let mut patterns = Vec::new();
    for text in list.into_iter().flat_map(|list| &list.value) {
        match HostPattern::parse_selector(&text.value) {
            Ok(pattern) => patterns.push(pattern),
            Err(error) => report_selector(text, error, found),
        }
    }
    patterns
}

fn report_selector(text: &At<String>, error: HostPatternError, found: &mut Diagnostics) {
    let value = &text.value;
    if value.contains("://") || value.contains('/') {
        let message = format!("`{value}` is not a host");
        return found.error(
            Code::InvalidSelector,
            text.at,
            message,
            "write the host only, without scheme, port and path",
        );
    }
    if value.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) && !value.starts_with('[') {
        let message = format!("`{value}` is a host with a port");
        return found.error(Code::InvalidSelector, text.at, message, "a selector is for every port of a host");
    }
    let hint = if value.contains(['{', '}']) {
        "write one pattern for each alternative".to_owned()
    } else if value.ends_with('.') {
        format!("write `{}` without the trailing dot", value.trim_end_matches('.'))
    } else {
        String::new()
    };
    found.error(Code::InvalidSelector, text.at, format!("`{value}`: {error}"), hint);
}

/// A middleware that must see every request may not be pointed at traffic that nobody can read.
pub(super) fn check_reach(middlewares: &[Middleware], endpoints: &[Endpoint], found: &mut Diagnostics) {
    for endpoint in endpoints.iter().filter(|endpoint| endpoint.tls == Tls::Skip) {
        for middleware in middlewares.iter().filter(|middleware| middleware.on_error == OnError::FailClosed) {
            if !may_select(middleware, endpoint.host.as_ref()) {
                continue;
            }
            let host = endpoint.host_text();
            let message = format!(
                "middleware `{}` must see the traffic of `{host}`, but `tls: skip` leaves it unread",
                middleware.key
            );
            let hint = format!(
                "exclude the host under network_middlewares.{}.endpoints.exclude, or leave `tls: skip` out",
                middleware.key
            );
            found.error(Code::UninspectableSelection, endpoint.at, message, hint);
        }
    }
}

fn may_select(middleware: &Middleware, host: Option<&HostPattern>) -> bool {
    let Some(host) = host else {
        return !middleware.exclude.iter().any(HostPattern::is_any);
    };
    middleware.include.iter().any(|pattern| pattern.overlaps(host)) && !middleware.exclude.iter().any(|pattern| pattern.covers(host))
}
