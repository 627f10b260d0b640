//! The sections that are not made of tables.

use serde_json::{Map, Value, json};

use super::map;
use crate::config::{ListenConfig, TlsConfig, UpstreamConfig};
use crate::settings::schema::{duration, nullable, with};
use crate::settings::units::format_duration;
use crate::verdict::BackendName;
use crate::verdict::breaker::BreakerConfig;
use crate::verdict::config::{MAX_IN_FLIGHT, MAX_QUEUE, VerdictConfig};

/// An address with a port; whether it is one, the reader says.
const SOCKET: &str = r"^([0-9.]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$";
const ENVIRONMENT_NAME: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

pub(super) fn listen(default: &ListenConfig) -> Value {
    let address = |default: String, what: &str| {
        let description = format!("{what} Address and port in quotes; port 0 picks a free one.");
        json!({ "type": "string", "pattern": SOCKET, "default": default, "description": description })
    };
    section(
        "Where Tollgate listens.",
        json!({
            "proxy": address(default.proxy.to_string(), "For the sandbox."),
            "admin": address(default.admin.to_string(), "For the supervisor: health, readiness, metrics."),
        }),
    )
}

pub(super) fn tls(default: &TlsConfig) -> Value {
    let lifetime = with(
        duration("How long a minted leaf is valid: from `5m` to `168h`."),
        "default",
        format_duration(default.leaf_lifetime),
    );
    section(
        "The certificate authority that is made at every start (but see `hand_over_ca`), and the roots that origins are verified against.",
        json!({
            "ca_dir": optional_text("The folder that gets `tollgate-ca.pem`, `ca-bundle.pem` and the other files that clients are told of; a temporary one when it is left out."),
            "hand_over_ca": {
                "type": "boolean", "default": false,
                "description": "Whether the new process of a hot restart (SIGUSR2) goes on as the same authority; takes `ca_dir`.",
            },
            "leaf_lifetime": lifetime,
            "extra_upstream_roots": {
                "type": "array",
                "items": { "type": "string" },
                "default": [],
                "description": "PEM files with roots to trust beside the system's.",
            },
        }),
    )
}

pub(super) fn verdict(default: &VerdictConfig) -> Value {
    let backend = |backend: &BackendName| json!({ "const": backend.as_str(), "description": backend.summary() });
    let timeout = with(
        duration("From a payment's arrival to its verdict, waiting included; at most `2m`."),
        "default",
        format_duration(default.timeout),
    );
    let schema = section(
        "Who gives verdicts on payments. Left out, every payment is held and so refused, and nobody is told of any.",
        json!({
            "backend": {
                "oneOf": BackendName::CHOICES.iter().map(backend).collect::<Vec<_>>(),
                "default": default.backend.as_str(),
                "description": "Who is asked.",
            },
            "url": { "type": ["string", "null"], "pattern": "^https?://[^?#]+$", "description": "The service's base URL; with backend `blackwall` only." },
            "timeout": timeout,
            "max_in_flight": {
                "type": "integer", "minimum": 1, "maximum": MAX_IN_FLIGHT, "default": default.max_in_flight,
                "description": "Calls at the same time. A Blackwall service answers 4 without delay and loses connections from about 50.",
            },
            "queue": {
                "type": "integer", "minimum": 0, "maximum": MAX_QUEUE, "default": default.queue,
                "description": "Payments that may wait for a call.",
            },
            "breaker": breaker(),
            "report_outcomes": {
                "type": ["boolean", "null"],
                "description": "Whether the service hears what became of the payments that it said GO to; with backend `blackwall` only, where it is on.",
            },
            "action_safety": action_safety(),
            "payees": optional_text("A file of known payees with their usual price; with backend `local` only."),
            "refused": optional_text("A file of refused addresses; with backend `local` only."),
            "agent_id": {
                "type": ["string", "null"], "pattern": "^[A-Za-z0-9._:-]{1,128}$",
                "description": "The name of this sandbox that the service is told; with backend `blackwall` only.",
            },
        }),
    );
    let written = |key: &str| json!({ "required": [key], "properties": { key: { "type": "string" } } });
    let without = |keys: [&str; 2]| -> Value { keys.map(|key| json!({ "not": written(key) })).into_iter().collect() };
    let blackwall = json!({ "properties": { "backend": { "const": BackendName::Blackwall.as_str() } }, "required": ["backend"] });
    let schema = with(schema, "if", blackwall);
    let schema = with(
        schema,
        "then",
        json!({ "allOf": [written("url"), { "allOf": without(["payees", "refused"]) }] }),
    );
    with(schema, "else", json!({ "allOf": without(["url", "agent_id"]) }))
}

fn breaker() -> Value {
    let default = BreakerConfig::default();
    let pause = duration("How long it is left alone before the next probe; at most `1h`.");
    let breaker = section(
        "When a service that fails is no longer asked; with backend `blackwall` only.",
        json!({
            "failures": {
                "type": "integer", "minimum": 1, "default": default.failures,
                "description": "Failures in a row after which it is no longer asked.",
            },
            "pause": with(pause, "default", format_duration(default.pause)),
        }),
    );
    nullable(breaker)
}

