#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use std::sync::LazyLock;

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;

use super::*;
use crate::gate::payment::vectors::{load, paying_request};
use crate::x402::carriers::Call;

static RAILS: LazyLock<Rails> = LazyLock::new(|| Rails::new(&RailsConfig::default()).unwrap());

fn rails() -> &'static Rails {
    &RAILS
}

fn body(rails: &Rails, path: &str, body: &str) -> Option<Reason> {
    rails.in_body(path, body.as_bytes()).err().map(|hit| hit.reason)
}

#[test]
fn the_built_in_list_is_canonical_and_sourced() {
    let list = list::List::built_in().unwrap();
    let mut seen = HashSet::new();
    for entry in &list.hosts {
        let name = entry.host.strip_prefix("*.").unwrap_or(&entry.host);
        assert_eq!(Host::parse(name).unwrap().name(), Some(name), "not canonical");
        assert!(seen.insert(entry.host.clone()), "{} twice", entry.host);
        assert!(!entry.source.is_empty());
    }
    for entry in &list.paths {
        assert!(entry.path.starts_with('/') && !entry.path.ends_with('/'), "{}", entry.path);
    }
}

#[test]
fn every_listed_host_is_shut_on_every_port_in_every_spelling() {
    let rails = rails();
    for entry in &rails.list.hosts {
        let name = entry.host.replace("*.", "any.");
        for port in [80, 443, 8443] {
            for spelling in [name.clone(), name.to_ascii_uppercase()] {
                let hit = rails.destination(&Host::parse(&spelling).unwrap(), port).unwrap();
                assert_eq!(hit.reason, Reason::RailDestination, "{spelling}:{port}");
            }
        }
    }
    for (name, shut) in [
        ("facilitator.unknown.example", true),
        ("eu.facilitators.unknown.example", true),
        ("x402.unknown.example", false),
        ("a.facilitator.unknown.example", true),
        ("unknown.example", false),
        ("x402-docs.example", false),
        ("block-engine.jito.wtf", false),
        ("api.thirdweb.com", false),
        ("notx402.org", false),
    ] {
        assert_eq!(rails.destination(&Host::parse(name).unwrap(), 443).is_some(), shut, "{name}");
    }
}

#[test]
fn the_operators_rails_are_added_by_name_port_and_address() {
    let config: RailsConfig = serde_json::from_value(serde_json::json!({
        "hosts": ["Rail.example", "bank.example:8443", "*.pay.example", "203.0.113.9", "[2001:db8::9]:443"],
        "addresses": ["198.51.100.0/24", "2001:db8:1::/48", "192.0.2.1"],
    }))
    .unwrap();
    let rails = Rails::new(&config).unwrap();
    for (host, port, shut) in [
        ("rail.example", 1, true),
        ("sub.rail.example", 443, false),
        ("bank.example", 8443, true),
        ("bank.example", 443, false),
        ("a.pay.example", 443, true),
        ("a.b.pay.example", 443, true),
        ("pay.example", 443, false),
        ("notpay.example", 443, false),
        ("203.0.113.9", 80, true),
        ("2001:db8::9", 443, true),
        ("2001:db8::9", 80, false),
        ("198.51.100.7", 443, true),
        ("x402.org", 443, true),
    ] {
        assert_eq!(
            rails.destination(&Host::parse(host).unwrap(), port).is_some(),
            shut,
            "{host}:{port}"
        );
    }
    assert!(matches!(
        Rails::new(&RailsConfig {
            hosts: vec!["a.example".into(), "user@b".into()],
            addresses: vec![]
        }),
        Err(RailsError::Host { index: 1, .. })
    ));
    assert!(matches!(
        Rails::new(&RailsConfig {
            hosts: vec![],
            addresses: vec!["300.0.0.0/8".into()]
        }),
        Err(RailsError::Address { index: 0 })
    ));
}

#[test]
fn an_address_inside_an_address_is_no_way_around() {
    let rails = Rails::new(&RailsConfig {
        hosts: vec![],
        addresses: vec!["198.51.100.0/24".into()],
    })
    .unwrap();
    for (address, shut) in [
        ("198.51.100.7", true),
        ("::ffff:198.51.100.7", true),
        ("::198.51.100.7", true),
        ("::ffff:0:198.51.100.7", true),
        ("64:ff9b::198.51.100.7", true),
        ("64:ff9b:1:2:3:4:198.51.100.7", true),
        ("2002:c633:6407::1", true),
        ("2001:0:c633:6407::", true),
        ("2001:0:1:1:1:1:39cc:9bf8", true),
        ("198.51.101.7", false),
        ("2001:db8::c633:6407", false),
    ] {
        assert_eq!(rails.address(address.parse().unwrap()).is_some(), shut, "{address}");
    }
}

