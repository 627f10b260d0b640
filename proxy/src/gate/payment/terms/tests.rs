#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use serde_json::{Value, json};

use super::super::stanza::{validate_stanza, validate_stanza_with};
use super::*;
use crate::x402::claim::EvmAddress;

const BASE_USDC: &str = "eip155:8453/0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const SOLANA: &str = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
const SEPOLIA_USDC: &str = "eip155:84532/0x036CbD53842c5426634e7929541eC2318f3dCF7e";

fn config(value: Value) -> PaymentsConfig {
    serde_json::from_value(value).unwrap()
}

fn assets(terms: &Terms) -> Vec<(u64, String)> {
    terms
        .assets()
        .map(|allowed| match allowed.asset.network {
            Caip2::Eip155 { chain_id } => (chain_id, allowed.max_amount.to_string()),
            Caip2::Solana(_) => (0, allowed.max_amount.to_string()),
        })
        .collect()
}

#[test]
fn defaults_are_usdc_on_base_and_its_test_network_up_to_one() {
    let terms = Terms::operator(&PaymentsConfig::default()).unwrap();
    assert_eq!(assets(&terms), [(8453, "1000000".to_owned()), (84_532, "1000000".to_owned())]);
    assert_eq!(
        (terms.payees, terms.payers, terms.http_resource),
        (None, None, HttpResource::Refused)
    );
}

#[test]
fn paying_only_what_is_pinned_needs_pins() {
    let mistakes = |value: Value| Terms::operator(&config(value)).err().map(|errors| errors[0].pointer.clone());
    let pin =
        json!({ "method": "POST", "url": "https://s.example/p", "payTo": "0x209693bc6afc0c5328ba36faf03c514ef312287c", "amount": "0.01" });
    assert_eq!(mistakes(json!({ "pinned_only": true })), Some("/pinned_only".to_owned()));
    assert_eq!(mistakes(json!({ "pinned_only": true, "pins": [pin] })), None);
    assert_eq!(mistakes(json!({ "pinned_only": false })), None);
}

#[test]
fn a_stanza_narrows_or_settles_but_never_opens() {
    let none = json!({});
    for (operator, stanza, expected) in [
        (none.clone(), json!({"networks": ["eip155:8453"]}), vec![(8453, "1000000")]),
        (
            none.clone(),
            json!({"max_amount": "5"}),
            vec![(8453, "5000000"), (84_532, "5000000")],
        ),
        (
            json!({"max_amount": "2"}),
            json!({"max_amount": "5"}),
            vec![(8453, "2000000"), (84_532, "2000000")],
        ),
        (
            json!({"max_amount": "5"}),
            json!({"max_amount": "2"}),
            vec![(8453, "2000000"), (84_532, "2000000")],
        ),
        (
            json!({"networks": ["eip155:8453"]}),
            json!({"networks": ["eip155:8453", "eip155:137"]}),
            vec![(8453, "1000000")],
        ),
        (json!({"networks": ["eip155:8453"]}), json!({"networks": ["eip155:137"]}), vec![]),
        (json!({"assets": [BASE_USDC]}), json!({"assets": [SEPOLIA_USDC]}), vec![]),
        (
            json!({"assets": [BASE_USDC]}),
            json!({"networks": ["eip155:8453", "eip155:84532"]}),
            vec![(8453, "1000000")],
        ),
        (none.clone(), json!({"networks": ["eip155:137"]}), vec![(137, "1000000")]),
    ] {
        let shown = format!("{operator} + {stanza}");
        let terms = Terms::narrowed(&config(operator), &config(stanza)).unwrap();
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(chain, max): (u64, &str)| (chain, max.to_owned()))
            .collect();
        assert_eq!(assets(&terms), expected, "{shown}");
    }
    let payee = |n: u8| format!("0x{}", hex::encode([n; 20]));
    let both = Terms::narrowed(
        &config(json!({"payees": [payee(1), payee(2)]})),
        &config(json!({"payees": [payee(2), payee(3)]})),
    )
    .unwrap();
    assert_eq!(both.payees, Some([Address::Evm(EvmAddress([2; 20]))].into()));
    let disjoint = Terms::narrowed(&config(json!({"payees": [payee(1)]})), &config(json!({"payees": [payee(3)]}))).unwrap();
    assert_eq!(disjoint.payees, Some(BTreeSet::new()), "nobody, not anybody");
    for (operator, stanza, expected) in [
        (none.clone(), none.clone(), HttpResource::Refused),
        (none.clone(), json!({"allow_http_resource": true}), HttpResource::Allowed),
        (
            json!({"allow_http_resource": false}),
            json!({"allow_http_resource": true}),
            HttpResource::Refused,
        ),
        (
            json!({"allow_http_resource": true}),
            json!({"allow_http_resource": false}),
            HttpResource::Refused,
        ),
    ] {
        assert_eq!(Terms::narrowed(&config(operator), &config(stanza)).unwrap().http_resource, expected);
    }
    let times = Terms::narrowed(
        &config(json!({"max_timeout": "2m", "clock_skew": "1s"})),
        &config(json!({"max_timeout": "5m", "clock_skew": "5s"})),
    )
    .unwrap();
    assert_eq!((times.max_timeout, times.clock_skew), (120, 1));
}

