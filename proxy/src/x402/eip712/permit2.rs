//! What the Permit2 contract lets a payer sign: one transfer by a named spender, bound to a witness that only the spender's code looks at.

use std::sync::LazyLock;

use ruint::aliases::U256;
use sha3::{Digest, Keccak256};

use super::{DomainSeparator, Word, address_word, keccak, word};
use crate::x402::claim::EvmAddress;

/// The Permit2 contract, at the same address on every chain.
pub const PERMIT2: EvmAddress = EvmAddress([
    0x00, 0x00, 0x00, 0x00, 0x00, 0x22, 0xd4, 0x73, 0x03, 0x0f, 0x11, 0x6d, 0xde, 0xe9, 0xf6, 0xb4, 0x3a, 0xc7, 0x8b, 0xa3,
]);

// The parts of an encoded type stand in alphabetical order behind the type itself.
const PERMIT: &str = "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness)";
const TOKEN: &str = "TokenPermissions(address token,uint256 amount)";
const EXACT: &str = "Witness(address to,uint256 validAfter)";
const UPTO: &str = "Witness(address to,address facilitator,uint256 validAfter)";

static DOMAIN_TYPE: LazyLock<Word> = LazyLock::new(|| keccak(b"EIP712Domain(string name,uint256 chainId,address verifyingContract)"));
static TOKEN_TYPE: LazyLock<Word> = LazyLock::new(|| keccak(TOKEN.as_bytes()));
static EXACT_TYPES: LazyLock<Types> = LazyLock::new(|| Types::with(EXACT));
static UPTO_TYPES: LazyLock<Types> = LazyLock::new(|| Types::with(UPTO));

struct Types {
    permit: Word,
    witness: Word,
}

impl Types {
    fn with(witness: &str) -> Self {
        Types {
            permit: keccak(format!("{PERMIT}{TOKEN}{witness}").as_bytes()),
            witness: keccak(witness.as_bytes()),
        }
    }
}

/// The domain of the Permit2 contract on a chain. It has no version.
pub fn domain(chain_id: u64) -> DomainSeparator {
    let mut hash = Keccak256::new();
    hash.update(*DOMAIN_TYPE);
    hash.update(keccak(b"Permit2"));
    hash.update(word(U256::from(chain_id)));
    hash.update(address_word(PERMIT2));
    DomainSeparator(hash.finalize().into())
}

/// One transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PermitWitnessTransferFrom {
    /// The token contract.
    pub token: EvmAddress,
    /// The most that the spender may move, in atomic units.
    pub amount: U256,
    /// Who may move it, to wherever its code says.
    pub spender: EvmAddress,
    /// Single use per payer.
    pub nonce: U256,
    /// Unix seconds.
    pub deadline: U256,
    /// What the spender's code has to keep to.
    pub witness: Witness,
}

/// What x402's proxy contracts keep to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Witness {
    /// Who is paid.
    pub to: EvmAddress,
    /// `upto` alone: who may settle.
    pub facilitator: Option<EvmAddress>,
    /// Unix seconds.
    pub valid_after: U256,
}

impl Witness {
    fn struct_hash(&self, types: &Types) -> Word {
        let mut hash = Keccak256::new();
        hash.update(types.witness);
        hash.update(address_word(self.to));
        if let Some(facilitator) = self.facilitator {
            hash.update(address_word(facilitator));
        }
        hash.update(word(self.valid_after));
        hash.finalize().into()
    }
}

impl PermitWitnessTransferFrom {
    /// EIP-712 `hashStruct`.
    pub fn struct_hash(&self) -> [u8; 32] {
        let types: &Types = if self.witness.facilitator.is_some() {
            &UPTO_TYPES
        } else {
            &EXACT_TYPES
        };
        let mut permitted = Keccak256::new();
        permitted.update(*TOKEN_TYPE);
        permitted.update(address_word(self.token));
        permitted.update(word(self.amount));
        let mut hash = Keccak256::new();
        hash.update(types.permit);
        hash.update(permitted.finalize());
        hash.update(address_word(self.spender));
        hash.update(word(self.nonce));
        hash.update(word(self.deadline));
        hash.update(self.witness.struct_hash(types));
        hash.finalize().into()
    }

    /// The 32 bytes that are signed.
    pub fn digest(&self, domain: &DomainSeparator) -> [u8; 32] {
        domain.digest(&self.struct_hash())
    }
}
