#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::too_many_lines)]

mod contents;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Parser;
use serde_json::{Value, json};

use super::*;
use crate::demo::Payer;
use crate::flow::now;
use crate::x402::assets;

const POLICY: &str = r#"version: 1
network_policies:
  api:
    endpoints:
      - host: api.example.com
        port: 443
        protocol: rest
        enforcement: enforce
        rules:
          - allow: { method: GET, path: "/v1/**" }
          - allow: { method: POST, path: "/rpc" }
        deny_rules:
          - { method: GET, path: "/v1/secret" }
      - { host: 192.0.2.7, port: 443, protocol: rest, enforcement: enforce, access: full }
      - { host: fixed.example.com, port: 443, protocol: rest, enforcement: enforce, access: full }
      - { host: mirror.example.com, port: 443, protocol: rest, enforcement: enforce, access: full }
    binaries: [ { path: "/**" } ]
  tools:
    endpoints:
      - { host: tools.example.com, port: 443, protocol: rest, enforcement: enforce, access: read-only }
    binaries: [ { path: /usr/bin/curl }, { path: "/opt/agent/**" } ]
  chat:
    endpoints:
      - host: chat.example.com
        port: 443
        protocol: websocket
        enforcement: enforce
        rules:
          - allow: { method: GET, path: "/v1/**" }
          - allow: { method: WEBSOCKET_TEXT, path: /v1/chat }
      - { host: chat.example.com, port: 80, protocol: websocket, enforcement: audit, access: read-only }
      - host: graph.example.com
        port: 443
        protocol: websocket
        enforcement: enforce
        rules:
          - allow: { method: GET, path: /graphql }
          - allow: { operation_type: subscription, fields: [ issueAdded ] }
    binaries: [ { path: "/**" } ]
  watched:
    endpoints:
      - { host: watched.example.com, port: 80, protocol: rest, enforcement: audit, access: read-only }
    binaries: [ { path: "/**" } ]
  raw:
    endpoints:
      - { host: raw.example.com, port: 443, tls: skip }
    binaries: [ { path: "/**" } ]
  rail:
    endpoints:
      - { host: rail.example.com, port: 443, protocol: rest, enforcement: enforce, access: full }
    binaries: [ { path: "/**" } ]
"#;

const CONFIG: &str = r"
rails: { hosts: [ rail.example.com ], addresses: [ 198.51.100.9/32 ] }
upstream: { hosts: { fixed.example.com: [ 127.0.0.1 ], mirror.example.com: [ 198.51.100.9 ] } }
verdict: { backend: local, payees: payees.yaml }
credentials: [ { placeholder: TOKEN, from_env: NOT_SET_ANYWHERE, hosts: [ api.example.com ] } ]
";

struct Place(tempfile::TempDir);

