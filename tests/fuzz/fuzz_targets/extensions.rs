//! The extensions of a payment and of a challenge: what a seller may ask for, a client may repeat, and a power is never taken by default.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tollgate::x402::enabled::{ContractWallets, Enabled};
use tollgate::x402::extensions::{self, Asked, Extension};
use tollgate::x402::json;

fuzz_target!(|bytes: &[u8]| {
    let Ok(value) = json::parse(bytes, 16) else { return };
    let all = Enabled {
        extensions: Extension::ALL.into(),
        contract_wallets: ContractWallets::Allowed,
        ..Enabled::default()
    };
    let asked = Asked::read(Some(&value));
    let document: Value = serde_json::from_slice(bytes).expect("what is taken strictly every reader takes");
    let names = || document.as_object().into_iter().flat_map(|object| object.keys());
    let powers = names().any(|name| Extension::named(name).is_some());
    if let Ok(carried) = extensions::parse(Some(&value), &all) {
        assert!(asked.refusal(&all).is_none(), "a client may carry what no seller may ask for");
        assert_eq!(carried.asked, asked.identifier);
        let id = document["payment-identifier"]["info"]["id"].as_str();
        assert_eq!(carried.identifier.is_some(), id.is_some());
        assert!(id.is_none_or(|id| (16..=128).contains(&id.len())));
        assert!(carried.allowances.len() <= 2 && (powers || carried.allowances.is_empty()));
        let known = ["bazaar", "builder-code", "offer-receipt", "payment-identifier"];
        assert!(names().all(|name| known.contains(&name.as_str()) || Extension::named(name).is_some()));
    }
    if extensions::parse(Some(&value), &Enabled::default()).is_ok() {
        assert!(!powers, "a power is taken that nobody has switched on");
        assert!(asked.refusal(&Enabled::default()).is_none());
    }
});
