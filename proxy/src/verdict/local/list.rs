//! The two files: YAML or JSON, read strictly, wrong entries named by line and column.
//!
//! ```yaml
//! # payees: whom the sandbox may pay, and what they usually cost
//! - payee: "0x02c2fcafce36b4aadb39625866bc6b1699d83043"
//!   price: "0.014"                 # in the asset's own units
//!   network: eip155:8453           # optional; otherwise on every network
//!   tolerance: "1"                 # optional; times the price, at least 1 and less than 8
//! ```
//! ```yaml
//! # refused: whom nobody may pay
//! - "0x0330070fd38ec3bb94f58fa55d40368271e9e54a"
//! ```

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de};
use serde_saphyr::{DuplicateKeyPolicy, Spanned};
use thiserror::Error;
use tollgate_policy::{Limits, yaml};

use super::price::{Price, Tolerance, Usual};
use crate::x402::address::Address;
use crate::x402::network::Caip2;

/// Bytes that a list may have.
const MAX_FILE: usize = 8 << 20;

/// Why a list cannot be used.
#[derive(Debug, Error)]
pub enum ListError {
    /// The file cannot be read.
    #[error("{}: {source}", .file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Larger than a list may be.
    #[error("{}: the file is larger than 8 MiB", .file.display())]
    TooLarge {
        /// The file.
        file: PathBuf,
    },
    /// An entry is wrong.
    #[error("{}:{line}:{column}: {message}", .file.display())]
    Entry {
        /// The file.
        file: PathBuf,
        /// From 1.
        line: u64,
        /// From 1.
        column: u64,
        /// What is wrong.
        message: String,
    },
}

/// Usual prices by payee and network.
#[derive(Debug, Default)]
pub(super) struct KnownPayees(HashMap<Address, Networks>);

/// Where a payee's prices hold.
#[derive(Debug)]
enum Networks {
    Every(Usual),
    Some(HashMap<Caip2, Usual>),
}

impl KnownPayees {
    /// The usual price of `payee` on `network`.
    pub(super) fn usual(&self, payee: &Address, network: Caip2) -> Option<Usual> {
        match self.0.get(payee)? {
            Networks::Every(usual) => Some(*usual),
            Networks::Some(networks) => networks.get(&network).copied(),
        }
    }

    /// False if the payee already has a price there.
    fn add(&mut self, payee: Address, network: Option<Caip2>, usual: Usual) -> bool {
        match (self.0.entry(payee), network) {
            (Entry::Vacant(entry), None) => {
                entry.insert(Networks::Every(usual));
                true
            }
            (Entry::Vacant(entry), Some(network)) => {
                entry.insert(Networks::Some(HashMap::from([(network, usual)])));
                true
            }
            (Entry::Occupied(mut entry), Some(network)) => match entry.get_mut() {
                Networks::Some(networks) => networks.insert(network, usual).is_none(),
                Networks::Every(_) => false,
            },
            (Entry::Occupied(_), None) => false,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PayeeEntry {
    payee: Spanned<AddressText>,
    price: Price,
    network: Option<NetworkText>,
    #[serde(default)]
    tolerance: Tolerance,
}

/// Reads the known payees.
pub(super) fn read_payees(file: &Path) -> Result<KnownPayees, ListError> {
    let mut known = KnownPayees::default();
    for entry in read::<PayeeEntry>(file)? {
        let usual = Usual {
            price: entry.price,
            tolerance: entry.tolerance,
        };
        if !known.add(entry.payee.value.0, entry.network.map(|network| network.0), usual) {
            return Err(twice(file, &entry.payee));
        }
    }
    Ok(known)
}

/// Reads the refused addresses.
pub(super) fn read_refused(file: &Path) -> Result<HashSet<Address>, ListError> {
    let mut refused = HashSet::new();
    for entry in read::<Spanned<AddressText>>(file)? {
        if !refused.insert(entry.value.0) {
            return Err(twice(file, &entry));
        }
    }
    Ok(refused)
}

fn twice(file: &Path, entry: &Spanned<AddressText>) -> ListError {
    ListError::Entry {
        file: file.to_owned(),
        line: entry.referenced.line(),
        column: entry.referenced.column(),
        message: format!("{} is listed twice", entry.value.0),
    }
}

/// An empty file is an empty list.
fn read<T: de::DeserializeOwned>(file: &Path) -> Result<Vec<T>, ListError> {
    let unreadable = |source| ListError::Unreadable {
        file: file.to_owned(),
        source,
    };
    let mut text = String::new();
    let opened = fs::File::open(file).map_err(unreadable)?;
    opened.take(MAX_FILE as u64 + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() > MAX_FILE {
        return Err(ListError::TooLarge { file: file.to_owned() });
    }
    let limits = Limits {
        bytes: MAX_FILE,
        nodes: 1_000_000,
        ..Limits::default()
    };
    let options = yaml::strict(limits, DuplicateKeyPolicy::Error);
    let list: Option<Vec<T>> = serde_saphyr::from_str_with_options(&text, options).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
        let message = error.to_string();
        // The position stands in front already.
        let message = message
            .strip_suffix(&format!(" at line {line}, column {column}"))
            .unwrap_or(&message);
        ListError::Entry {
            file: file.to_owned(),
            line,
            column,
            message: message.to_owned(),
        }
    })?;
    Ok(list.unwrap_or_default())
}

/// As [`Address::parse`] takes it: a mistyped mixed-case address fails its checksum.
struct AddressText(Address);

impl<'de> Deserialize<'de> for AddressText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Address::parse(&text)
            .map(AddressText)
            .map_err(|error| de::Error::custom(format_args!("address: {error}")))
    }
}

/// As [`Caip2::parse`] takes it.
struct NetworkText(Caip2);

impl<'de> Deserialize<'de> for NetworkText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Caip2::parse(&text).map(NetworkText).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