impl Place {
    fn new(policy: &str, config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("policy.yaml"), policy).unwrap();
        std::fs::write(folder.path().join("tollgate.yaml"), config).unwrap();
        let known = "- payee: \"0x1111111111111111111111111111111111111111\"\n  price: \"0.01\"\n";
        std::fs::write(folder.path().join("payees.yaml"), known).unwrap();
        Place(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn arguments(&self, words: &[&str]) -> Arguments {
        #[derive(Parser)]
        struct Line {
            #[command(flatten)]
            arguments: Arguments,
        }
        let (policy, config) = (self.file("policy.yaml"), self.file("tollgate.yaml"));
        let documents = ["explain", "--policy", &policy, "--config", &config];
        Line::try_parse_from(documents.iter().chain(words)).unwrap().arguments
    }

    /// The JSON document and the text.
    async fn explained(&self, words: &[&str]) -> Result<(Value, String), String> {
        let arguments = self.arguments(words);
        let rehearsal = Rehearsal::new(&arguments.documents.settings().unwrap()).map_err(|error| CliError::from(error).to_string())?;
        let explained = explain(&arguments, &rehearsal).await.map_err(|error| error.to_string())?;
        Ok((explained.document(), explained.text()))
    }
}

#[tokio::test]
async fn requests_are_decided_by_reason() {
    let place = Place::new(POLICY, CONFIG);
    let body = place.file("body.json");
    std::fs::write(
        &body,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x02"]}"#,
    )
    .unwrap();
    let cases: [(&[&str], &str, Option<&str>, &str); 32] = [
        (&["GET", "https://api.example.com/v1/x"], "allow", None, "l7"),
        (&["GET", "https://API.example.com:443/v1/./x#fragment"], "allow", None, "l7"),
        (&["GET", "https://api.example.com/admin"], "deny", Some("path_not_allowed"), "l7"),
        (&["PUT", "https://api.example.com/v1/x"], "deny", Some("method_not_allowed"), "l7"),
        (&["GET", "https://api.example.com/v1/secret"], "deny", Some("denied_by_rule"), "l7"),
        (
            &["GET", "https://api.example.com/v1/%2e%2e/secret"],
            "deny",
            Some("path_not_allowed"),
            "l7",
        ),
        (&["GET", "https://api.example.com/v1/%zz"], "deny", Some("path_not_canonical"), "l7"),
        (
            &["GET", "https://api.example.com:8443/v1/x"],
            "deny",
            Some("port_not_allowed"),
            "l4",
        ),
        (&["GET", "https://other.example.com/"], "deny", Some("host_not_allowed"), "l4"),
        (
            &["GET", "https://user@api.example.com/v1/x"],
            "deny",
            Some("malformed_request"),
            "l4",
        ),
        (&["GET", "https://2130706433/"], "deny", Some("malformed_request"), "l4"),
        (
            &["GET", "https://api.example.com/v1/x", "--header", "Host: evil.example.com"],
            "deny",
            Some("authority_mismatch"),
            "l7",
        ),
        (
            &["GET", "https://api.example.com/v1/x", "--header", "Upgrade: h2c"],
            "deny",
            Some("h2c_not_allowed"),
            "l7",
        ),
        (
            &[
                "POST",
                "https://api.example.com/rpc",
                "--header",
                "Transfer-Encoding: gzip, chunked",
            ],
            "deny",
            Some("malformed_request"),
            "l7",
        ),
        (&["GET", "http://watched.example.com/x"], "allow", None, "l7"),
        (
            &["DELETE", "http://watched.example.com/x"],
            "would_deny",
            Some("method_not_allowed"),
            "l7",
        ),
        (&["GET", "https://raw.example.com/anything"], "allow", None, "l4"),
        (&["GET", "https://rail.example.com/"], "deny", Some("rail_destination"), "l4"),
        (&["GET", "https://mirror.example.com/"], "deny", Some("rail_destination"), "l4"),
        (&["GET", "https://fixed.example.com/"], "deny", Some("address_not_allowed"), "l4"),
        (&["GET", "https://192.0.2.7/"], "allow", None, "l7"),
        (
            &["GET", "https://api.example.com/v1/x", "--header", "Authorization: Payment x"],
            "deny",
            Some("rail_payment_scheme"),
            "l7",
        ),
        (
            &["POST", "https://api.example.com/rpc", "--body", &body],
            "deny",
            Some("rail_broadcast"),
            "l7",
        ),
        (&["POST", "https://api.example.com/rpc"], "allow", None, "l7"),
        (
            &["GET", "https://api.example.com/v1/x", "--header", "X-PAYMENT: e30="],
            "deny",
            Some("payment_malformed"),
            "l7",
        ),
        (
            &[
                "GET",
                "https://api.example.com/v1/x",
                "--header",
                "X-PAYMENT: e30=",
                "--header",
                "X-PAYMENT: e30=",
            ],
            "deny",
            Some("payment_conflicting"),
            "l7",
        ),
        (
            &[
                "GET",
                "https://api.example.com/v1/x",
                "--header",
                "X-Key: openshell:resolve:env:TOKEN",
            ],
            "allow",
            None,
            "l7",
        ),
        (
            &[
                "GET",
                "https://tools.example.com/",
                "--header",
                "X-Key: openshell:resolve:env:TOKEN",
            ],
            "deny",
            Some("credential_mismatch"),
            "l7",
        ),
        (&["GET", "https://tools.example.com/"], "allow", None, "l7"),
        (
            &["GET", "https://tools.example.com/", "--binary", "/usr/bin/curl"],
            "allow",
            None,
            "l7",
        ),
        (
            &["GET", "https://tools.example.com/", "--binary", "/opt/agent/bin/x"],
            "allow",
            None,
            "l7",
        ),
        (
            &["GET", "https://tools.example.com/", "--binary", "/usr/bin/wget"],
            "deny",
            Some("binary_not_allowed"),
            "l4",
        ),
    ];
    let mut wrong = Vec::new();
    for (words, decision, reason, layer) in cases {
        let (document, text) = place.explained(words).await.unwrap();
        let found = (
            document["decision"].as_str().unwrap(),
            document["reason_code"].as_str(),
            document["layer"].as_str().unwrap(),
        );
        if found != (decision, reason, layer) {
            wrong.push(format!("{words:?}: {found:?}\n{text}"));
            continue;
        }
        let word = match decision {
            "allow" => "ALLOW  ",
            "deny" => "DENY  ",
            _ => "WOULD DENY  ",
        };
        assert!(text.starts_with(word), "{text}");
        assert!(reason.is_none_or(|reason| text.contains(reason)), "{text}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_document_has_the_members_of_a_denial_and_the_trace() {
    let place = Place::new(POLICY, CONFIG);
    let names = [
        "binary",
        "decision",
        "detail",
        "error",
        "host",
        "layer",
        "method",
        "next_steps",
        "notes",
        "path",
        "policy",
        "port",
        "reason_code",
        "request_id",
        "rule",
        "trace",
    ];
    for words in [
        ["GET", "https://api.example.com/v1/x"],
        ["GET", "https://api.example.com/no"],
        ["PUT", "http://watched.example.com/x"],
    ] {
        let (document, _) = place.explained(&words).await.unwrap();
        assert_eq!(document.as_object().unwrap().keys().collect::<Vec<_>>(), names, "{words:?}");
    }
    let (document, _) = place.explained(&["GET", "https://api.example.com/no?token=hidden"]).await.unwrap();
    assert_eq!(document["error"], "policy_denied");
    assert_eq!(
        (&document["host"], &document["port"], &document["path"]),
        (&json!("api.example.com"), &json!(443), &json!("/no"))
    );
    assert_eq!(document["trace"]["policy"]["candidates"][0]["outcome"], "no_rule_for_path");
    assert_eq!(document["trace"]["steps"][1]["finding"], "unknown", "an address is not looked up");
    assert!(document["next_steps"][0].as_str().unwrap().contains("/no"));
    assert!(!document.to_string().contains("hidden"), "a query value");
}

#[tokio::test]
async fn the_text_says_what_decided_and_what_to_do() {
    let place = Place::new(POLICY, CONFIG);
    let (_, text) = place.explained(&["GET", "https://api.example.com/admin"]).await.unwrap();
    let text = text.replace(&place.file("policy.yaml"), "policy.yaml");
    for line in [
        "DENY  GET api.example.com:443/admin\n  path_not_allowed (403 policy_denied)\n  GET /admin is not allowed on api.example.com:443\n",
        "\n  pass   connection   api.example.com:443 is listed by policy 'api'\n",
        "\n  policy.yaml:5: policy 'api', api.example.com port 443: no rule has the path\n",
        "\n    policy.yaml:10: rules[0]: another path\n",
        "\nnext steps\n  in policy 'api', endpoint api.example.com (line 5)",
    ] {
        assert!(text.contains(line), "no {line:?} in\n{text}");
    }
    let (_, text) = place.explained(&["GET", "https://tools.example.com/"]).await.unwrap();
    assert!(text.contains("policy 'tools' is for /usr/bin/curl, /opt/agent/**"), "{text}");
    let (_, text) = place.explained(&["GET", "https://rail.example.com/"]).await.unwrap();
    assert!(!text.contains("next steps"), "nobody is told a way around a rail\n{text}");
}

/// A payment to `payee` for the resource, as an SDK would sign it.
fn payment(payee: u8) -> String {
    format!("PAYMENT-SIGNATURE: {}", signed(payee, "https://api.example.com/v1/x"))
}

fn signed(payee: u8, resource: &str) -> String {
    let asset = assets::table()
        .map(|known| known.asset)
        .find(|asset| asset.network.to_string() == "eip155:84532")
        .unwrap();
    let domain = asset.domain().unwrap();
    let challenge = json!({
        "x402Version": 2,
        "resource": { "url": resource },
        "accepts": [{
            "scheme": "exact", "network": "eip155:84532", "asset": asset.address.to_string(), "amount": "10000",
            "payTo": format!("0x{}", hex::encode([payee; 20])), "maxTimeoutSeconds": 60,
            "extra": { "name": domain.name, "version": domain.version },
        }],
    });
    let challenge = STANDARD.encode(challenge.to_string()).parse().unwrap();
    let value = Payer::new().unwrap().pay(&challenge, &asset, now()).unwrap();
    value.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_payment_in_a_call_is_judged_like_one_in_a_header() {
    let local = Place::new(POLICY, CONFIG);
    let call = |payee: u8, tool: &str| {
        let payment: Value = serde_json::from_slice(&STANDARD.decode(signed(payee, "mcp://tool/weather")).unwrap()).unwrap();
        let call =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "_meta": { "x402/payment": payment } } });
        let file = local.file(&format!("call-{payee}-{tool}.json"));
        std::fs::write(&file, call.to_string()).unwrap();
        file
    };
    for (payee, tool, expected) in [
        (0x11, "weather", ("allow", json!(null))),
        (0x22, "weather", ("deny", json!("verdict_hold"))),
        (0x11, "forecast", ("deny", json!("payment_mismatch"))),
    ] {
        let body = call(payee, tool);
        let ask = [
            "POST",
            "https://api.example.com/rpc",
            "--header",
            "Content-Type: application/json",
            "--body",
            &body,
        ];
        let (document, text) = local.explained(&ask).await.unwrap();
        assert_eq!(
            (document["decision"].as_str().unwrap(), document["reason_code"].clone()),
            expected,
            "{text}"
        );
        if expected.0 == "allow" {
            assert_eq!(document["payment"]["amount"], "0.01");
            assert!(text.contains("in the body, signed for 0.01"), "{text}");
        }
    }
}

#[tokio::test]
async fn a_payment_that_would_be_signed_here_is_said_to_be_and_is_not() {
    const WALLET: &str = "0xe36fafa443a2c47660fd4ea5bc635be9f27c8d81";
    // Nobody has the key: an explanation that needed it would fail.
    let settings =
        |agent: &str| format!("{CONFIG}payments: {{ signer: {{ wallet: \"{WALLET}\", agent: {agent}, key_env: NOT_SET_ANYWHERE }} }}\n");
    let signed = payment(0x11);
    let (name, value) = signed.split_once(": ").unwrap();
    let mut document: Value = serde_json::from_slice(&STANDARD.decode(value).unwrap()).unwrap();
    document["payload"]["authorization"]["from"] = json!(WALLET);
    document["payload"]["signature"] = json!(format!("0x{}1b", "c0de".repeat(32)));
    let unsigned = format!("{name}: {}", STANDARD.encode(document.to_string()));
    for (agent, header) in [("placeholder", &unsigned), ("throwaway-key", &signed)] {
        let place = Place::new(POLICY, &settings(agent));
        let (document, text) = place
            .explained(&["GET", "https://api.example.com/v1/x", "--header", header])
            .await
            .unwrap();
        assert_eq!(document["decision"], "allow", "{text}");
        assert_eq!(document["payment"]["payer"], WALLET, "{text}");
        for said in [
            "to be signed here after GO, for 0.01",
            &format!("after GO it is signed here, by {WALLET}; nothing is signed now"),
        ] {
            assert!(text.contains(said), "{said}\n{text}");
        }
    }
    let place = Place::new(POLICY, &settings("placeholder"));
    let (document, _) = place
        .explained(&["GET", "https://api.example.com/v1/x", "--header", &signed])
        .await
        .unwrap();
    assert_eq!(document["reason_code"], "payment_payer_not_allowed");
}

#[tokio::test]
async fn a_payment_is_judged_by_the_local_lists_and_never_put_to_a_service() {
    let (known, unknown) = (payment(0x11), payment(0x22));
    let local = Place::new(POLICY, CONFIG);
    let ask = |header| ["GET", "https://api.example.com/v1/x", "--header", header];
    let (document, text) = local.explained(&ask(known.as_str())).await.unwrap();
    assert_eq!(document["decision"], "allow", "{text}");
    assert_eq!(document["payment"]["amount"], "0.01");
    assert!(text.contains("the local lists say GO"), "{text}");
    let (document, _) = local.explained(&ask(unknown.as_str())).await.unwrap();
    assert_eq!(
        (&document["decision"], &document["reason_code"]),
        (&json!("deny"), &json!("verdict_hold"))
    );

    // A service that would notice: nobody may be asked.
    let service = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    service.set_nonblocking(true).unwrap();
    let remote = format!(
        "verdict: {{ backend: blackwall, url: \"http://{}\" }}",
        service.local_addr().unwrap()
    );
    let (document, text) = Place::new(POLICY, &remote).explained(&ask(unknown.as_str())).await.unwrap();
    assert_eq!(document["decision"], "allow", "{text}");
    assert!(
        text.contains("blackwall is asked about 0.01 of eip155:84532/") && text.contains("only GO lets it out"),
        "{text}"
    );
    let told = text.split_once("it is told ").unwrap().1.lines().next().unwrap();
    let told: Value = serde_json::from_str(told).unwrap();
    assert_eq!((&told["amount"], &told["chain"]), (&json!("0.01"), &json!("base-sepolia")));
    let keys: Vec<_> = told.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["amount", "asset", "chain", "counterparty", "payer", "resource"],
        "all that it is told"
    );
    std::thread::sleep(Duration::from_millis(50));
    assert!(service.accept().is_err(), "the verdict service was asked");
    let signature = unknown.split(' ').nth(1).unwrap();
    assert!(
        !text.contains(signature) && !document.to_string().contains(signature),
        "the signature is the money"
    );
}