#[test]
fn every_mistake_in_a_stanza_is_reported_with_its_place() {
    let pointers = |value: Value| -> Vec<String> {
        let mut pointers: Vec<String> = validate_stanza(&value)
            .unwrap_err()
            .into_iter()
            .map(|(pointer, _)| pointer)
            .collect();
        pointers.sort();
        pointers
    };
    for (stanza, expected) in [
        (json!({"max_amout": "1", "network": []}), vec!["/max_amout", "/network"]),
        (json!({"a/b~": 1}), vec!["/a~1b~0"]),
        (json!({"max_amount": 1.0}), vec!["/max_amount"]),
        (json!({"max_amount": "1e3"}), vec!["/max_amount"]),
        (json!({"max_amount": "0.0000001"}), vec!["/max_amount", "/max_amount"]),
        (
            json!({"networks": ["base", "eip155:1"], "payees": ["vitalik.eth"]}),
            vec!["/networks/0", "/payees/0"],
        ),
        (json!({"networks": []}), vec!["/networks"]),
        (
            json!({"assets": ["eip155:8453/0x0000000000000000000000000000000000000001"]}),
            vec!["/assets/0"],
        ),
        (
            json!({"assets": ["eip155:143/0x754704Bc059F8C67012fEd69BC8A327a5aafb603"]}),
            vec!["/assets/0"],
        ),
        (
            json!({"schemes": ["exact", "up-to", "batch-settlement"]}),
            vec!["/schemes/1", "/schemes/2"],
        ),
        (json!({"schemes": []}), vec!["/schemes"]),
        (json!({"schemes": "exact"}), vec!["/schemes"]),
        (
            json!({"allow_extensions": ["bazaar", "sign-in-with-x"], "allow_smart_wallets": "yes"}),
            vec!["/allow_smart_wallets"],
        ),
        (
            json!({"allow_extensions": ["bazaar", "sign-in-with-x"]}),
            vec!["/allow_extensions/0"],
        ),
        (json!({"networks": [SOLANA]}), vec!["/networks/0"]),
        (json!({"networks": ["solana:devnet", "eip155:8453"]}), vec!["/networks/0"]),
        (
            json!({"schemes": ["exact-svm"], "networks": [SOLANA, "eip155:8453"]}),
            vec!["/networks/1"],
        ),
        (
            json!({"assets": ["solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp/EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"]}),
            vec!["/assets/0"],
        ),
        (
            json!({"schemes": ["exact-svm"], "assets": ["solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp/EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1V"]}),
            vec!["/assets/0"],
        ),
        (
            json!({"payees": ["2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg0"]}),
            vec!["/payees/0"],
        ),
        (json!({"require_challenge": "no"}), vec!["/require_challenge"]),
        (json!({"max_timeout": "5"}), vec!["/max_timeout"]),
        (json!({"clock_skew": "6m"}), vec!["/clock_skew"]),
        (
            json!({"pins": [{"method": "get", "url": "https://a.test/", "payTo": "0x01", "amount": "1"}]}),
            vec!["/pins/0/method"],
        ),
        (json!({"pins": [{"method": "GET"}]}), vec!["/pins"]),
        (
            json!({"asset_definitions": [{"network": "eip155:1", "address": "0x0000000000000000000000000000000000000001", "decimals": 0, "name": "", "version": ""}]}),
            vec!["/asset_definitions"],
        ),
        (json!([]), vec![""]),
    ] {
        assert_eq!(pointers(stanza.clone()), expected, "{stanza}");
    }
    for good in [
        json!(null),
        json!({}),
        json!({"schemes": ["exact", "exact-permit2", "upto", "exact-svm"], "allow_extensions": [], "allow_smart_wallets": true}),
        json!({"schemes": ["exact-permit2"], "assets": ["eip155:143/0x754704Bc059F8C67012fEd69BC8A327a5aafb603"]}),
        json!({"schemes": ["exact-svm"], "networks": [SOLANA], "payees": ["2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4"]}),
        json!({"networks": ["eip155:8453"], "assets": [BASE_USDC], "max_amount": "1.00", "payees": [], "pins": [], "require_challenge": false, "max_timeout": "60s"}),
    ] {
        assert!(validate_stanza(&good).is_ok(), "{good}");
    }
}

