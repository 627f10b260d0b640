//! The signed EVM transaction of `erc20ApprovalGasSponsoring`: an EIP-1559 transaction that calls `approve` for the Permit2 contract, and
//! nothing else.

use alloy_rlp::Header;
use ruint::aliases::U256;
use sha3::{Digest, Keccak256};
use thiserror::Error;

use crate::x402::claim::EvmAddress;
use crate::x402::eip712::permit2::PERMIT2;
use crate::x402::signature::Signature;

/// Why a text is not a transaction that can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ApprovalError {
    /// Not `0x02` and hex: another kind of transaction, or none.
    #[error("the allowance is not an EIP-1559 transaction in hex")]
    Kind,
    /// Not RLP in its one form, or not the fields of such a transaction.
    #[error("the allowance's transaction is not in its one encoding")]
    Encoding,
    /// Not a canonical signature, or nobody's.
    #[error("the allowance's transaction is not signed")]
    Signature,
}

/// A transaction, taken apart.
#[derive(Debug, Clone)]
pub struct Approval {
    /// Who signed it.
    pub sender: EvmAddress,
    chain_id: U256,
    to: EvmAddress,
    value: U256,
    data: Vec<u8>,
}

/// `0x02`, then RLP of `[chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas, to, value, data, accessList, yParity, r, s]`.
pub fn read(text: &str) -> Result<Approval, ApprovalError> {
    let bytes = text
        .strip_prefix("0x02")
        .and_then(|digits| hex::decode(digits).ok())
        .ok_or(ApprovalError::Kind)?;
    let mut rest = &*bytes;
    let list = Header::decode_bytes(&mut rest, true).map_err(|_| ApprovalError::Encoding)?;
    if !rest.is_empty() {
        return Err(ApprovalError::Encoding);
    }
    let mut fields = Fields(list);
    let chain_id = fields.integer()?;
    for _ in ["nonce", "maxPriorityFeePerGas", "maxFeePerGas", "gas"] {
        fields.integer()?;
    }
    let to = EvmAddress(fields.bytes()?.try_into().map_err(|_| ApprovalError::Encoding)?);
    let value = fields.integer()?;
    let data = fields.bytes()?.to_owned();
    fields.empty_list()?;
    let unsigned = list.len() - fields.0.len();
    let digest = digest(list.get(..unsigned).ok_or(ApprovalError::Encoding)?);
    let odd = match fields.integer()? {
        parity if parity.is_zero() => false,
        parity if parity == U256::ONE => true,
        _ => return Err(ApprovalError::Signature),
    };
    let (r, s) = (fields.integer()?, fields.integer()?);
    if !fields.0.is_empty() {
        return Err(ApprovalError::Encoding);
    }
    let signature = Signature::from_parts(r.to_be_bytes(), s.to_be_bytes(), odd).map_err(|_| ApprovalError::Signature)?;
    Ok(Approval {
        sender: signature.recover(&digest).ok_or(ApprovalError::Signature)?,
        chain_id,
        to,
        value,
        data,
    })
}

/// What was signed: the same fields without the signature, as a list of their own.
fn digest(fields: &[u8]) -> [u8; 32] {
    let mut header = Vec::new();
    Header {
        list: true,
        payload_length: fields.len(),
    }
    .encode(&mut header);
    let mut hash = Keccak256::new();
    hash.update([2]);
    hash.update(&header);
    hash.update(fields);
    hash.finalize().into()
}

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self) -> Result<&'a [u8], ApprovalError> {
        Header::decode_bytes(&mut self.0, false).map_err(|_| ApprovalError::Encoding)
    }

    /// Without leading zeros; none at all is 0.
    fn integer(&mut self) -> Result<U256, ApprovalError> {
        let bytes = self.bytes()?;
        if bytes.first() == Some(&0) {
            return Err(ApprovalError::Encoding);
        }
        U256::try_from_be_slice(bytes).ok_or(ApprovalError::Encoding)
    }

    fn empty_list(&mut self) -> Result<(), ApprovalError> {
        match Header::decode_bytes(&mut self.0, true) {
            Ok([]) => Ok(()),
            _ => Err(ApprovalError::Encoding),
        }
    }
}

impl Approval {
    /// Whether it lets the Permit2 contract move up to `amount` of the token on the chain, moves no coins and does nothing else.
    pub fn gives(&self, amount: U256, token: EvmAddress, chain_id: u64) -> bool {
        let mut call = Vec::from(*b"\x09\x5e\xa7\xb3");
        call.extend([0; 12]);
        call.extend(PERMIT2.0);
        call.extend(amount.to_be_bytes::<32>());
        self.chain_id == U256::from(chain_id) && self.to == token && self.value.is_zero() && self.data == call
    }
}

#[cfg(test)]
mod tests;
