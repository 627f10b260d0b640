//! Payments in bodies that are not JSON: forms, multipart, text, JSON for lenient readers. Each leaves through a way in which ordinary
//! uploads leave as well, which the last tests hold against it.

use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tollgate_tests::answer::Rows;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::solana::{Keypair, Transfer};
use tollgate_tests::payment::{self, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::scripted::Scripted;
use tollgate_tests::tollgate::Setup;

use super::{generous, url, v2};

const FORM: &str = "application/x-www-form-urlencoded";
const PARTS: &str = "multipart/form-data; boundary=XX";

/// What every form's writer makes of a value.
fn form_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        match byte {
            b' ' => encoded.push('+'),
            _ if byte.is_ascii_alphanumeric() || b"-_.*".contains(&byte) => encoded.push(char::from(byte)),
            _ => write!(encoded, "%{byte:02X}").unwrap(),
        }
        encoded
    })
}

fn parts(fields: &[(&str, &str)]) -> String {
    let mut body = String::new();
    for (name, value) in fields {
        write!(body, "--XX\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n").unwrap();
    }
    body + "--XX--\r\n"
}

/// In the lines of 76 that MIME has.
fn in_lines(text: &str) -> String {
    let lines: Vec<&str> = (0..text.len()).step_by(76).map(|at| &text[at..text.len().min(at + 76)]).collect();
    lines.join("\r\n")
}

fn flat(payment: &Value) -> Vec<(&str, &str)> {
    let payload = &payment["payload"];
    let signed = payload["authorization"].as_object().unwrap();
    let fields = signed.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap()));
    fields.chain([("signature", payload["signature"].as_str().unwrap())]).collect()
}

