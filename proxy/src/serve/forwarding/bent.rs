//! A paying request, and what has been done to it.

use std::fmt;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE};
use rand::Rng;
use rand::seq::IndexedRandom;

use super::seller::Money;
use super::vessel::Vessel;

pub(super) struct Bent {
    pub(super) vessel: Vessel,
    /// Its own, by which it is found again.
    pub(super) path: String,
    /// The whole request.
    pub(super) bytes: Vec<u8>,
    /// The value of its payment header, without blanks around it.
    pub(super) header: Option<Vec<u8>>,
    pub(super) body: Vec<u8>,
    pub(super) signed: Money,
    /// Nothing: it is honest.
    pub(super) done: Vec<&'static str>,
}

/// The signature is a test's own and worth nothing.
impl fmt::Display for Bent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}\n{}", self.vessel, self.done, String::from_utf8_lossy(&self.bytes))
    }
}

type Bend<R> = (&'static str, fn(&mut R, &mut Vec<u8>));

/// To JSON.
fn bends<R: Rng>() -> [Bend<R>; 12] {
    [
        ("a bit flipped", |rng, json| {
            let at = rng.random_range(0..json.len());
            json[at] ^= 1 << rng.random_range(0..8);
        }),
        ("a byte deleted", |rng, json| {
            json.remove(rng.random_range(0..json.len()));
        }),
        ("a byte inserted", |rng, json| {
            json.insert(rng.random_range(0..json.len()), rng.random());
        }),
        ("a digit changed", |rng, json| {
            replace(rng, json, u8::is_ascii_digit, |rng, _| vec![rng.random_range(b'0'..=b'9')]);
        }),
        ("a letter in another case", |rng, json| {
            replace(rng, json, u8::is_ascii_alphabetic, |_, byte| vec![byte ^ 0x20]);
        }),
        ("a letter escaped", |rng, json| {
            replace(rng, json, u8::is_ascii_alphanumeric, |_, byte| format!("\\u{byte:04x}").into());
        }),
        ("white space", |rng, json| {
            let blank = *[" ", "\n", "\t", "\r\n", "\u{a0}", "\u{feff}", "\0"].choose(rng).unwrap();
            replace(
                rng,
                json,
                |byte| b"{},:".contains(byte),
                |_, byte| [&[byte], blank.as_bytes()].concat(),
            );
        }),
        ("a member twice", |rng, json| {
            let member = [
                "\"to\":\"0x1111111111111111111111111111111111111111\",",
                "\"value\":\"1\",",
                "\"x402Version\":2,",
            ];
            let member = [member.as_slice(), &["\"payload\":{},", "\"id\":8,", "\"method\":\"tools/call\","]].concat();
            let member = *member.choose(rng).unwrap();
            replace(rng, json, |byte| *byte == b'{', |_, byte| [&[byte], member.as_bytes()].concat());
        }),
        ("a member in another case twice", |rng, json| {
            let member = *[
                "\"To\":\"x\",",
                "\"PayTo\":\"x\",",
                "\"Params\":{},",
                "\"Payload\":{},",
                "\"Id\":8,",
            ]
            .choose(rng)
            .unwrap();
            replace(rng, json, |byte| *byte == b'{', |_, byte| [&[byte], member.as_bytes()].concat());
        }),
        ("a member more", |rng, json| {
            replace(
                rng,
                json,
                |byte| *byte == b'{',
                |_, byte| [&[byte], "\"note\":\"free\",".as_bytes()].concat(),
            );
        }),
        ("another value", |rng, json| {
            let (old, new) = *[
                ("10000", "1"),
                ("0x2096", "0x2097"),
                ("exact", "upto"),
                ("84532", "8453"),
                ("300", "301"),
                ("one cent", "a gift"),
                ("weather", "forecast"),
                ("shop", "bank"),
                ("2.0", "1.0"),
            ]
            .choose(rng)
            .unwrap();
            let text = String::from_utf8_lossy(json).replacen(old, new, rng.random_range(1..3));
            *json = text.into_bytes();
        }),
        ("something after it", |rng, json| {
            json.extend_from_slice([" ", "\n", "{}", "x", ",", "\u{feff}"].choose(rng).unwrap().as_bytes());
        }),
    ]
}

/// To the base64 of a header.
fn spellings<R: Rng>() -> [Bend<R>; 7] {
    [
        ("padding left out", |_, value| value.retain(|byte| *byte != b'=')),
        ("padding added", |_, value| value.push(b'=')),
        ("the other alphabet", |_, value| {
            if let Ok(bytes) = BASE64_STANDARD.decode(&*value) {
                *value = BASE64_URL_SAFE.encode(bytes).into_bytes();
            }
        }),
        ("a foreign byte", |rng, value| {
            let byte = *b" .-_\t\"'\xa0".choose(rng).unwrap();
            value.insert(rng.random_range(0..value.len()), byte);
        }),
        ("its last digit changed", |rng, value| {
            let last = value.iter().rposition(|byte| *byte != b'=').unwrap();
            value[last] = *b"ABCDEFGH0123+/".choose(rng).unwrap();
        }),
        ("a second value", |_, value| {
            value.push(b',');
            value.extend_from_within(..value.len() - 1);
        }),
        ("another document behind it", |_, value| {
            value.extend(BASE64_STANDARD_NO_PAD.encode("{\"x402Version\":2}").bytes());
        }),
    ]
}

/// Puts something in the place of one of the bytes that are `wanted`.
fn replace<R: Rng>(rng: &mut R, text: &mut Vec<u8>, wanted: fn(&u8) -> bool, new: impl Fn(&mut R, u8) -> Vec<u8>) {
    let places: Vec<usize> = (0..text.len()).filter(|at| wanted(&text[*at])).collect();
    if let Some(at) = places.choose(rng) {
        let new = new(rng, text[*at]);
        text.splice(at..=at, new);
    }
}

impl Bent {
    pub(super) fn new<R: Rng>(rng: &mut R, number: usize, port: u16) -> Self {
        let vessel = *Vessel::ALL.choose(rng).unwrap();
        let path = format!("/paid/{number}");
        let url = format!("http://shop.example.com:{port}{path}");
        let (payment, signed) = vessel.payment(rng, &url);
        let mut json = payment.to_string().into_bytes();
        let mut done = Vec::new();
        let mut bend = |rng: &mut R, of: &[Bend<R>], text: &mut Vec<u8>| {
            let (name, bend) = of.choose(rng).unwrap();
            bend(rng, text);
            done.push(*name);
        };
        let in_header = matches!(vessel, Vessel::V1 | Vessel::V2);
        // Of ten, one is honest, and one is bent in everything.
        let much = rng.random_range(0..10);
        if !in_header {
            json = vessel.body(&String::from_utf8(json).unwrap()).into_bytes();
        }
        if much > 3 {
            bend(rng, &bends(), &mut json);
        }
        if much > 8 {
            bend(rng, &bends(), &mut json);
        }
        let mut head = format!("POST {url} HTTP/1.1\r\nHost: shop.example.com:{port}\r\nConnection: close\r\n").into_bytes();
        let mut header = None;
        let body = if in_header {
            let mut value = BASE64_STANDARD.encode(&json).into_bytes();
            if matches!(much, 1 | 9) {
                bend(rng, &spellings(), &mut value);
            }
            let names = match vessel {
                Vessel::V1 => ["X-PAYMENT", "x-payment", "X_PAYMENT", "PAYMENT-SIGNATURE"],
                _ => ["PAYMENT-SIGNATURE", "payment-signature", "PAYMENT_SIGNATURE", "X-PAYMENT"],
            };
            let mut field = |name: &str| head.extend([name.as_bytes(), b":  ", &value, b" \r\n"].concat());
            match much {
                2 => {
                    done.push("another name");
                    field(names.choose(rng).unwrap());
                }
                3 => {
                    done.push("two fields");
                    field(names[0]);
                    field(names.choose(rng).unwrap());
                }
                _ => field(names[0]),
            }
            header = Some(value.trim_ascii().to_vec());
            vessel.body("").into_bytes()
        } else {
            match much {
                1 => {
                    done.push("a byte order mark");
                    json.splice(0..0, *b"\xef\xbb\xbf");
                }
                2 => {
                    done.push("in a batch");
                    json = [b"[".as_slice(), &json, b"]"].concat();
                }
                3 => {
                    done.push("not declared as JSON");
                    head.extend(b"Content-Type: text/plain\r\n");
                }
                _ => {}
            }
            json
        };
        if !done.contains(&"not declared as JSON") {
            head.extend(b"Content-Type: application/json\r\n");
        }
        // How the body is cut makes no difference.
        let bytes = if rng.random() {
            head.extend(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in body.chunks(rng.random_range(1..400)) {
                head.extend(format!("{:x}\r\n", chunk.len()).bytes());
                head.extend([chunk, b"\r\n"].concat());
            }
            [head.as_slice(), b"0\r\n\r\n"].concat()
        } else {
            head.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
            [head.as_slice(), &body].concat()
        };
        Bent {
            vessel,
            path,
            bytes,
            header,
            body,
            signed,
            done,
        }
    }
}
