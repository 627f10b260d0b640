//! Allowances for the Permit2 contract that ride along with a payment, and wallet sign-ins: refused unless switched on, and then only as what
//! they say they are.

use alloy_rlp::{Encodable, Header};
use ruint::aliases::U256;
use serde_json::{Value, json};
use sha3::Keccak256;

use super::wallets::*;
use super::*;
use crate::x402::claim::EvmAddress;
use crate::x402::eip712::permit::Permit;
use crate::x402::eip712::permit2::PERMIT2;

const UNLIMITED: &str = "115792089237316195423570985008687907853269984665640564039457584007913129639935";

fn terms_with(extensions: &[&str]) -> Terms {
    terms(json!({ "schemes": ["exact", "exact-permit2", "upto"], "allow_extensions": extensions }))
}

fn reason(payment: &Value, terms: &Terms) -> Option<Reason> {
    let parts = Parts::new("GET", UrlScheme::Https, "shop.test", "/paid");
    let mut headers = HeaderMap::new();
    headers.insert("payment-signature", HeaderValue::from_str(&encode(payment)).unwrap());
    judge_header(find(&headers), &parts.request(), terms, NOW)
        .err()
        .map(|refusal| refusal.reason)
}

fn payment() -> Value {
    let account = Account::new(7);
    permit2(&account, "exact", &authorization(&account, EXACT_PROXY, "10000"))
}

/// `eip2612GasSponsoring` as the SDKs fill it in, by the rules of EIP-2612.
fn sponsored(spender: EvmAddress, deadline: u64, signer: &Account) -> Value {
    let permit = Permit {
        owner: Account::new(7).address(),
        spender,
        value: UNLIMITED.parse().unwrap(),
        nonce: U256::ZERO,
        deadline: U256::from(deadline),
    };
    let terms = default_terms();
    let domain = terms
        .assets()
        .find(|allowed| allowed.asset.network.to_string() == "eip155:84532")
        .unwrap()
        .domains
        .token
        .unwrap();
    json!({
        "info": {
            "description": "The facilitator accepts EIP-2612 gasless Permit to Permit2 canonical contract.", "version": "1",
            "from": permit.owner.to_string(), "asset": USDC, "spender": spender.to_string(), "amount": UNLIMITED, "nonce": "0",
            "deadline": deadline.to_string(), "signature": signer.sign(&permit.digest(&domain)),
        },
        "schema": { "type": "object", "properties": { "signature": { "type": "string" }, "signedTransaction": { "type": "string" } } },
    })
}

/// `erc20ApprovalGasSponsoring`: the transaction with these fields, signed.
fn approved(signer: &Account, chain_id: u64, to: EvmAddress, value: u64, data: &[u8], access: &[u8]) -> String {
    let mut fields = Vec::new();
    for number in [chain_id, 0, 1_000_000, 100_000_000, 70_000] {
        number.encode(&mut fields);
    }
    to.0.as_slice().encode(&mut fields);
    value.encode(&mut fields);
    data.encode(&mut fields);
    fields.extend(access);
    let list = |fields: &[u8]| {
        let mut bytes = vec![2];
        Header {
            list: true,
            payload_length: fields.len(),
        }
        .encode(&mut bytes);
        bytes.extend(fields);
        bytes
    };
    let (signature, odd) = signer.sign_parts(&Keccak256::digest(list(&fields)).into());
    u8::from(odd).encode(&mut fields);
    for number in signature.chunks(32) {
        let short: Vec<u8> = number.iter().copied().skip_while(|byte| *byte == 0).collect();
        short.as_slice().encode(&mut fields);
    }
    format!("0x{}", hex::encode(list(&fields)))
}

fn approve(spender: EvmAddress, amount: &str) -> Vec<u8> {
    let amount: U256 = amount.parse().unwrap();
    [&b"\x09\x5e\xa7\xb3"[..], &[0; 12], &spender.0, &amount.to_be_bytes::<32>()].concat()
}

fn usdc() -> EvmAddress {
    EvmAddress::parse(USDC).unwrap()
}

fn stranger() -> EvmAddress {
    EvmAddress::parse(STRANGER).unwrap()
}

fn approval(transaction: &str) -> Value {
    json!({ "info": {
        "from": Account::new(7).address().to_string(), "asset": USDC, "spender": PERMIT2.to_string(), "amount": UNLIMITED,
        "signedTransaction": transaction, "version": "1",
    }})
}