#[test]
fn a_challenge_is_required_unless_all_who_speak_of_it_do_without() {
    let cases = [
        (None, None, ChallengeRule::Required),
        (Some(false), None, ChallengeRule::Optional),
        (None, Some(false), ChallengeRule::Optional),
        (Some(false), Some(true), ChallengeRule::Required),
        (Some(true), Some(false), ChallengeRule::Required),
    ];
    for (operator, stanza, expected) in cases {
        let config = |required| PaymentsConfig {
            require_challenge: required,
            ..PaymentsConfig::default()
        };
        let terms = Terms::narrowed(&config(operator), &config(stanza)).unwrap();
        assert_eq!(terms.challenge(), expected, "{operator:?} {stanza:?}");
    }
}

#[test]
fn the_operator_can_add_an_asset_and_a_stanza_may_name_it() {
    let address = "0x754704Bc059F8C67012fEd69BC8A327a5aafb603";
    let operator = config(
        json!({"asset_definitions": [{"network": "eip155:143", "address": address, "decimals": 6, "name": "USDC", "version": "2"}]}),
    );
    let stanza = json!({"assets": [format!("eip155:143/{address}")], "max_amount": "0.5"});
    let stanza = validate_stanza_with(&stanza, &operator).unwrap();
    assert_eq!(assets(&Terms::narrowed(&operator, &stanza).unwrap()), [(143, "500000".to_owned())]);
    let broken =
        config(json!({"asset_definitions": [{"network": "eip155:x", "address": "0x", "decimals": 78, "name": "", "version": ""}]}));
    let pointers: Vec<_> = Terms::operator(&broken)
        .unwrap_err()
        .into_iter()
        .map(|error| error.pointer)
        .collect();
    assert_eq!(
        pointers,
        [
            "/asset_definitions/0/decimals",
            "/asset_definitions/0/network",
            "/asset_definitions/0/address"
        ]
    );
}

#[test]
fn a_defined_asset_is_of_one_kind() {
    let mint = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4";
    let contract = "0x0000000000000000000000000000000000000001";
    for (definition, expected) in [
        (json!({"network": SOLANA, "address": mint}), None),
        (json!({"network": SOLANA, "address": mint, "token_program": "token-2022"}), None),
        (
            json!({"network": SOLANA, "address": mint, "token_program": "erc-20"}),
            Some("token_program"),
        ),
        (
            json!({"network": SOLANA, "address": mint, "name": "X", "version": "1"}),
            Some("name"),
        ),
        (json!({"network": SOLANA, "address": contract}), Some("address")),
        (json!({"network": "eip155:1", "address": mint}), Some("address")),
        (json!({"network": "eip155:1", "address": contract}), None),
        (
            json!({"network": "eip155:1", "address": contract, "name": "X", "version": "1"}),
            None,
        ),
        (json!({"network": "eip155:1", "address": contract, "name": "X"}), Some("name")),
        (
            json!({"network": "eip155:1", "address": contract, "token_program": "spl-token"}),
            Some("token_program"),
        ),
    ] {
        let mut definition = definition;
        definition["decimals"] = json!(6);
        let errors = Terms::operator(&config(json!({ "asset_definitions": [definition] })))
            .err()
            .unwrap_or_default();
        let pointers: Vec<_> = errors.into_iter().map(|error| error.pointer).collect();
        let expected: Vec<_> = expected
            .into_iter()
            .map(|member| format!("/asset_definitions/0/{member}"))
            .collect();
        assert_eq!(pointers, expected, "{definition}");
    }
}