#[test]
fn authentication_schemes_and_headers_that_pay_are_found_in_any_case_and_position() {
    let rails = rails();
    for (name, value, shut) in [
        ("authorization", "Payment eyJ9", true),
        ("authorization", "pAyMeNt eyJ9", true),
        ("authorization", "L402 a:b", true),
        ("authorization", "lsat\ta:b", true),
        ("authorization", "X402 e30=", true),
        ("authorization", "Payment", true),
        ("authorization", " Payment eyJ9", true),
        ("authorization", "Bearer x, Payment eyJ9", true),
        ("proxy-authorization", "Payment eyJ9", true),
        ("x-authorization", "L402 a:b", true),
        ("x-cashu", "cashuB", true),
        ("x_cashu", "cashuB", true),
        ("crawler-max-price", "USD 1", true),
        ("crawler-exact-price", "USD 1", true),
        ("x-bsv-payment", "{}", true),
        ("x-bsv-payment-derivation-prefix", "x", true),
        ("payment-authorization", "x", true),
        ("payment-session", "x", true),
        ("skyfire-pay-id", "x", true),
        ("skyfire_pay_id", "x", true),
        ("authorization", "Bearer payment", false),
        ("authorization", "PaymentToken x", false),
        ("authorization", "Basic eDpQYXltZW50", false),
        ("x-crawler-id", "1", false),
        ("payment-signature", "e30=", false),
    ] {
        let mut headers = HeaderMap::new();
        headers.append("accept", HeaderValue::from_static("*/*"));
        headers.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
        let hit = rails.scheme(&headers);
        assert_eq!(
            hit.as_ref().map(|hit| hit.reason),
            shut.then_some(Reason::RailPaymentScheme),
            "{name}: {value}"
        );
    }
    let mut twice = HeaderMap::new();
    twice.append("authorization", HeaderValue::from_static("Bearer x"));
    twice.append("authorization", HeaderValue::from_static("Payment x"));
    assert!(rails.scheme(&twice).is_some());
}

#[test]
fn paths_that_are_rails_are_shut_where_the_host_is_not() {
    let rails = rails();
    for (method, host, path, reason) in [
        (
            "POST",
            "api.thirdweb.com",
            "/v1/payments/x402/settle",
            Some(Reason::RailFacilitatorCall),
        ),
        ("GET", "api.thirdweb.com", "/v1/payments/x402", Some(Reason::RailFacilitatorCall)),
        ("GET", "api.thirdweb.com", "/v1/payments/x4020", None),
        ("GET", "api.thirdweb.com", "/v1/contracts", None),
        ("POST", "any.example", "/facilitator/settle", Some(Reason::RailFacilitatorCall)),
        ("POST", "any.example", "/v1/X402/Verify/", Some(Reason::RailFacilitatorCall)),
        ("GET", "any.example", "/facilitator/settle", None),
        ("POST", "any.example", "/account/verify", None),
        ("POST", "horizon.stellar.org", "/transactions", Some(Reason::RailBroadcast)),
        ("GET", "horizon.stellar.org", "/transactions", None),
        ("POST", "shop.example", "/transactions", None),
        ("POST", "cardano.example", "/api/v0/tx/submit", Some(Reason::RailBroadcast)),
        (
            "POST",
            "shop.example",
            "/checkout_sessions/cs_1/complete",
            Some(Reason::RailPaymentScheme),
        ),
        (
            "POST",
            "shop.example",
            "/agentic_commerce/delegate_payment",
            Some(Reason::RailPaymentScheme),
        ),
        ("POST", "any.example", "/", None),
    ] {
        let hit = rails.target(method, path, &Host::parse(host).unwrap());
        assert_eq!(hit.map(|hit| hit.reason), reason, "{method} {host}{path}");
    }
}

