//! The wallet's key in memory: read once, shown nowhere, wiped when dropped.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use async_trait::async_trait;
use k256::ecdsa::SigningKey;
use thiserror::Error;
use zeroize::Zeroizing;

use super::{KeyHolder, Order, SigningError};
use crate::settings::{PrivateFileError, read_private_file};
use crate::x402::claim::EvmAddress;
use crate::x402::signature::{Signature, address_of};

/// Why there is no key. Never says anything of what was read.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The file.
    #[error("the signer's key: {0}")]
    File(#[from] PrivateFileError),
    /// The environment variable.
    #[error("the environment variable `{0}` for the signer's key is not set")]
    NotSet(String),
    /// Something else than a key.
    #[error("the signer's key is not 64 hex digits of a secp256k1 private key")]
    NoKey,
    /// Another wallet's.
    #[error("the signer's key is the one of {found}, and `wallet` is {wallet}")]
    OtherWallet {
        /// Whose key it is.
        found: EvmAddress,
        /// Whose it should be.
        wallet: EvmAddress,
    },
}

/// See the module.
pub struct LocalKey(SigningKey);

impl fmt::Debug for LocalKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LocalKey(hidden)")
    }
}

impl LocalKey {
    /// Reads a file that only its owner may read.
    pub fn from_file(path: &Path, wallet: EvmAddress) -> Result<Self, KeyError> {
        Self::parse(&read_private_file(path)?, wallet)
    }

    /// Takes the value of an environment variable.
    pub fn from_env(name: &str, value: Option<OsString>, wallet: EvmAddress) -> Result<Self, KeyError> {
        let value = value.ok_or_else(|| KeyError::NotSet(name.to_owned()))?;
        Self::parse(&Zeroizing::new(value.into_vec()), wallet)
    }

    fn parse(text: &[u8], wallet: EvmAddress) -> Result<Self, KeyError> {
        let digits = text.trim_ascii();
        let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
        let mut bytes = Zeroizing::new([0; 32]);
        hex::decode_to_slice(digits, &mut *bytes).map_err(|_| KeyError::NoKey)?;
        let key = SigningKey::from_slice(&*bytes).map_err(|_| KeyError::NoKey)?;
        match address_of(key.verifying_key()) {
            Some(found) if found == wallet => Ok(LocalKey(key)),
            Some(found) => Err(KeyError::OtherWallet { found, wallet }),
            None => Err(KeyError::NoKey),
        }
    }
}

impl LocalKey {
    /// Deterministic (RFC 6979): the same order gives the same bytes.
    fn signature(&self, order: &Order) -> Result<Signature, SigningError> {
        let (rs, v) = self
            .0
            .sign_prehash_recoverable(&order.unsigned.digest)
            .map_err(|_| SigningError::Invalid)?;
        let (r, s) = rs.split_bytes();
        Signature::from_parts(r.into(), s.into(), v.is_y_odd()).map_err(|_| SigningError::Invalid)
    }
}

#[async_trait]
impl KeyHolder for LocalKey {
    async fn sign(&self, order: &Order) -> Result<Signature, SigningError> {
        self.signature(order)
    }

    fn signed_before(&self, order: &Order) -> Result<Signature, SigningError> {
        self.signature(order)
    }
}
