//! A Solana transaction's bytes, legacy or version 0: one reading or none.
//!
//! In: the bytes as a validator would get them. Out: signatures, accounts and instructions. Everything that Solana's own reader refuses is
//! refused here (lengths in more bytes than they need, indices that point nowhere, an account twice, bytes left over), and so are address
//! lookup tables: what they stand for is on the chain and not in the transaction.

use std::ops::Range;

use thiserror::Error;

use super::address::SolanaAddress;

/// The largest transaction that the network carries, in bytes.
pub const MAX_BYTES: usize = 1232;

/// Why bytes are not a transaction that can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TransactionError {
    /// Longer than the network carries.
    #[error("the transaction is larger than 1232 bytes")]
    TooLarge,
    /// Ends too early.
    #[error("the transaction is cut off")]
    CutOff,
    /// Goes on after its end.
    #[error("the transaction has bytes after its end")]
    TrailingBytes,
    /// A length that is not in its shortest form, or over 65535.
    #[error("a length in the transaction is not in its one form")]
    Length,
    /// Neither legacy nor version 0.
    #[error("the transaction's version is unknown")]
    Version,
    /// Counts in the header that contradict each other, or the number of signatures or accounts.
    #[error("the transaction's header contradicts its accounts or signatures")]
    Header,
    /// An index beyond the accounts, or the fee payer as a program.
    #[error("an instruction names an account that there is not")]
    Index,
    /// One account in two places.
    #[error("the transaction lists an account twice")]
    AccountTwice,
    /// Accounts that stand in a table on the chain.
    #[error("the transaction looks accounts up in a table")]
    LookupTable,
}

/// A transaction that Solana would read the same way.
#[derive(Debug)]
pub struct Transaction<'a> {
    /// In the order of the first accounts.
    pub signatures: Vec<&'a [u8; 64]>,
    /// What they are made over.
    pub message: &'a [u8],
    /// The fee payer first.
    pub accounts: Vec<SolanaAddress>,
    /// In the order in which they are carried out.
    pub instructions: Vec<Instruction<'a>>,
}

/// One call of a program; accounts by their place in [`Transaction::accounts`], which they are known to have.
#[derive(Debug)]
pub struct Instruction<'a> {
    /// Who is called.
    pub program: usize,
    /// With what.
    pub accounts: &'a [u8],
    /// To do what.
    pub data: &'a [u8],
}

impl<'a> Transaction<'a> {
    /// Reads a whole transaction.
    pub fn read(bytes: &'a [u8]) -> Result<Self, TransactionError> {
        if bytes.len() > MAX_BYTES {
            return Err(TransactionError::TooLarge);
        }
        let mut rest = Reader(bytes);
        let signatures = (0..rest.length()?).map(|_| rest.array()).collect::<Result<Vec<_>, _>>()?;
        let message = rest.0;
        let version = rest.version()?;
        let [required, readonly_signed, readonly_unsigned] = *rest.array::<3>()?;
        let accounts = (0..rest.length()?)
            .map(|_| rest.array().map(|bytes| SolanaAddress(*bytes)))
            .collect::<Result<Vec<_>, _>>()?;
        let required = usize::from(required);
        if signatures.len() != required
            || usize::from(readonly_signed) >= required
            || required + usize::from(readonly_unsigned) > accounts.len()
        {
            return Err(TransactionError::Header);
        }
        if (1..accounts.len()).any(|at| {
            accounts
                .get(..at)
                .zip(accounts.get(at))
                .is_some_and(|(before, one)| before.contains(one))
        }) {
            return Err(TransactionError::AccountTwice);
        }
        rest.array::<32>()?;
        let instructions = (0..rest.length()?)
            .map(|_| rest.instruction(1..accounts.len()))
            .collect::<Result<Vec<_>, _>>()?;
        if version == Version::Zero && rest.length()? != 0 {
            return Err(TransactionError::LookupTable);
        }
        if !rest.0.is_empty() {
            return Err(TransactionError::TrailingBytes);
        }
        Ok(Transaction {
            signatures,
            message,
            accounts,
            instructions,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    Legacy,
    Zero,
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], TransactionError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(TransactionError::CutOff)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], TransactionError> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(TransactionError::CutOff)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// Seven bits a byte, the least significant first, at most 16 bits. A last byte of zero would be a second spelling.
    fn length(&mut self) -> Result<usize, TransactionError> {
        let mut length = 0_usize;
        for place in 0..3 {
            let [byte] = *self.array::<1>()?;
            length |= usize::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                let shortest = byte != 0 || place == 0;
                return if shortest && u16::try_from(length).is_ok() {
                    Ok(length)
                } else {
                    Err(TransactionError::Length)
                };
            }
        }
        Err(TransactionError::Length)
    }

    /// The highest bit tells a version from a legacy message's number of signatures.
    fn version(&mut self) -> Result<Version, TransactionError> {
        match self.0.first() {
            None => Err(TransactionError::CutOff),
            Some(byte) if byte & 0x80 == 0 => Ok(Version::Legacy),
            Some(0x80) => self.array::<1>().map(|_| Version::Zero),
            Some(_) => Err(TransactionError::Version),
        }
    }

    fn instruction(&mut self, programs: Range<usize>) -> Result<Instruction<'a>, TransactionError> {
        let [program] = *self.array::<1>()?;
        let program = usize::from(program);
        let count = self.length()?;
        let accounts = self.bytes(count)?;
        if !programs.contains(&program) || accounts.iter().any(|account| usize::from(*account) >= programs.end) {
            return Err(TransactionError::Index);
        }
        let count = self.length()?;
        let data = self.bytes(count)?;
        Ok(Instruction { program, accounts, data })
    }
}

#[cfg(test)]
mod tests;
