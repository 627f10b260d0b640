//! The one transaction that a payment of scheme `exact` is: compute limit, compute price, one `TransferChecked`, then memos and the
//! assertions that wallets add. Every other instruction could move more than the payment.

use std::fmt;

use ed25519_dalek::{Signature, VerifyingKey};
use sha2::{Digest, Sha256};
use thiserror::Error;

use super::address::SolanaAddress;
use super::associated::token_account;
use super::programs::{COMPUTE_BUDGET, LIGHTHOUSE, MEMO, TokenProgram};
use super::transaction::{Instruction, Transaction};

/// As many instructions as sponsors take.
const MOST_INSTRUCTIONS: usize = 7;
/// The longest memo that a seller may ask for, in bytes.
pub const MAX_MEMO: usize = 256;
/// Lighthouse's instructions that only look: what stands before them takes rent from a payer, what comes after calls other programs.
const ASSERTIONS: std::ops::RangeInclusive<u8> = 2..=15;

/// Why a transaction is not a payment, or not only that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// Not exactly two signatures: the fee payer's and the payer's.
    #[error("the transaction has other signers than the fee payer and the payer")]
    Signers,
    /// The fee payer has signed: anybody could broadcast it, and who pays the fee is not the seller's sponsor.
    #[error("the transaction is signed by its fee payer already")]
    FeePayerSigned,
    /// Does not begin with the compute limit and the compute price.
    #[error("the transaction does not begin with its compute limit and price")]
    ComputeBudget,
    /// No `TransferChecked` in its place.
    #[error("the third instruction is not a TransferChecked of four accounts")]
    Transfer,
    /// Too many instructions, or one that could do something else.
    #[error("the transaction has an instruction that is neither memo nor assertion")]
    Instruction,
    /// The fee payer takes part in what it pays the fee for.
    #[error("the fee payer is an account of an instruction")]
    FeePayerUsed,
    /// An account that nothing uses.
    #[error("the transaction lists an account that no instruction uses")]
    UnusedAccount,
    /// Not a text, or too long.
    #[error("a memo is not a text of up to 256 bytes")]
    Memo,
    /// The money would come from an account of somebody else who has given the signer power over it.
    #[error("the money comes from another account than the payer's own")]
    Source,
}

/// A transfer of tokens, whose signature is still to be checked.
#[derive(Clone)]
pub struct Transfer {
    /// Pays the fee and nothing else.
    pub fee_payer: SolanaAddress,
    /// Who pays, and signs.
    pub authority: SolanaAddress,
    /// Whose program is called.
    pub program: TokenProgram,
    /// The token.
    pub mint: SolanaAddress,
    /// The token account that is paid.
    pub destination: SolanaAddress,
    /// Atomic units.
    pub amount: u64,
    /// What the payer takes the mint's decimals to be; the program refuses others.
    pub decimals: u8,
    /// The texts beside it.
    pub memos: Vec<Box<str>>,
    signature: [u8; 64],
    message: Box<[u8]>,
}

/// The signature is the money, so it is never shown.
impl fmt::Debug for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Transfer({} of {} by {} to {})",
            self.amount, self.mint, self.authority, self.destination
        )
    }
}

impl Transfer {
    /// Finds the transfer, if the transaction is nothing else.
    pub fn of(transaction: &Transaction<'_>) -> Result<Self, LayoutError> {
        let ([fee_signature, signature], [fee_payer, authority, ..]) = (&*transaction.signatures, &*transaction.accounts) else {
            return Err(LayoutError::Signers);
        };
        if **fee_signature != [0; 64] {
            return Err(LayoutError::FeePayerSigned);
        }
        let [limit, price, paying, others @ ..] = &*transaction.instructions else {
            return Err(LayoutError::Transfer);
        };
        let program = |instruction: &Instruction<'_>| transaction.accounts.get(instruction.program).copied();
        let budget = |instruction: &Instruction<'_>, kind: u8, length: usize| {
            program(instruction) == Some(COMPUTE_BUDGET)
                && instruction.accounts.is_empty()
                && instruction.data.first() == Some(&kind)
                && instruction.data.len() == length
        };
        if !budget(limit, 2, 5) || !budget(price, 3, 9) {
            return Err(LayoutError::ComputeBudget);
        }
        check_accounts(transaction)?;
        let token_program = program(paying).and_then(TokenProgram::at).ok_or(LayoutError::Transfer)?;
        let ([12, amount @ .., decimals], [source, mint, destination, 1]) = (paying.data, paying.accounts) else {
            return Err(LayoutError::Transfer);
        };
        let account = |place: u8| transaction.accounts.get(usize::from(place)).copied().ok_or(LayoutError::Transfer);
        let (source, mint, destination) = (account(*source)?, account(*mint)?, account(*destination)?);
        if token_account(*authority, token_program, mint) != Some(source) {
            return Err(LayoutError::Source);
        }
        let mut transfer = Transfer {
            fee_payer: *fee_payer,
            authority: *authority,
            program: token_program,
            mint,
            destination,
            amount: u64::from_le_bytes(amount.try_into().map_err(|_| LayoutError::Transfer)?),
            decimals: *decimals,
            memos: Vec::new(),
            signature: **signature,
            message: transaction.message.into(),
        };
        if transaction.instructions.len() > MOST_INSTRUCTIONS {
            return Err(LayoutError::Instruction);
        }
        for other in others {
            transfer.take(program(other), other)?;
        }
        Ok(transfer)
    }

    fn take(&mut self, program: Option<SolanaAddress>, other: &Instruction<'_>) -> Result<(), LayoutError> {
        match (program, other.data.first()) {
            (Some(MEMO), _) if other.accounts.is_empty() => {
                let memo = std::str::from_utf8(other.data).ok().filter(|memo| memo.len() <= MAX_MEMO);
                self.memos.push(memo.ok_or(LayoutError::Memo)?.into());
                Ok(())
            }
            (Some(LIGHTHOUSE), Some(kind)) if ASSERTIONS.contains(kind) => Ok(()),
            _ => Err(LayoutError::Instruction),
        }
    }

    /// Whether the tokens go to this wallet's account.
    pub fn pays(&self, wallet: SolanaAddress) -> bool {
        token_account(wallet, self.program, self.mint) == Some(self.destination)
    }

    /// Whether the payer has signed exactly this transaction.
    pub fn is_signed(&self) -> bool {
        VerifyingKey::from_bytes(&self.authority.0)
            .is_ok_and(|key| key.verify_strict(&self.message, &Signature::from_bytes(&self.signature)).is_ok())
    }

    /// Names what was signed. It includes a recent block, and the chain carries out one message once.
    pub fn message_hash(&self) -> [u8; 32] {
        Sha256::digest(&self.message).into()
    }
}

/// The fee payer pays the fee, and whatever else is listed is used: nothing rides along.
fn check_accounts(transaction: &Transaction<'_>) -> Result<(), LayoutError> {
    let used = |place: usize| {
        let instructions = &transaction.instructions;
        instructions
            .iter()
            .any(|one| one.program == place || one.accounts.iter().any(|account| usize::from(*account) == place))
    };
    if used(0) {
        return Err(LayoutError::FeePayerUsed);
    }
    if (1..transaction.accounts.len()).all(used) {
        Ok(())
    } else {
        Err(LayoutError::UnusedAccount)
    }
}