#[test]
fn schemes_and_powers_need_everybody_who_speaks_of_them() {
    let names = |terms: &Terms| -> Vec<String> {
        let Enabled { schemes, extensions, .. } = terms.enabled();
        schemes
            .iter()
            .map(ToString::to_string)
            .chain(extensions.iter().map(ToString::to_string))
            .collect()
    };
    let none = json!({});
    for (operator, stanza, expected) in [
        (none.clone(), none.clone(), vec!["exact"]),
        (json!({"schemes": ["exact", "upto"]}), none.clone(), vec!["exact", "upto"]),
        (none.clone(), json!({"schemes": ["upto"]}), vec!["upto"]),
        (
            json!({"schemes": ["exact", "upto"]}),
            json!({"schemes": ["exact-permit2", "upto"]}),
            vec!["upto"],
        ),
        (json!({"schemes": ["exact"]}), json!({"schemes": ["upto"]}), vec![]),
        (
            json!({"allow_extensions": ["sign-in-with-x", "eip2612GasSponsoring"]}),
            json!({"allow_extensions": ["sign-in-with-x"]}),
            vec!["exact", "sign-in-with-x"],
        ),
        (
            json!({"allow_extensions": []}),
            json!({"allow_extensions": ["sign-in-with-x"]}),
            vec!["exact"],
        ),
    ] {
        let shown = format!("{operator} + {stanza}");
        let terms = Terms::narrowed(&config(operator), &config(stanza)).unwrap();
        assert_eq!(names(&terms), expected, "{shown}");
    }
    for (operator, stanza, expected) in [
        (None, None, ContractWallets::Refused),
        (Some(true), None, ContractWallets::Allowed),
        (None, Some(true), ContractWallets::Allowed),
        (Some(false), Some(true), ContractWallets::Refused),
        (Some(true), Some(false), ContractWallets::Refused),
    ] {
        let config = |allowed| PaymentsConfig {
            allow_smart_wallets: allowed,
            ..PaymentsConfig::default()
        };
        let terms = Terms::narrowed(&config(operator), &config(stanza)).unwrap();
        assert_eq!(terms.enabled().contract_wallets, expected, "{operator:?} {stanza:?}");
    }
}

#[test]
fn a_stanza_with_fewer_schemes_narrows_what_the_operator_lists() {
    let monad = "eip155:143/0x754704Bc059F8C67012fEd69BC8A327a5aafb603";
    let operator = config(json!({"schemes": ["exact", "exact-permit2"], "assets": [BASE_USDC, monad]}));
    assert_eq!(assets(&Terms::operator(&operator).unwrap()).len(), 2);
    let terms = Terms::narrowed(&operator, &config(json!({"schemes": ["exact"]}))).unwrap();
    assert_eq!(assets(&terms), [(8453, "1000000".to_owned())], "no domain, no EIP-3009");
}

#[test]
fn what_is_about_the_whole_process_is_not_the_policy_author_s() {
    for (field, value) in [("store", json!("/tmp/elsewhere")), ("rate", json!({ "per_payee": 100_000 }))] {
        let errors = validate_stanza(&json!({ field: value })).unwrap_err();
        let expected = (format!("/{field}"), "only the operator's tollgate.yaml can say this".to_owned());
        assert_eq!(errors, [expected]);
    }
}