fn form(fields: &[(&str, &str)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", form_encoded(value)))
        .collect();
    fields.join("&")
}

/// Name, type, body, reason.
type Case = (&'static str, &'static str, String, &'static str);

fn cases(url: &str) -> Vec<Case> {
    const SCHEME: &str = "payment_scheme_not_allowed";
    const BROADCAST: &str = "rail_broadcast";
    let payment = v2(url);
    let (text, in_base64) = (payment.to_string(), encode(&payment));
    let transaction = Keypair::default().v2(url, &Transfer::default())["payload"]["transaction"]
        .as_str()
        .unwrap()
        .to_owned();
    let in_base58 = bs58::encode(STANDARD.decode(&transaction).unwrap()).into_string();
    let parameters = |transaction: &str| json!([transaction, { "skipPreflight": true }]).to_string();
    vec![
        ("JSON in a form", FORM, form(&[("a", "1"), ("payment", &text)]), SCHEME),
        ("JSON in a form, unencoded", FORM, format!("payment={text}"), SCHEME),
        ("base64 in a form", FORM, form(&[("payment", &in_base64), ("b", "2")]), SCHEME),
        (
            "a form encoded twice",
            FORM,
            form(&[("form", &form(&[("payment", &text.replace('V', "\\u0056"))]))]),
            BROADCAST,
        ),
        (
            "a letter encoded",
            FORM,
            form(&[("payment", &text)]).replace("x402Version", "%78402%56ersion"),
            BROADCAST,
        ),
        ("the signed fields in a form", FORM, form(&flat(&payment)), BROADCAST),
        ("the signed fields in parts", PARTS, parts(&flat(&payment)), BROADCAST),
        ("JSON in a part", PARTS, parts(&[("note", "hello"), ("payment", &text)]), SCHEME),
        (
            "base64 in a part, in lines",
            PARTS,
            parts(&[("payment", &in_lines(&in_base64))]),
            SCHEME,
        ),
        ("base64 as text", "text/plain", in_base64.clone(), SCHEME),
        ("a header line as text", "text/plain", format!("X-PAYMENT: {in_base64}\n"), SCHEME),
        ("a transaction in a form", FORM, form(&[("tx", &transaction)]), BROADCAST),
        (
            "a transaction in a part, in lines",
            PARTS,
            parts(&[("tx", &in_lines(&transaction))]),
            BROADCAST,
        ),
        ("a transaction as text", "text/plain", transaction.clone(), BROADCAST),
        (
            "a transaction with PHP's slashes",
            FORM,
            format!("tx={}", parameters(&transaction).replace('/', "\\/")),
            BROADCAST,
        ),
        ("a transaction in base58 in a form", FORM, form(&[("tx", &in_base58)]), BROADCAST),
        ("a transaction in base58 in a part", PARTS, parts(&[("tx", &in_base58)]), BROADCAST),
        ("a transaction in base58 as text", "text/plain", format!("{in_base58}\n"), BROADCAST),
        (
            "a transaction in base58 in JSON",
            "application/json",
            parameters(&in_base58),
            BROADCAST,
        ),
        (
            "a transaction in base58 in JSON, escaped",
            "application/json",
            parameters(&in_base58).replace('A', "\\u0041"),
            BROADCAST,
        ),
    ]
}

/// Behind one or two encodings more than sellers undo, and the payments of other rails.
fn layered(url: &str) -> Vec<Case> {
    const SCHEME: &str = "payment_scheme_not_allowed";
    const RAIL: &str = "rail_payment_scheme";
    let payment = v2(url);
    let in_base64 = encode(&payment);
    let (hex, hex_of_base64, twice) = (
        hex::encode(payment.to_string()),
        hex::encode(&in_base64),
        STANDARD.encode(&in_base64),
    );
    let signed = STANDARD.encode(STANDARD.encode(payment["payload"].to_string()));
    let challenge = json!({ "id": "x7", "realm": "shop", "method": "stripe", "intent": "charge", "request": "eyJhIjoxfQ" });
    let credential = json!({ "challenge": challenge, "payload": { "spt": "spt_".to_owned() + &"1".repeat(160) } });
    let call = json!({ "jsonrpc": "2.0", "_meta": { "org.paymentauth/credential": credential } }).to_string();
    let mandate = json!({ "ap2.mandates.PaymentMandate": { "user_authorization": "e".repeat(150) } }).to_string();
    vec![
        ("hex in a form", FORM, form(&[("a", "1"), ("payment", &hex)]), SCHEME),
        (
            "hex in a part, in lines",
            PARTS,
            parts(&[("payment", &in_lines(&hex.to_uppercase()))]),
            SCHEME,
        ),
        ("hex of base64 as text", "text/plain", format!("0x{hex_of_base64}\n"), SCHEME),
        ("hex in JSON", "application/json", json!({ "note": hex }).to_string(), SCHEME),
        ("base64 of base64 in a form", FORM, form(&[("payment", &twice), ("b", "2")]), SCHEME),
        (
            "base64 of base64 in a part, in lines",
            PARTS,
            parts(&[("payment", &in_lines(&twice))]),
            SCHEME,
        ),
        (
            "base64 of base64 in JSON",
            "application/json",
            json!({ "note": twice }).to_string(),
            SCHEME,
        ),
        ("base64 of base64 of the signed fields", FORM, form(&[("signed", &signed)]), SCHEME),
        (
            "a credential of MPP in a form",
            FORM,
            form(&[("credential", &encode(&credential))]),
            RAIL,
        ),
        ("a call with a credential of MPP in a form", FORM, form(&[("call", &call)]), RAIL),
        ("a credential of MPP in hex", "text/plain", hex::encode(encode(&credential)), RAIL),
        ("a mandate of AP2 in a form", FORM, form(&[("data", &mandate)]), RAIL),
        ("a mandate of AP2 in a part", PARTS, parts(&[("data", &mandate)]), RAIL),
    ]
}

fn lenient(url: &str) -> Vec<Case> {
    let text = v2(url).to_string();
    vec![
        (
            "JSON behind a comment",
            "application/json",
            format!("// note\n{text}"),
            SCHEME_OR_SETTLED,
        ),
        (
            "JSON behind a block comment",
            "text/plain",
            format!(" /* a */ /* b */{text}"),
            SCHEME_OR_SETTLED,
        ),
        (
            "JSON behind a prefix",
            "application/json",
            format!(")]}}'\n{text}"),
            SCHEME_OR_SETTLED,
        ),
        (
            "JSON behind a mark and a comment",
            "application/json",
            format!("\u{feff}/**/{text}"),
            SCHEME_OR_SETTLED,
        ),
        (
            "JSON in single quotes",
            "application/json",
            text.replace('"', "'"),
            SCHEME_OR_SETTLED,
        ),
        (
            "a broadcast behind a comment",
            "application/json",
            "/**/{\"method\":\"eth_sendRawTransaction\",\"params\":[\"0x02\"]}".to_owned(),
            "rail_broadcast",
        ),
    ]
}

fn every(url: &str) -> impl Iterator<Item = Case> {
    [cases(url), layered(url), lenient(url)].into_iter().flatten()
}

/// What is JSON to lenient readers only, and speaks of a payment, may be anything that one is sent for.
const SCHEME_OR_SETTLED: &str = "rail_facilitator_call";

#[tokio::test]
async fn a_payment_in_a_body_that_is_not_json() {
    let (world, peer) = generous().await;
    let mut rows = Rows::default();
    for via in [Via::AbsoluteForm, Via::TlsH1, Via::TlsH2] {
        for (name, declared, body, reason) in every(&url(&world, via)) {
            for declared in [declared, "application/octet-stream"] {
                let ask = Ask::get(world.port(via), "/log").method("POST").header("content-type", declared);
                let body = body.as_bytes();
                let answer = world.gate.fetch(via, &Ask { body, ..ask }).await;
                rows.check((name, via, declared), &answer, reason);
            }
        }
    }
    rows.assert_all_refused();
    assert!(peer.questions().is_empty());
    world.assert_untouched();
}

#[tokio::test]
async fn a_payment_in_a_compressed_form() {
    let (world, peer) = generous().await;
    for (name, declared, body, reason) in every(&url(&world, Via::TlsH1)) {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        std::io::Write::write_all(&mut encoder, body.as_bytes()).unwrap();
        let body = encoder.finish().unwrap();
        let ask = Ask::get(world.tls.port(), "/log")
            .method("POST")
            .header("content-type", declared)
            .header("content-encoding", "gzip");
        let answer = world.gate.fetch(Via::TlsH1, &Ask { body: &body, ..ask }).await;
        // As it is decoded piece by piece, what is signed may be there before what it is for.
        let found = answer.reason().unwrap_or("none");
        assert!([reason, "rail_broadcast"].contains(&found), "{name}: {found}");
    }
    assert!(peer.questions().is_empty());
    world.assert_untouched();
}

#[tokio::test]
async fn a_second_payment_in_a_form_beside_one_in_the_header() {
    let (world, peer) = generous().await;
    let payment = v2(&url(&world, Via::TlsH1));
    let body = form(&[("payment", &payment.to_string())]);
    let ask = Ask::get(world.tls.port(), "/paid")
        .method("POST")
        .header("PAYMENT-SIGNATURE", encode(&payment));
    let ask = Ask {
        body: body.as_bytes(),
        ..ask
    };
    world.gate.fetch(Via::TlsH1, &ask).await.assert_denied(403, "payment_conflicting");
    assert!(peer.questions().is_empty());
    world.assert_untouched();
}

/// An origin that keeps what it gets, and says at the end of the connection whether it was a whole request.
async fn keeps_bytes() -> (
    tollgate_tests::tollgate::Tollgate,
    Scripted,
    tokio::sync::mpsc::UnboundedReceiver<Vec<u8>>,
) {
    let authority = Authority::default();
    let (send, receive) = tokio::sync::mpsc::unbounded_channel();
    let origin = Scripted::start(Some(authority.server(HOST, Alpn::H1)), move |mut peer| {
        let send = send.clone();
        async move {
            if peer.head().await.is_none() {
                return;
            }
            let mut seen = Vec::new();
            loop {
                let piece = peer.peer.some_bytes().await;
                if piece.is_empty() {
                    break;
                }
                seen.extend_from_slice(&piece);
            }
            let _ = send.send(seen);
        }
    })
    .await;
    let gate = Setup::new(policy::open(&[origin.port()]))
        .local_host()
        .trust(&authority)
        .config(payment::settings())
        .start();
    (gate, origin, receive)
}

#[tokio::test]
async fn a_payment_behind_much_else_in_an_upload_is_never_complete_at_the_origin() {
    let (gate, origin, mut received) = keeps_bytes().await;
    let url = format!("https://{HOST}:{}/upload", origin.port());
    let transaction = Keypair::default().v2(&url, &Transfer::default());
    let in_base58 = bs58::encode(STANDARD.decode(transaction["payload"]["transaction"].as_str().unwrap()).unwrap()).into_string();
    for (name, secret, reason) in [
        ("a payment", v2(&url).to_string(), "payment_scheme_not_allowed"),
        ("in base64", encode(&v2(&url)), "payment_scheme_not_allowed"),
        ("a transaction", in_base58, "rail_broadcast"),
    ] {
        for pause in [Duration::ZERO, Duration::from_millis(120)] {
            let body = [&b"file=".repeat(60_000)[..], b"&payment=", secret.as_bytes(), b"&more=1"].concat();
            let mut h1 = gate.tls_h1(origin.port()).await;
            h1.send(format!(
                "POST /upload HTTP/1.1\r\nHost: {HOST}:{}\r\nContent-Type: {FORM}\r\nContent-Length: {}\r\n\r\n",
                origin.port(),
                body.len()
            ))
            .await;
            // The payment itself comes in two pieces.
            let (before, after) = body.split_at(body.len() - secret.len() / 2);
            let _ = h1.try_send(before).await;
            tokio::time::sleep(pause).await;
            let _ = h1.try_send(after).await;
            h1.answer("POST").await.assert_denied(403, reason);
            let seen = received.recv().await.unwrap();
            let whole = seen.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!whole && seen.len() < body.len(), "{name}: {} of {} bytes", seen.len(), body.len());
        }
    }
    gate.audited(json!({ "decision": "deny", "reason_code": "rail_broadcast", "path": "/upload" }))
        .await;
}

#[tokio::test]
async fn ordinary_forms_and_uploads_arrive() {
    let (world, _peer) = generous().await;
    let noise: Vec<u8> = std::iter::repeat_with(rand::random::<u8>).take(300_000).collect();
    let picture = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", &noise[..]].concat();
    let pack = [
        b"0098want 6c1f9d0fbf1f5c2d2f5d0ad1cd7b0f3f0e6a2f3a side-band-64k\n00000009done\nPACK\0\0\0\x02",
        &noise[..],
    ]
    .concat();
    let encoded = STANDARD.encode(&noise[..30_000]);
    let lines = in_lines(&encoded);
    let hash = hex::encode(&noise[..32]);
    let address = format!("0x{}", &hash[..40]);
    let code = format!("0x{}", hex::encode(&noise[..5_000]));
    let key = bs58::encode(&noise[..64]).into_string();
    let long = bs58::encode(&noise[..900]).into_string();
    let saml = form(&[
        ("SAMLResponse", &STANDARD.encode(&noise[..3_000])),
        ("RelayState", "https://a.example/?x=%2F"),
    ]);
    let oauth = form(&[
        ("grant_type", "authorization_code"),
        ("code", &encoded[..300]),
        ("redirect_uri", "https://a.example/cb"),
        ("code_verifier", &encoded[..128]),
    ]);
    let bodies: [(&str, &str, &[u8]); 14] = [
        ("a login", FORM, b"user=a%40example.com&password=p%20w%25d&next=%2Fhome"),
        ("OAuth", FORM, oauth.as_bytes()),
        ("SAML", FORM, saml.as_bytes()),
        (
            "an address and a hash",
            FORM,
            &form(&[("to", &address), ("hash", &hash)]).into_bytes(),
        ),
        ("Twilio", FORM, b"To=%2B15558675310&From=%2B15017122661&Body=valid+before+noon"),
        (
            "a picture in a part",
            PARTS,
            &[
                b"--XX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.png\"\r\n\r\n",
                &picture[..],
                b"\r\n--XX--\r\n",
            ]
            .concat(),
        ),
        ("a picture", "image/png", &picture),
        ("a Git pack", "application/x-git-upload-pack-request", &pack),
        ("a file in base64, in lines", "text/plain", lines.as_bytes()),
        ("a contract's code", "text/plain", code.as_bytes()),
        ("a key in base58", "text/plain", key.as_bytes()),
        ("much base58", "text/plain", long.as_bytes()),
        (
            "a script",
            "text/javascript",
            b"/* licence */ \"use strict\"; // x402 is a protocol",
        ),
        (
            "what a challenge says",
            "text/markdown",
            b"# x402\n\nA 402 has `x402Version` and `accepts`; a payment has a `payload` with `validBefore`.\n",
        ),
    ];
    for via in [Via::AbsoluteForm, Via::TlsH1, Via::TlsH2] {
        for (name, declared, body) in bodies {
            let ask = Ask::get(world.port(via), "/log").method("POST").header("content-type", declared);
            let answer = world.gate.fetch(via, &Ask { body, ..ask }).await;
            assert_eq!((answer.status, answer.reason()), (200, None), "{name} {via:?}");
            assert!(world.origin(via).last().body == body, "{name} {via:?}: other bytes arrived");
        }
    }
}
