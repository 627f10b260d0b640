//! Scheme `exact` on Solana: a transaction that transfers tokens and does nothing else, signed by the payer; the seller's sponsor adds the
//! fee payer's signature and sends it off.
//!
//! In: the `payload` object. Out: the transfer. Its payee is named by no byte of it: it is whoever's token account the destination is.

use ruint::aliases::U256;
use tollgate_policy::Reason;

use super::{Lifetime, Scheme, Signed, Signer};
use crate::x402::address::Address;
use crate::x402::base64;
use crate::x402::claim::{Asset, AtomicAmount, Token};
use crate::x402::eip712::SigningDomains;
use crate::x402::json::Object;
use crate::x402::offer::Extra;
use crate::x402::refusal::PaymentRefusal;
use crate::x402::single_use::SingleUse;
use crate::x402::solana::transaction::{Transaction, TransactionError};
use crate::x402::solana::transfer::{LayoutError, Transfer};
use crate::x402::traces;

/// How long a block stays recent at the most, in seconds: 150 blocks, which take 60 to 90. Nothing in a transaction says how old its block is.
pub const LONGEST_LIFE: u64 = 120;

/// A transfer.
#[derive(Debug, Clone)]
pub struct ExactSvm(pub Transfer);

/// Reads `{transaction}`.
pub(super) fn read(payload: &Object<'_>) -> Result<ExactSvm, PaymentRefusal> {
    let transaction = payload
        .string("transaction")
        .ok_or_else(|| PaymentRefusal::malformed("payload.transaction is not a string"))?;
    if !payload.has_only(&["transaction"]) {
        return Err(PaymentRefusal::malformed("payload has an unknown member"));
    }
    let bytes = base64::decode_canonical(transaction.as_bytes())
        .ok_or_else(|| PaymentRefusal::malformed("the transaction is not canonical base64"))?;
    let transaction = Transaction::read(&bytes).map_err(|error| match error {
        TransactionError::LookupTable | TransactionError::Version => PaymentRefusal::scheme(error.to_string()),
        _ => PaymentRefusal::malformed(error.to_string()),
    })?;
    let transfer = Transfer::of(&transaction).map_err(|error| match error {
        LayoutError::FeePayerSigned | LayoutError::UnusedAccount | LayoutError::Memo => PaymentRefusal::malformed(error.to_string()),
        LayoutError::Source => PaymentRefusal::mismatch(error.to_string()),
        _ => PaymentRefusal::scheme(error.to_string()),
    })?;
    // One GO must not release a second signature that rides in a memo.
    if transaction
        .instructions
        .iter()
        .skip(3)
        .any(|one| traces::in_text(one.data).is_some())
    {
        return Err(PaymentRefusal::new(
            Reason::PaymentConflicting,
            "the transaction holds a second payment",
        ));
    }
    Ok(ExactSvm(transfer))
}

impl Signed for ExactSvm {
    fn scheme(&self) -> Scheme {
        Scheme::ExactSvm
    }

    fn payer(&self) -> Address {
        self.0.authority.into()
    }

    fn payee(&self) -> Option<Address> {
        None
    }

    fn pays(&self, payee: Address) -> bool {
        payee.solana().is_some_and(|wallet| self.0.pays(wallet))
    }

    fn amount(&self) -> AtomicAmount {
        AtomicAmount(U256::from(self.0.amount))
    }

    fn asset(&self) -> Option<Address> {
        Some(self.0.mint.into())
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::RecentBlock
    }

    fn single_use(&self) -> SingleUse {
        SingleUse::Transaction(self.0.message_hash())
    }

    /// The seller's sponsor pays the fee, and the memo by which the seller knows its money again is in what was signed.
    fn agrees_with(&self, extra: &Extra) -> Result<(), PaymentRefusal> {
        if extra.fee_payer != Some(self.0.fee_payer) {
            return Err(PaymentRefusal::mismatch("the fee payer is not accepted.extra.feePayer"));
        }
        match (&extra.memo, &*self.0.memos) {
            (None, _) => Ok(()),
            (Some(asked), [memo]) if **asked == **memo => Ok(()),
            (Some(_), _) => Err(PaymentRefusal::mismatch("the memo is not accepted.extra.memo")),
        }
    }

    fn fits(&self, asset: &Asset) -> Result<(), PaymentRefusal> {
        if asset.token != Token::Mint(self.0.program) {
            return Err(PaymentRefusal::mismatch("the transfer is by another program than the token's"));
        }
        if asset.decimals != self.0.decimals {
            return Err(PaymentRefusal::mismatch("the transfer states other decimals than the token has"));
        }
        Ok(())
    }

    fn signer(&self, _domains: &SigningDomains) -> Signer {
        if self.0.is_signed() { Signer::Payer } else { Signer::Other }
    }
}