#[test]
fn an_allowance_is_refused_unless_its_extension_is_switched_on() {
    let account = Account::new(7);
    let transaction = approved(&account, 84_532, usdc(), 0, &approve(PERMIT2, UNLIMITED), &[0xc0]);
    for (name, extension) in [
        ("eip2612GasSponsoring", sponsored(PERMIT2, NOW + 60, &account)),
        ("erc20ApprovalGasSponsoring", approval(&transaction)),
    ] {
        let mut payment = payment();
        payment["extensions"] = json!({ name: extension });
        let other = if name.starts_with("eip") {
            "erc20ApprovalGasSponsoring"
        } else {
            "eip2612GasSponsoring"
        };
        assert_eq!(reason(&payment, &terms_with(&[])), Some(Reason::PaymentSchemeNotAllowed), "{name}");
        assert_eq!(
            reason(&payment, &terms_with(&[other])),
            Some(Reason::PaymentSchemeNotAllowed),
            "{name}"
        );
        assert_eq!(reason(&payment, &terms_with(&[name])), None, "{name}");
        // The seller's own words, which a client that signs nothing repeats.
        payment["extensions"][name] = json!({ "info": { "description": "gasless", "version": "1" }, "schema": {} });
        assert_eq!(reason(&payment, &terms_with(&[name])), None, "{name}");
        assert_eq!(reason(&payment, &terms_with(&[])), Some(Reason::PaymentSchemeNotAllowed), "{name}");
    }
}

#[test]
fn an_allowance_by_signature_is_what_it_says() {
    use Reason as R;
    let account = Account::new(7);
    let honest = || sponsored(PERMIT2, NOW + 60, &account);
    let bent = |pointer: &str, value: Value| {
        let mut extension = honest();
        *extension.pointer_mut(pointer).unwrap() = value;
        extension
    };
    let mut surprise = honest();
    surprise["info"]["surprise"] = json!("x");
    let mut beside = honest();
    beside["surprise"] = json!({});
    for (name, extension, expected) in [
        ("honest", honest(), None),
        (
            "another spender",
            sponsored(stranger(), NOW + 60, &account),
            Some(R::PaymentMismatch),
        ),
        (
            "another spender, said to be Permit2",
            {
                let mut extension = sponsored(stranger(), NOW + 60, &account);
                extension["info"]["spender"] = json!(PERMIT2.to_string());
                extension
            },
            Some(R::PaymentMismatch),
        ),
        (
            "another signer",
            sponsored(PERMIT2, NOW + 60, &Account::new(8)),
            Some(R::PaymentMismatch),
        ),
        ("another owner", bent("/info/from", json!(STRANGER)), Some(R::PaymentMismatch)),
        ("another token", bent("/info/asset", json!(STRANGER)), Some(R::PaymentMismatch)),
        ("another amount", bent("/info/amount", json!("1")), Some(R::PaymentMismatch)),
        ("another nonce", bent("/info/nonce", json!("1")), Some(R::PaymentMismatch)),
        (
            "for longer than the payment",
            sponsored(PERMIT2, NOW + 61, &account),
            Some(R::PaymentMismatch),
        ),
        ("an amount as a number", bent("/info/amount", json!(1)), Some(R::PaymentMalformed)),
        (
            "a contract wallet's",
            bent("/info/signature", json!(format!("0x{}", "11".repeat(90)))),
            Some(R::PaymentMalformed),
        ),
        ("an unknown member", surprise, Some(R::PaymentMalformed)),
        ("an unknown member beside", beside, Some(R::PaymentMalformed)),
        (
            "a second signature in the schema",
            bent("/schema/type", json!(format!("0x{}", "11".repeat(65)))),
            Some(R::PaymentMalformed),
        ),
        (
            "a second signature in the words",
            bent("/info/description", json!(format!("0x{}", "11".repeat(65)))),
            Some(R::PaymentMalformed),
        ),
        ("no object", json!("x"), Some(R::PaymentMalformed)),
    ] {
        let mut payment = payment();
        payment["extensions"] = json!({ "eip2612GasSponsoring": extension });
        assert_eq!(reason(&payment, &terms_with(&["eip2612GasSponsoring"])), expected, "{name}");
    }
    let vector = load("v2-exact-evm-eip3009-py-requests-get");
    let (parts, headers, _) = paying_request(&vector);
    let mut document: Value = serde_json::from_slice(&STANDARD.decode(&headers["payment-signature"]).unwrap()).unwrap();
    document["extensions"] = json!({ "eip2612GasSponsoring": honest() });
    let outcome = judge_header(
        find(&header(&document)),
        &parts.request(),
        &terms_with(&["eip2612GasSponsoring"]),
        captured_at(&vector),
    );
    assert_eq!(
        outcome.unwrap_err().reason,
        R::PaymentSchemeNotAllowed,
        "with a payment that needs none"
    );
}

