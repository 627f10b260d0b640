//! What a change of the terms means: which payments become possible, and which no longer are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use tollgate_policy::compare::{ConfigChange, Effect};

use super::challenges::{ChallengeRule, ScreeningRule};
use super::layer::AssetKey;
use super::pins::{Pin, PinTable, Unpinned};
use super::terms::{AllowedAsset, Terms};
use crate::x402::address::Address;
use crate::x402::enabled::{ContractWallets, Enabled};
use crate::x402::resource::HttpResource;

/// Everything that differs.
pub fn changes(old: &Terms, new: &Terms) -> Vec<ConfigChange> {
    let Terms {
        enabled:
            Enabled {
                schemes,
                extensions,
                contract_wallets,
                // The operator's, as the signer is.
                placeholder: _,
            },
        networks,
        assets,
        payees,
        payers,
        pins,
        http_resource,
        challenge,
        screening,
        max_timeout,
        clock_skew,
        signer: _,
    } = new;
    let mut changes = Changes(Vec::new());
    changes.members("scheme", &old.enabled.schemes, schemes);
    changes.members("extension", &old.enabled.extensions, extensions);
    match (old.enabled.contract_wallets, contract_wallets) {
        (ContractWallets::Refused, ContractWallets::Allowed) => {
            changes.widens("contract wallets may pay, whose signatures are not checked");
        }
        (ContractWallets::Allowed, ContractWallets::Refused) => changes.narrows("contract wallets may no longer pay"),
        _ => {}
    }
    changes.members("network", &old.networks, networks);
    changes.assets(&old.assets, assets);
    changes.parties("payee", old.payees.as_ref(), payees.as_ref());
    changes.parties("payer", old.payers.as_ref(), payers.as_ref());
    changes.pins(&old.pins, pins);
    match (old.http_resource, http_resource) {
        (HttpResource::Refused, HttpResource::Allowed) => changes.widens("a seller may announce http:// for an https resource"),
        (HttpResource::Allowed, HttpResource::Refused) => changes.narrows("a seller may no longer announce http:// for an https resource"),
        _ => {}
    }
    match (old.challenge, challenge) {
        (ChallengeRule::Required, ChallengeRule::Optional) => changes.widens("a payment need not answer a challenge that passed here"),
        (ChallengeRule::Optional, ChallengeRule::Required) => changes.narrows("a payment has to answer a challenge that passed here"),
        _ => {}
    }
    match (old.screening, screening) {
        (Some(ScreeningRule::PassedOn), Some(ScreeningRule::PassedOn))
        | (None | Some(ScreeningRule::Screened), None | Some(ScreeningRule::Screened)) => {}
        (_, Some(ScreeningRule::PassedOn)) => changes.widens("challenges are not screened"),
        (Some(ScreeningRule::PassedOn), _) => changes.narrows("challenges are screened"),
    }
    changes.seconds("max_timeout", old.max_timeout, *max_timeout);
    changes.seconds("clock_skew", old.clock_skew, *clock_skew);
    changes.0
}

struct Changes(Vec<ConfigChange>);

impl Changes {
    fn widens(&mut self, text: impl Into<String>) {
        self.push(Effect::Widening, text.into());
    }

    fn narrows(&mut self, text: impl Into<String>) {
        self.push(Effect::Narrowing, text.into());
    }

    fn push(&mut self, effect: Effect, text: String) {
        self.0.push(ConfigChange { effect, text });
    }

    fn members<T: Ord + Display>(&mut self, what: &str, old: &BTreeSet<T>, new: &BTreeSet<T>) {
        for added in new.difference(old) {
            self.widens(format!("{what} {added} is added"));
        }
        for gone in old.difference(new) {
            self.narrows(format!("{what} {gone} is gone"));
        }
    }

    fn assets(&mut self, old: &BTreeMap<AssetKey, AllowedAsset>, new: &BTreeMap<AssetKey, AllowedAsset>) {
        for (key, asset) in new {
            let name = format!("{}/{}", key.0, key.1);
            let shown = |asset: &AllowedAsset| asset.max_amount.to_decimal(asset.asset.decimals);
            match old.get(key) {
                None => self.widens(format!("asset {name} is added, up to {} a payment", shown(asset))),
                Some(before) if before.max_amount < asset.max_amount => {
                    self.widens(format!("up to {} of {name} a payment instead of {}", shown(asset), shown(before)));
                }
                Some(before) if before.max_amount > asset.max_amount => {
                    self.narrows(format!("up to {} of {name} a payment instead of {}", shown(asset), shown(before)));
                }
                Some(_) => {}
            }
        }
        for key in old.keys().filter(|key| !new.contains_key(key)) {
            self.narrows(format!("asset {}/{} is gone", key.0, key.1));
        }
    }

    fn parties(&mut self, what: &str, old: Option<&BTreeSet<Address>>, new: Option<&BTreeSet<Address>>) {
        match (old, new) {
            (Some(old), Some(new)) => self.members(what, old, new),
            (Some(_), None) => self.widens(format!("any {what} instead of those listed")),
            (None, Some(new)) => {
                let listed: Vec<String> = new.iter().map(ToString::to_string).collect();
                self.narrows(format!("no {what} but {}", listed.join(", ")));
            }
            (None, None) => {}
        }
    }