fn action_safety() -> Value {
    let name = |description: &str| json!({ "type": ["string", "null"], "pattern": ENVIRONMENT_NAME, "description": description });
    let second = section(
        "A second opinion, which can only object. Being there, it is the permission to tell that service about payments.",
        json!({
            "share_with": {
                "type": "string", "pattern": "^https?://[^?#]+$",
                "description": "Who may be told: `https://hermesplant.com`, or a service on loopback.",
            },
            "api_key_from_env": name("The variable that holds the key for `X-API-Key`."),
            "bearer_from_env": name("The variable that holds the bearer token; one of the two is needed."),
            "environment": optional_text("What the service is told of where this runs, such as `production`."),
        }),
    );
    nullable(with(second, "required", json!(["share_with"])))
}

pub(super) fn rails() -> Value {
    let list = |description: &str| json!({ "type": "array", "items": { "type": "string" }, "default": [], "description": description });
    section(
        "Payment rails beyond the built-in list, from which nothing can be taken.",
        json!({
            "hosts": list("`name` for every port, or `name:port`; `*.name` is every name below it."),
            "addresses": list("Networks in CIDR notation, or single addresses."),
        }),
    )
}

pub(super) fn upstream(default: &UpstreamConfig) -> Value {
    let connect = with(
        duration("Time for one attempt to connect to an origin."),
        "default",
        format_duration(default.connect_timeout),
    );
    section(
        "How origins are reached.",
        json!({
            "hosts": {
                "type": "object",
                "additionalProperties": { "type": "array", "minItems": 1, "items": { "type": "string", "pattern": "^[0-9A-Fa-f:.]+$" } },
                "default": {},
                "description": "Addresses of names that are not to be asked of DNS. What may be dialled is judged all the same.",
            },
            "proxy": {
                "type": "string",
                "pattern": "^https?://[^/?#@]+/?$",
                "description": "Another proxy, by whose CONNECT every connection is made.",
            },
            "proxy_credentials": {
                "type": ["string", "null"],
                "description": "A file that only its owner may read, with one line `user:password` for the proxy.",
            },
            "proxy_connect": {
                "enum": ["address", "name"],
                "default": "address",
                "description": "What the proxy is asked to connect to: the address that was judged, or the name, which it resolves itself.",
            },
            "no_proxy": {
                "type": "array",
                "items": { "type": "string" },
                "default": [],
                "description": "Destinations that are dialled without the proxy: names, `*.` and a name, addresses, CIDR ranges. Loopback always is.",
            },
            "connect_timeout": connect,
        }),
    )
}

pub(super) fn credentials() -> Value {
    let name = |description: &str| json!({ "type": "string", "pattern": ENVIRONMENT_NAME, "description": description });
    let credential = section(
        "A secret, and where it may be sent.",
        json!({
            "placeholder": name("What stands for it in the sandbox, after `openshell:resolve:env:`."),
            "from_env": name("The variable of Tollgate's own environment that holds it."),
            "from_file": {
                "type": "string", "minLength": 1,
                "description": "A file that only its owner may read, with the secret and nothing else; read again when it changes.",
            },
            "from_command": {
                "type": "array", "minItems": 1, "items": { "type": "string" },
                "description": "A program and its arguments; the secret is what it writes to standard output within ten seconds.",
            },
            "refresh": duration("How often the command is run again; left out: on SIGHUP only."),
            "hosts": {
                "type": "array", "minItems": 1, "items": { "type": "string" },
                "description": "Where it may be sent: `name` for every port, or `name:port`; with a path behind it (`/v1/x`, or `/v1/**` for all below) only there. No other patterns.",
            },
        }),
    );
    json!({
        "type": "array",
        "items": with(
            with(credential, "required", json!(["placeholder", "hosts"])),
            "oneOf",
            json!([{ "required": ["from_env"] }, { "required": ["from_file"] }, { "required": ["from_command"] }]),
        ),
        "default": [],
        "description": "Which placeholders stand for which secrets; no placeholder twice.",
    })
}

pub(super) fn audit() -> Value {
    section(
        "Where audit lines go.",
        json!({
            "path": {
                "type": "string",
                "minLength": 1,
                "description": "A file, or `-` for standard output. Left out: standard output for `run`, standard error for `exec`.",
            },
        }),
    )
}

fn section(description: &str, properties: Value) -> Value {
    let properties = match properties {
        Value::Object(properties) => properties,
        _ => Map::new(),
    };
    map(description, &properties)
}

/// `null` is as left out.
fn optional_text(description: &str) -> Value {
    nullable(json!({ "type": "string", "description": description }))
}

pub(super) fn kill_switch() -> Value {
    section(
        "What closes all egress at once, besides SIGUSR1 and `POST /kill` at the admin listener.",
        json!({
            "file": {
                "type": "string",
                "minLength": 1,
                "description": "While this file is there, everything is denied with `egress_closed`, and open connections end.",
            },
        }),
    )
}
