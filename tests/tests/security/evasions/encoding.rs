//! Base64 and text that one decoder takes and another does not.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use serde_json::json;
use tollgate_tests::payment::{encode, encode_text};

use super::{CONFLICT, MALFORMED, assert_refused_untouched, generous, one, v2};

type Bend = fn(&str) -> String;

#[tokio::test]
async fn base64_that_is_not_canonical() {
    let (world, peer) = generous().await;
    // A payment whose encoding needs padding and holds `+` or `/`, or the rows below would be canonical by chance.
    let payment = |url: &str| {
        (0..64)
            .map(|length| {
                let mut payment = v2(url);
                payment["resource"]["description"] = json!(format!("~~~???>>>{}", "~".repeat(length)));
                payment.to_string()
            })
            .find(|text| STANDARD.encode(text).ends_with("==") && STANDARD.encode(text).contains(['+', '/']))
            .unwrap()
    };
    let bends: [(&str, Bend); 14] = [
        ("no padding", |json| STANDARD_NO_PAD.encode(json)),
        ("url alphabet", |json| URL_SAFE.encode(json)),
        ("a blank inside", |json| with_inside(json, " ")),
        ("a tab inside", |json| with_inside(json, "\t")),
        ("an exclamation mark inside", |json| with_inside(json, "!")),
        ("a star inside", |json| with_inside(json, "*")),
        ("a dot inside", |json| with_inside(json, ".")),
        ("a dash inside", |json| with_inside(json, "-")),
        ("more padding", |json| STANDARD.encode(json) + "="),
        ("a document after the padding", |json| {
            STANDARD.encode(json) + &STANDARD.encode(json)
        }),
        ("loose bits at the end", |json| loose_bits(&STANDARD.encode(json))),
        ("double base64", |json| STANDARD.encode(STANDARD.encode(json))),
        ("quotes around it", |json| format!("\"{}\"", STANDARD.encode(json))),
        ("raw JSON", |json| json.to_owned()),
    ];
    for (name, bend) in bends {
        assert_refused_untouched(&world, &peer, name, |url| one("PAYMENT-SIGNATURE", &bend(&payment(url))), CONFLICT).await;
    }
}

fn with_inside(json: &str, piece: &str) -> String {
    let mut value = STANDARD.encode(json);
    value.insert_str(41, piece);
    value
}

/// The last letter before `==` carries four bits that decode to nothing.
fn loose_bits(value: &str) -> String {
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let at = value.find('=').unwrap() - 1;
    let letter = alphabet.find(&value[at..=at]).unwrap();
    format!("{}{}{}", &value[..at], &alphabet[letter + 1..letter + 2], &value[at + 1..])
}

#[tokio::test]
async fn values_that_are_empty_or_oversize() {
    let (world, peer) = generous().await;
    for (name, value) in [
        ("empty", String::new()),
        ("one letter", "e".into()),
        ("no JSON", STANDARD.encode("hello")),
        ("null", STANDARD.encode("null")),
    ] {
        assert_refused_untouched(&world, &peer, name, |_| one("PAYMENT-SIGNATURE", &value), MALFORMED).await;
        assert_refused_untouched(&world, &peer, name, |_| one("X-PAYMENT", &value), MALFORMED).await;
    }
    let oversize = |url: &str| {
        let mut payment = v2(url);
        payment["resource"]["description"] = json!("d".repeat(40_000));
        one("PAYMENT-SIGNATURE", &encode(&payment))
    };
    assert_refused_untouched(&world, &peer, "40 kB", oversize, &["payment_too_large", "headers_too_large"]).await;
}

#[tokio::test]
async fn text_in_other_encodings() {
    let (world, peer) = generous().await;
    let utf16 = |text: &str| {
        [0xfe_u8, 0xff]
            .into_iter()
            .chain(text.encode_utf16().flat_map(u16::to_be_bytes))
            .collect::<Vec<_>>()
    };
    assert_refused_untouched(
        &world,
        &peer,
        "UTF-16",
        |url| one("PAYMENT-SIGNATURE", &STANDARD.encode(utf16(&v2(url).to_string()))),
        MALFORMED,
    )
    .await;
    let marked = |url: &str| one("PAYMENT-SIGNATURE", &encode_text(&format!("\u{feff}{}", v2(url))));
    assert_refused_untouched(&world, &peer, "byte order mark", marked, MALFORMED).await;
    let invalid = |url: &str| {
        let mut bytes = v2(url).to_string().replace("one cent", "one_cent").into_bytes();
        let at = bytes.iter().position(|byte| *byte == b'_').unwrap();
        bytes[at] = 0xff;
        one("PAYMENT-SIGNATURE", &STANDARD.encode(bytes))
    };
    assert_refused_untouched(&world, &peer, "invalid UTF-8", invalid, MALFORMED).await;
}