    /// The first pin of a URL shuts out every other price there; a further one lets another in. Where only pins are paid, each lets one in.
    fn pins(&mut self, old: &[PinTable], new: &[PinTable]) {
        let strict = |tables: &[PinTable]| tables.iter().any(|table| table.unpinned == Unpinned::Refused);
        let pins = |tables: &[PinTable]| tables.iter().flat_map(|table| table.pins.clone()).collect::<Vec<Pin>>();
        let only_pins = match (strict(old), strict(new)) {
            (true, false) => {
                self.widens("URLs without a pin may be paid");
                false
            }
            (false, true) => {
                self.narrows("only URLs with a pin may be paid");
                false
            }
            (both, _) => both,
        };
        let (old, new) = (pins(old), pins(new));
        for added in new.iter().filter(|pin| !old.contains(pin)) {
            if old.is_empty() {
                self.narrows(format!("the pin {added} is added"));
            } else {
                self.widens(format!("the pin {added} is added, and may stand beside another of the URL"));
            }
        }
        for gone in old.iter().filter(|pin| !new.contains(pin)) {
            if only_pins {
                self.narrows(format!("the pin {gone} is gone"));
            } else {
                self.widens(format!("the pin {gone} is gone"));
            }
        }
    }

    fn seconds(&mut self, what: &str, old: u64, new: u64) {
        let text = format!("{what} is {new}s instead of {old}s");
        match new.cmp(&old) {
            std::cmp::Ordering::Greater => self.widens(text),
            std::cmp::Ordering::Less => self.narrows(text),
            std::cmp::Ordering::Equal => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::{Value, json};

    use super::*;
    use crate::gate::payment::config::PaymentsConfig;

    fn told(old: &Value, new: &Value) -> Vec<(Effect, String)> {
        let terms = |config: &Value| Terms::narrowed(&PaymentsConfig::default(), &serde_json::from_value(config.clone()).unwrap()).unwrap();
        let changes = changes(&terms(old), &terms(new));
        changes.into_iter().map(|change| (change.effect, change.text)).collect()
    }

    #[test]
    fn terms_are_compared_by_what_they_let_pass() {
        let (a, b) = (
            "0x209693bc6afc0c5328ba36faf03c514ef312287c",
            "0x1111111111111111111111111111111111111111",
        );
        let usdc = "eip155:8453/0x833589fcd6edb6e08f4c7c32d4f71b54bda02913";
        let pin = |amount: &str| json!({ "pins": [ { "method": "GET", "url": "https://s.example/p", "payTo": a, "amount": amount } ] });
        let only_pin = |amount: &str| {
            let mut config = pin(amount);
            config["pinned_only"] = json!(true);
            config
        };
        for (narrow, wide, text) in [
            (json!({}), json!({ "max_amount": "2.00" }), "up to 2"),
            (json!({ "max_amount": "0.5" }), json!({}), "up to 1"),
            (
                json!({ "networks": ["eip155:8453"] }),
                json!({ "networks": ["eip155:8453", "eip155:84532"] }),
                "network eip155:84532 is added",
            ),
            (json!({ "payees": [a] }), json!({}), "any payee instead of those listed"),
            (
                json!({ "payees": [a] }),
                json!({ "payees": [b, a] }),
                &format!("payee {b} is added"),
            ),
            (pin("0.01"), json!({}), "the pin GET "),
            (only_pin("0.01"), pin("0.01"), "URLs without a pin may be paid"),
            (json!({}), json!({ "allow_http_resource": true }), "a seller may announce"),
            (json!({}), json!({ "schemes": ["exact", "upto"] }), "scheme upto is added"),
            (
                json!({}),
                json!({ "allow_extensions": ["sign-in-with-x"] }),
                "extension sign-in-with-x is added",
            ),
            (json!({}), json!({ "allow_smart_wallets": true }), "contract wallets may pay"),
            (
                json!({ "max_timeout": "1m" }),
                json!({ "max_timeout": "2m" }),
                "max_timeout is 120s instead of 60s",
            ),
        ] {
            let (there, back) = (told(&narrow, &wide), told(&wide, &narrow));
            assert!(
                !there.is_empty() && there.iter().all(|(effect, _)| *effect == Effect::Widening),
                "{there:?}"
            );
            assert!(
                !back.is_empty() && back.iter().all(|(effect, _)| *effect == Effect::Narrowing),
                "{back:?}"
            );
            assert!(there.iter().any(|(_, told)| told.starts_with(text)), "{there:?}");
        }
        assert!(
            told(&pin("0.01"), &pin("0.02"))
                .iter()
                .all(|(effect, _)| *effect == Effect::Widening)
        );
        let spelled = json!({ "assets": [usdc.to_uppercase().replace("EIP155", "eip155").replace("0X", "0x")], "max_amount": "1" });
        assert_eq!(told(&json!({ "assets": [usdc] }), &spelled), []);
    }
}