#[test]
fn calls_that_sign_or_broadcast_are_found_alone_in_batches_and_in_disguise() {
    let rails = rails();
    let broadcast = Some(Reason::RailBroadcast);
    for method in [
        "eth_sendRawTransaction",
        "eth_sendRawTransactionSync",
        "eth_sendRawTransactionConditional",
        "eth_sendPrivateTransaction",
        "eth_sendTransaction",
        "eth_sendBundle",
        "mev_sendBundle",
        "eth_sendUserOperation",
        "pm_sponsorUserOperation",
        "wallet_sendCalls",
        "eth_sign",
        "eth_signTypedData_v4",
        "personal_sign",
        "sendTransaction",
        "sendBundle",
        "simulateTransaction",
        "requestAirdrop",
        "submit_multisigned",
        "broadcast_tx_commit",
        "send_tx",
        "starknet_addInvokeTransaction",
        "sui_executeTransactionBlock",
        "sendrawtransaction",
    ] {
        assert_eq!(
            body(
                rails,
                "/",
                &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[]}}"#)
            ),
            broadcast,
            "{method}"
        );
    }
    for text in [
        r#"[{"jsonrpc":"2.0","method":"eth_chainId"},{"jsonrpc":"2.0","method":"eth_sendRawTransaction"}]"#,
        r#"{"method":"eth_sendRaw\u0054ransaction"}"#,
        r#"{"m\u0065thod":"eth_sendRawTransaction"}"#,
        r#"{"\u006d\u0065\u0074\u0068\u006f\u0064":"\u0065th_sendRawTransaction"}"#,
        r#"{"Method":"eth_sendRawTransaction"}"#,
        r#"{"method":"eth_chainId","method":"eth_sendRawTransaction"}"#,
        r#"{"method":"eth_chainId","Method":"eth_sendRawTransaction"}"#,
        r#"{"method":"eth_sendRaw\u0054ransaction","method":"eth_chainId"}"#,
        "{\"method\":\"eth_chainId\"}\n{\"method\":\"eth_sendRawTransaction\"}",
        "\u{feff}{\"method\":\"eth_sendRawTransaction\"}",
        " \r\n\t{\"method\" : \"eth_sendRawTransaction\"}",
        r#"{"method":"eth_sendRawTransaction"} trailing"#,
        r#"{"calls":[{"jsonrpc":"2.0","method":"eth_sendRawTransaction"}]}"#,
        r#"{"method":"submit","params":[{"tx_blob":"12"}]}"#,
        r#"{"command":"submit","tx_blob":"12"}"#,
    ] {
        assert_eq!(body(rails, "/", text), broadcast, "{text}");
    }
    let utf16: Vec<u8> = r#"{"method":"eth_sendRawTransaction"}"#.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(rails.in_body("/", &utf16).err().map(|hit| hit.reason), broadcast);
    let deep = format!("{}{}{}", "[".repeat(200), r#"{"method":"eth_sendRawTransaction"}"#, "]".repeat(200));
    assert_eq!(body(rails, "/", &deep), broadcast);
}

#[test]
fn reading_a_chain_and_speaking_of_payments_pass() {
    let rails = rails();
    for text in [
        "",
        "{}",
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[]}"#,
        r#"[{"method":"eth_chainId"},{"method":"eth_getBalance"},{"method":"eth_estimateGas"}]"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"pay","arguments":{"method":"eth_sendRawTransaction"}}}"#,
        r#"{"messages":[{"role":"user","content":"how does \"method\":\"eth_sendRawTransaction\" and x402Version with a signature work?"}]}"#,
        r#"{"content":"\u003cb\u003e \u0041 \u00e9"}"#,
        r#"{"method":"submit","params":[{"form":"contact"}]}"#,
        r#"{"x402Version":2,"accepts":[{"scheme":"exact"}]}"#,
        r#"{"user":"a","permitted":["read"],"deadline":"today"}"#,
        "plain text about \"eth_sendRawTransaction\" and x402",
        "{\"dup\":1,\"dup\":2}",
        "{ not json at all \\u0041",
        "--x\r\ncontent-disposition: form-data\r\n\r\n\"method\":\"eth_sendRawTransaction\"\r\n--x--",
    ] {
        assert_eq!(rails.in_body("/", text.as_bytes()), Ok(None), "{text}");
    }
}

