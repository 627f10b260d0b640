//! A seller's challenge in a field and in a body: one reading, and after screening only what was kept.

#![no_main]

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tollgate::x402::challenge::{Asked, Challenge, MAX_CHALLENGE_BYTES};
use tollgate::x402::claim::Version;
use tollgate::x402::enabled::Enabled;

fuzz_target!(|input: &[u8]| {
    let [choice, bytes @ ..] = input else { return };
    let _ = Challenge::from_header(bytes);
    let wrapped = BASE64_STANDARD.encode(bytes);
    let in_field = Challenge::from_header(wrapped.as_bytes());
    let Ok(challenge) = Challenge::from_body(bytes) else {
        assert!(in_field.is_err(), "taken in a field and not in a body");
        return;
    };
    match in_field {
        Ok(in_field) => assert_eq!(in_field, challenge),
        Err(_) => assert!(challenge.version == Version::V1 || wrapped.len() > MAX_CHALLENGE_BYTES),
    }
    let _ = challenge.unanswerable(&Enabled::default());
    let document: Value = serde_json::from_slice(bytes).expect("what is taken strictly every reader takes");
    let options = document["accepts"].as_array().expect("options");
    assert_eq!(options.len(), challenge.options.len());
    for (asked, option) in challenge.options.iter().zip(options) {
        let Some(asked) = asked else { continue };
        let price = [&option["amount"], &option["maxAmountRequired"]][usize::from(challenge.version == Version::V1)];
        assert_eq!(price.as_str(), Some(asked.amount.to_string().as_str()));
        assert!(
            option["payTo"]
                .as_str()
                .is_some_and(|payee| payee.eq_ignore_ascii_case(&asked.pay_to.to_string()))
        );
    }
    let keep = |asked: &Asked| asked.pay_to.as_bytes().last().is_some_and(|last| last % 3 != choice % 4);
    let screened = challenge.only(keep).expect("it can be written again");
    let again = Challenge::from_body(screened.as_bytes()).expect("it can be read again");
    let kept: Vec<&Asked> = challenge.asked().filter(|asked| keep(asked)).collect();
    assert_eq!(again.asked().collect::<Vec<_>>(), kept);
    assert_eq!(again.options.len(), kept.len(), "an option that nobody judged");
    // All the rest of it is as the seller wrote it.
    let mut rest: [Value; 2] = [document, serde_json::from_str(&screened).expect("a document")];
    rest.iter_mut().for_each(|document| document["accepts"] = Value::Null);
    assert_eq!(rest[0], rest[1]);
});
