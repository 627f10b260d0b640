//! JSON that two parsers read in two ways.

use tollgate_tests::payment::{encode, encode_text};

use super::{MALFORMED, assert_refused_untouched, generous, one, v2};

type Bend = fn(String) -> String;

#[tokio::test]
async fn json_that_parsers_read_differently() {
    let (world, peer) = generous().await;
    let bends: [(&str, Bend); 20] = [
        ("duplicate to", |json| {
            json.replacen("\"to\":", "\"to\":\"0x1111111111111111111111111111111111111111\",\"to\":", 1)
        }),
        ("duplicate to, escaped", |json| {
            json.replacen("\"to\":", "\"\\u0074o\":\"0x1111111111111111111111111111111111111111\",\"to\":", 1)
        }),
        ("duplicate value", |json| {
            json.replacen("\"value\":", "\"value\":\"1\",\"value\":", 1)
        }),
        ("duplicate payload", |json| {
            json.replacen("\"payload\":", "\"payload\":{},\"payload\":", 1)
        }),
        ("duplicate at the end", |json| {
            format!("{},\"x402Version\":2}}", &json[..json.len() - 1])
        }),
        ("duplicate in extra", |json| {
            json.replacen("\"extra\":{", "\"extra\":{\"name\":\"USDC\",", 1)
        }),
        ("case variant To", |json| {
            json.replacen("\"to\":", "\"To\":\"0x1111111111111111111111111111111111111111\",\"to\":", 1)
        }),
        ("case variant ACCEPTED", |json| {
            json.replacen("\"accepted\":", "\"ACCEPTED\":{},\"accepted\":", 1)
        }),
        ("only a case variant", |json| json.replacen("\"accepted\":", "\"Accepted\":", 1)),
        ("an unknown member in the signed part", |json| {
            json.replacen("\"to\":", "\"toto\":\"x\",\"to\":", 1)
        }),
        ("trailing text", |json| json + "x"),
        ("a second document", |json| format!("{json}{{}}")),
        ("an array around it", |json| format!("[{json}]")),
        ("NaN", |json| {
            json.replacen("\"maxTimeoutSeconds\":300", "\"maxTimeoutSeconds\":NaN", 1)
        }),
        ("a trailing comma", |json| format!("{},}}", &json[..json.len() - 1])),
        ("single quotes", |json| json.replace('"', "'")),
        ("a comment", |json| format!("/**/{json}")),
        ("a depth bomb", |json| {
            format!("{},\"deep\":{}{}}}", &json[..json.len() - 1], "[".repeat(3000), "]".repeat(3000))
        }),
        ("a raw control byte in a string", |json| {
            json.replacen("one cent", "one\u{1}cent", 1)
        }),
        ("a lone surrogate", |json| json.replacen("one cent", "one\\ud800cent", 1)),
    ];
    for (name, bend) in bends {
        let reasons = ["payment_malformed", "payment_mismatch", "payment_too_large"];
        assert_refused_untouched(
            &world,
            &peer,
            name,
            |url| one("PAYMENT-SIGNATURE", &encode_text(&bend(v2(url).to_string()))),
            &reasons,
        )
        .await;
    }
}

#[tokio::test]
async fn versions_that_are_not_the_integer() {
    let (world, peer) = generous().await;
    for version in [
        "\"2\"",
        "2.0",
        "2e0",
        "3",
        "0",
        "-2",
        "true",
        "null",
        "[2]",
        "02",
        "18446744073709551618",
    ] {
        let lines = |url: &str| {
            let json = v2(url)
                .to_string()
                .replacen("\"x402Version\":2", &format!("\"x402Version\":{version}"), 1);
            one("PAYMENT-SIGNATURE", &encode_text(&json))
        };
        assert_refused_untouched(&world, &peer, version, lines, &["payment_malformed", "payment_mismatch"]).await;
    }
    let missing = |url: &str| {
        let mut payment = v2(url);
        payment.as_object_mut().unwrap().remove("x402Version");
        one("PAYMENT-SIGNATURE", &encode(&payment))
    };
    assert_refused_untouched(&world, &peer, "missing", missing, MALFORMED).await;
}
