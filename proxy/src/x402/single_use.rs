//! What makes an authorisation single-use: the key under which it is remembered, so that nothing is paid twice.

use ruint::aliases::U256;
use sha2::{Digest, Sha256};

use super::address::Address;
use super::claim::{Asset, NonceHash};
use super::network::Caip2;

/// The number that a chain takes once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SingleUse {
    /// Once per payer and token contract.
    PerToken([u8; 32]),
    /// Once per payer: the Permit2 contract counts for all tokens, and for both schemes that use it.
    Permit2(U256),
    /// Once: the hash of a transaction's message.
    Transaction([u8; 32]),
}

impl SingleUse {
    /// The key, which tells nobody the number.
    pub fn key(&self, asset: &Asset, payer: Address) -> NonceHash {
        let mut hash = Sha256::new();
        match self {
            SingleUse::PerToken(nonce) => {
                hash.update(b"tollgate nonce 1");
                update_network(&mut hash, asset.network);
                hash.update(asset.address.as_bytes());
                hash.update(payer.as_bytes());
                hash.update(nonce);
            }
            SingleUse::Permit2(nonce) => {
                hash.update(b"tollgate nonce 1, permit2");
                update_network(&mut hash, asset.network);
                hash.update(payer.as_bytes());
                hash.update(nonce.to_be_bytes::<32>());
            }
            SingleUse::Transaction(message) => {
                hash.update(b"tollgate nonce 1, transaction");
                update_network(&mut hash, asset.network);
                hash.update(message);
            }
        }
        NonceHash(hash.finalize().into())
    }
}

fn update_network(hash: &mut Sha256, network: Caip2) {
    match network {
        Caip2::Eip155 { chain_id } => hash.update(chain_id.to_be_bytes()),
        Caip2::Solana(cluster) => hash.update(cluster.genesis()),
    }
}