#[tokio::test]
async fn what_cannot_be_judged_by_is_an_error_with_its_place() {
    let broken = Place::new(
        "version: 1\nnetwork_policies:\n  a:\n    endpoints: [ { host: a.example.com, port: 0 } ]\n",
        CONFIG,
    );
    let error = broken.explained(&["GET", "https://a.example.com/"]).await.unwrap_err();
    assert!(error.contains("policy.yaml:4:") && error.contains("error["), "{error}");
    let place = Place::new(POLICY, CONFIG);
    for (url, part) in [
        ("api.example.com/v1", "http://"),
        ("ftp://api.example.com/", "http://"),
        ("https://api.example.com/a b", "as it is"),
    ] {
        let error = place.explained(&["GET", url]).await.unwrap_err();
        assert!(error.contains("error[usage]") && error.contains(part), "{url}: {error}");
    }
    let error = place
        .explained(&["GET", "https://api.example.com/", "--body", "/nowhere/body"])
        .await
        .unwrap_err();
    assert!(error.contains("/nowhere/body: error[unreadable]"), "{error}");
    let error = place
        .explained(&["GET", "https://api.example.com/", "--binary", "curl"])
        .await
        .unwrap_err();
    assert!(error.contains("absolute path"), "{error}");
    std::fs::remove_file(place.file("policy.yaml")).unwrap();
    let error = place.explained(&["GET", "https://api.example.com/"]).await.unwrap_err();
    assert!(error.contains("policy.yaml: error[unreadable]"), "{error}");
}