#[test]
fn an_allowance_by_transaction_is_what_it_says() {
    use Reason as R;
    let account = Account::new(7);
    let call = approve(PERMIT2, UNLIMITED);
    let honest = approved(&account, 84_532, usdc(), 0, &call, &[0xc0]);
    let transfer = [&b"\xa9\x05\x9c\xbb"[..], &call[4..]].concat();
    let longer = [&call[..], &[0]].concat();
    for (name, transaction, expected) in [
        ("honest", honest.clone(), None),
        (
            "another chain",
            approved(&account, 8453, usdc(), 0, &call, &[0xc0]),
            Some(R::PaymentMismatch),
        ),
        (
            "another contract",
            approved(&account, 84_532, stranger(), 0, &call, &[0xc0]),
            Some(R::PaymentMismatch),
        ),
        (
            "with coins",
            approved(&account, 84_532, usdc(), 1, &call, &[0xc0]),
            Some(R::PaymentMismatch),
        ),
        (
            "another spender",
            approved(&account, 84_532, usdc(), 0, &approve(stranger(), UNLIMITED), &[0xc0]),
            Some(R::PaymentMismatch),
        ),
        (
            "another amount",
            approved(&account, 84_532, usdc(), 0, &approve(PERMIT2, "1"), &[0xc0]),
            Some(R::PaymentMismatch),
        ),
        (
            "a transfer",
            approved(&account, 84_532, usdc(), 0, &transfer, &[0xc0]),
            Some(R::PaymentMismatch),
        ),
        (
            "a longer call",
            approved(&account, 84_532, usdc(), 0, &longer, &[0xc0]),
            Some(R::PaymentMismatch),
        ),
        (
            "another signer",
            approved(&Account::new(8), 84_532, usdc(), 0, &call, &[0xc0]),
            Some(R::PaymentMismatch),
        ),
        (
            "an access list",
            approved(&account, 84_532, usdc(), 0, &call, &[0xc1, 0xc0]),
            Some(R::PaymentMalformed),
        ),
        ("trailing bytes", format!("{honest}00"), Some(R::PaymentMalformed)),
        ("cut off", honest[..honest.len() - 2].to_owned(), Some(R::PaymentMalformed)),
        ("another kind", honest.replacen("0x02", "0x03", 1), Some(R::PaymentMalformed)),
        ("no hex", "0x02zz".to_owned(), Some(R::PaymentMalformed)),
        ("nothing", "0x02".to_owned(), Some(R::PaymentMalformed)),
    ] {
        let mut payment = payment();
        payment["extensions"] = json!({ "erc20ApprovalGasSponsoring": approval(&transaction) });
        assert_eq!(reason(&payment, &terms_with(&["erc20ApprovalGasSponsoring"])), expected, "{name}");
    }
}

#[test]
fn a_sign_in_leaves_only_where_it_is_switched_on_and_never_beside_a_payment() {
    let document = json!({
        "domain": "shop.test", "address": STRANGER, "uri": URL, "version": "1", "chainId": "eip155:8453", "type": "eip191",
        "nonce": "0123456789abcdef", "issuedAt": "2026-11-30T21:21:09Z", "signature": format!("0x{}1b", "11".repeat(64)),
    });
    let judged = |host: &str, more: Option<String>, terms: &Terms| {
        let parts = Parts::new("GET", UrlScheme::Https, host, "/paid");
        let mut headers = HeaderMap::new();
        headers.insert("sign-in-with-x", HeaderValue::from_str(&encode(&document)).unwrap());
        if let Some(payment) = more {
            headers.insert("payment-signature", HeaderValue::from_str(&payment).unwrap());
        }
        judge_header(find(&headers), &parts.request(), terms, NOW)
            .map(|claim| claim.is_some())
            .map_err(|refusal| refusal.reason)
    };
    let on = terms_with(&["sign-in-with-x"]);
    assert_eq!(judged("shop.test", None, &default_terms()), Err(Reason::PaymentSchemeNotAllowed));
    assert_eq!(
        judged("shop.test", None, &on),
        Ok(false),
        "no payment, and nothing to ask a verdict for"
    );
    assert_eq!(
        judged("bank.test", None, &on),
        Err(Reason::PaymentMismatch),
        "a sign-in for another site"
    );
    assert_eq!(
        judged("shop.test", Some(encode(&payment())), &on),
        Err(Reason::PaymentSchemeNotAllowed)
    );
    // Clients repeat what the seller says of it in their payments.
    let mut payment = payment();
    payment["extensions"] = json!({ "sign-in-with-x": { "info": { "domain": "shop.test" }, "supportedChains": [] } });
    assert_eq!(reason(&payment, &on), None);
    assert_eq!(reason(&payment, &terms_with(&[])), Some(Reason::PaymentSchemeNotAllowed));
    payment["extensions"]["sign-in-with-x"]["info"] = payment["payload"].clone();
    assert_eq!(reason(&payment, &on), Some(Reason::PaymentConflicting), "a second payment in it");
}
