//! A payment's transaction, written by hand so that a test may bend every part of it.

use super::super::wallets::Keypair;
use crate::x402::solana::associated::token_account;
use crate::x402::solana::programs::{COMPUTE_BUDGET, MEMO};
use crate::x402::solana::{SolanaAddress, TokenProgram};

pub(super) const DEVNET: &str = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
pub(super) const MINT: &str = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU";
pub(super) const MAINNET_USDC: &str = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
pub(super) const SYSTEM: SolanaAddress = SolanaAddress([0; 32]);

pub(super) fn address(text: &str) -> SolanaAddress {
    SolanaAddress::parse(text).unwrap()
}

pub(super) fn payer() -> Keypair {
    Keypair::new(1)
}

pub(super) fn payee() -> SolanaAddress {
    Keypair::new(2).address()
}

pub(super) fn sponsor() -> SolanaAddress {
    Keypair::new(3).address()
}

pub(super) fn stranger() -> SolanaAddress {
    Keypair::new(4).address()
}

pub(super) fn token(wallet: SolanaAddress, mint: &str) -> SolanaAddress {
    token_account(wallet, TokenProgram::Token, address(mint)).unwrap()
}

/// A call with its accounts by address.
#[derive(Clone)]
pub(super) struct Call {
    pub(super) program: SolanaAddress,
    pub(super) accounts: Vec<SolanaAddress>,
    pub(super) data: Vec<u8>,
}

pub(super) fn call(program: SolanaAddress, accounts: &[SolanaAddress], data: &[u8]) -> Call {
    Call {
        program,
        accounts: accounts.to_vec(),
        data: data.to_vec(),
    }
}

/// A transaction before it is signed; written by hand, so that a test may bend every part of it.
pub(super) struct Draft {
    pub(super) version: Option<u8>,
    pub(super) signers: Vec<SolanaAddress>,
    pub(super) calls: Vec<Call>,
    /// Accounts that nothing calls for.
    pub(super) more: Vec<SolanaAddress>,
    pub(super) lookups: Vec<u8>,
}

pub(super) fn transfer(amount: u64) -> Call {
    let accounts = [
        token(payer().address(), MINT),
        address(MINT),
        token(payee(), MINT),
        payer().address(),
    ];
    let mut data = vec![12];
    data.extend(amount.to_le_bytes());
    data.push(6);
    call(TokenProgram::Token.address(), &accounts, &data)
}

pub(super) fn draft() -> Draft {
    Draft {
        version: Some(0x80),
        signers: vec![sponsor(), payer().address()],
        calls: vec![
            call(COMPUTE_BUDGET, &[], &[2, 0x20, 0x4e, 0, 0]),
            call(COMPUTE_BUDGET, &[], &[3, 1, 0, 0, 0, 0, 0, 0, 0]),
            transfer(10_000),
            call(MEMO, &[], b"042d2543e42d81056a2a4ea8795a7b9c"),
        ],
        more: Vec::new(),
        lookups: vec![0],
    }
}

impl Draft {
    pub(super) fn accounts(&self) -> Vec<SolanaAddress> {
        let mut accounts = self.signers.clone();
        let called = self.calls.iter().flat_map(|call| call.accounts.iter().chain([&call.program]));
        for account in called.chain(&self.more) {
            if !accounts.contains(account) {
                accounts.push(*account);
            }
        }
        accounts
    }

    pub(super) fn message(&self) -> Vec<u8> {
        let accounts = self.accounts();
        let place = |account: &SolanaAddress| u8::try_from(accounts.iter().position(|one| one == account).unwrap()).unwrap();
        let mut message: Vec<u8> = self.version.into_iter().collect();
        message.extend([u8::try_from(self.signers.len()).unwrap(), u8::from(self.signers.len() > 1), 0]);
        message.push(u8::try_from(accounts.len()).unwrap());
        message.extend(accounts.iter().flat_map(|account| account.0));
        message.extend([9; 32]);
        message.push(u8::try_from(self.calls.len()).unwrap());
        for call in &self.calls {
            message.push(place(&call.program));
            message.push(u8::try_from(call.accounts.len()).unwrap());
            message.extend(call.accounts.iter().map(place));
            assert!(call.data.len() < 16_384);
            match u8::try_from(call.data.len()) {
                Ok(length) if length < 0x80 => message.push(length),
                _ => message.extend([
                    (call.data.len() & 0x7f | 0x80).to_le_bytes()[0],
                    (call.data.len() >> 7).to_le_bytes()[0],
                ]),
            }
            message.extend(&call.data);
        }
        if self.version.is_some() {
            message.extend(&self.lookups);
        }
        message
    }

    /// Signed by the payer; whoever else has to sign has not.
    pub(super) fn signed(&self) -> Vec<u8> {
        self.signed_by(&payer())
    }

    pub(super) fn signed_by(&self, key: &Keypair) -> Vec<u8> {
        let message = self.message();
        let mut bytes = vec![u8::try_from(self.signers.len()).unwrap()];
        for signer in &self.signers {
            bytes.extend(if *signer == payer().address() {
                key.sign(&message)
            } else {
                [0; 64]
            });
        }
        bytes.extend(message);
        bytes
    }
}