#[test]
fn facilitator_calls_and_loose_signatures_are_refused_on_any_host() {
    let rails = rails();
    let authorization = r#"{"from":"a","to":"b","value":"1","validAfter":"0","validBefore":"9","nonce":"0x0"}"#;
    let payment = format!(r#"{{"x402Version":2,"payload":{{"signature":"0x","authorization":{authorization}}}}}"#);
    for (path, text, reason) in [
        (
            "/anything",
            format!(r#"{{"paymentPayload":{payment},"paymentRequirements":{{}}}}"#),
            Reason::RailFacilitatorCall,
        ),
        (
            "/anything",
            format!(r#"{{"payment\u0050ayload":{payment},"paymentRequirement\u0073":{{}}}}"#),
            Reason::RailFacilitatorCall,
        ),
        (
            "/anything",
            format!(r#"{{"paymentPayload":{payment},"paymentRequirements":{{}},"paymentRequirements":1}}"#),
            Reason::RailFacilitatorCall,
        ),
        (
            "/anything",
            format!(r#"{{"PaymentPayload":{payment},"paymentrequirements":{{}}}}"#),
            Reason::RailFacilitatorCall,
        ),
        ("/v2/settle", payment.clone(), Reason::RailFacilitatorCall),
        ("/verify/", payment.clone(), Reason::RailFacilitatorCall),
        ("/x", payment.clone(), Reason::PaymentSchemeNotAllowed),
        (
            "/x",
            format!(r#"{{"signature":"0x","deep":[[{authorization}]]}}"#),
            Reason::RailBroadcast,
        ),
        (
            "/mcp",
            format!(r#"{{"params":{{"_meta":{{"x402\/payment":{payment}}}}}}}"#),
            Reason::PaymentMalformed,
        ),
        (
            "/mcp",
            format!(r#"{{"params":{{"_meta":{{"\u0078402/payment":{payment}}}}}}}"#),
            Reason::PaymentMalformed,
        ),
        (
            "/mcp",
            r#"{"_meta":{"org.paymentauth\/credential":{}}}"#.to_owned(),
            Reason::RailPaymentScheme,
        ),
    ] {
        assert_eq!(body(rails, path, &text), Some(reason), "{path} {text}");
    }
}

#[test]
fn a_loose_solana_transaction_is_refused_and_so_is_a_payment_with_one() {
    let rails = rails();
    let vector = load("v2-exact-svm-py");
    let payment = &vector["exchanges"][1]["decoded_request"]["PAYMENT-SIGNATURE"];
    for (text, reason) in [
        (payment["payload"].to_string(), Reason::RailBroadcast),
        (format!("[{}]", payment["payload"]["transaction"]), Reason::RailBroadcast),
        (payment.to_string(), Reason::PaymentSchemeNotAllowed),
    ] {
        assert_eq!(body(rails, "/x", &text), Some(reason), "{text}");
    }
}

#[test]
fn a_captured_payment_over_mcp_comes_out_and_one_over_mpp_is_refused() {
    let rails = rails();
    let (parts, headers, body) = paying_request(&load("mcp-v2-exact-evm-py"));
    assert_eq!(rails.scheme(&headers), None);
    let carried = rails.in_body(&parts.path, &body).unwrap().unwrap();
    assert_eq!(carried.call, Call::Tool("weather".into()));
    assert!(carried.payment.starts_with(r#"{"x402Version":2,"#) && carried.payment.ends_with('}'));
    let (_, headers, _) = paying_request(&load("mpp-payment-auth-evm-js"));
    assert_eq!(rails.scheme(&headers).map(|hit| hit.reason), Some(Reason::RailPaymentScheme));
}

#[test]
fn hits_show_nothing_of_the_request() {
    let rails = rails();
    let secret = "0xdeadbeefdeadbeef";
    let hit = rails
        .in_body(
            "/",
            format!(r#"{{"method":"eth_sendRawTransaction","params":["{secret}"]}}"#).as_bytes(),
        )
        .unwrap_err();
    assert!(!format!("{hit:?} {hit}").contains("deadbeef"));
}

proptest! {
    #[test]
    fn any_body_is_looked_through(bytes in prop::collection::vec(any::<u8>(), 0..300), path in "/[a-z/]{0,10}") {
        let _ = rails().in_body(&path, &bytes);
    }

    // However a JSON writer spells it, a broadcast is a broadcast.
    #[test]
    fn escapes_and_blanks_hide_no_method(escaped in prop::collection::vec(any::<bool>(), 28), blanks in "[ \t\r\n]{0,3}") {
        let mut bits = escaped.into_iter();
        let mut spell = |text: &str| -> String {
            text.chars().map(|c| if bits.next() == Some(true) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }).collect()
        };
        let text = format!("{blanks}{{{blanks}\"{}\"{blanks}:{blanks}\"{}\"{blanks}}}{blanks}", spell("method"), spell("eth_sendRawTransaction"));
        prop_assert_eq!(body(rails(), "/", &text), Some(Reason::RailBroadcast));
    }
}

// What a writer escapes only for HTML costs no reading, and hides nothing else.
#[test]
fn escapes_of_what_is_in_no_word_cause_no_reading() {
    for (escaped, read) in [
        ("\\u003cb\\u003e \\u0026 \\u0027", false),
        ("\\u003CB\\u003E", false),
        ("caf\\u00e9 \\u2019", false),
        ("\\u003cb \\u0065th_call", true),
        ("\\u003", true),
        ("\\u003x", true),
        ("\\u005cu0078402", true),
        ("\\u0022paymentPayload\\u0022", true),
        ("\\u00257B", true),
    ] {
        assert_eq!(
            rails().triggers.any(format!("{{\"a\":\"{escaped}\"}}").as_bytes()),
            read,
            "{escaped}"
        );
    }
    let hidden = r#"{"html":"\u003cb\u003e","method":"\u0065th_sendRawTransaction"}"#;
    assert_eq!(body(rails(), "/", hidden), Some(Reason::RailBroadcast));
}

#[test]
fn utf_32_and_raw_nuls_hide_no_call() {
    let rails = Rails::new(&RailsConfig::default()).unwrap();
    let text = r#"{"method":"eth_sendRawTransaction"}"#;
    let little: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    let big: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
    let marked = [b"\xff\xfe\0\0".as_slice(), &little].concat();
    for body in [little, big, marked, b"{\"a\":\"\0\"}".to_vec()] {
        assert_eq!(
            rails.in_body("/", &body).err().map(|hit| hit.reason),
            Some(Reason::UninspectableTraffic),
            "{body:?}"
        );
    }
}

#[test]
fn broadcasts_of_every_namespace_are_seen() {
    let rails = Rails::new(&RailsConfig::default()).unwrap();
    let seen = [
        "zks_sendRawTransactionWithDetailedOutput",
        "kaia_sendRawTransaction",
        "realtime_sendRawTransaction",
        "hmy_sendRawStakingTransaction",
        "bor_sendRawTransactionConditional",
        "sendRawTransaction",
        "send_raw_transaction",
        "icx_sendTransaction",
        "rundler_sendUserOperation",
        "alchemy_sendPrivateTransaction",
        "account_signTransaction",
        "signAllTransactions",
        "signrawtransactionwithkey",
        "iota_executeTransactionBlock",
        "theta.BroadcastRawTransaction",
        "avm.issueTx",
        "Filecoin.MpoolPush",
        "blockchain.transaction.broadcast",
        "eth_resend",
        "submitpackage",
    ];
    for method in seen {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":["0x02"]}}"#);
        let reason = rails.in_body("/", body.as_bytes()).err().map(|hit| hit.reason);
        assert_eq!(reason, Some(Reason::RailBroadcast), "{method}");
    }
    for method in [
        "eth_call",
        "eth_getTransactionByHash",
        "getTransaction",
        "tools/call",
        "message/send",
        "getTransactionReceipt",
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":["0x02"]}}"#);
        assert_eq!(rails.in_body("/", body.as_bytes()).err().map(|hit| hit.reason), None, "{method}");
    }
}

#[test]
fn a_broadcast_in_the_query_is_a_broadcast() {
    let rails = Rails::new(&RailsConfig::default()).unwrap();
    let reason = |query: &str| rails.query(query).map(|hit| hit.reason);
    for query in [
        "module=proxy&action=eth_sendRawTransaction&hex=0x02",
        "method=eth_sendRawTransaction&params=[]&id=1",
        "METHOD=eth_send%52awTransaction",
        "method=eth_chainId&method=eth_sendRawTransaction",
    ] {
        assert_eq!(reason(query), Some(Reason::RailBroadcast), "{query}");
    }
    for query in ["method=eth_call", "q=eth_sendRawTransaction", "action=query", ""] {
        assert_eq!(reason(query), None, "{query}");
    }
}
