//! Gas sponsoring: an allowance for the Permit2 contract that rides along with a payment over it, so that a facilitator can set it up at its
//! own cost. It outlives the payment, and it is worth nothing without further signatures of the payer. Both holds only if it is what it says.

use ruint::aliases::U256;

use super::approval::{self, Approval};
use crate::x402::claim::{Asset, EvmAddress};
use crate::x402::eip712::SigningDomains;
use crate::x402::eip712::permit::Permit;
use crate::x402::eip712::permit2::PERMIT2;
use crate::x402::enabled::ContractWallets;
use crate::x402::json::{Object, Value};
use crate::x402::network::Caip2;
use crate::x402::refusal::PaymentRefusal;
use crate::x402::scheme::member::Place;
use crate::x402::scheme::{Lifetime, Scheme, Signed, Signer};
use crate::x402::signature::WalletSignature;
use crate::x402::traces;

/// An allowance, well-formed but not yet proved.
#[derive(Debug, Clone)]
pub struct Allowance {
    from: EvmAddress,
    asset: EvmAddress,
    spender: EvmAddress,
    amount: U256,
    given: Given,
}

#[derive(Debug, Clone)]
enum Given {
    Permit {
        nonce: U256,
        deadline: U256,
        signature: WalletSignature,
    },
    Transaction(Approval),
}

/// Reads `eip2612GasSponsoring`; `None` where the client only repeats that the seller would take one.
pub(super) fn permit(extension: &Value<'_>) -> Result<Option<Allowance>, PaymentRefusal> {
    let members = ["nonce", "deadline", "signature"];
    let Some(info) = info(extension, "signature", &members)? else {
        return Ok(None);
    };
    let signature = WalletSignature::parse(info.text("signature")?, ContractWallets::Refused)
        .map_err(|error| PaymentRefusal::malformed(format!("the allowance's signature: {error}")))?;
    allowance(
        info,
        Given::Permit {
            nonce: info.integer("nonce")?,
            deadline: info.integer("deadline")?,
            signature,
        },
    )
    .map(Some)
}

/// Reads `erc20ApprovalGasSponsoring`; `None` where the client only repeats that the seller would take one.
pub(super) fn transaction(extension: &Value<'_>) -> Result<Option<Allowance>, PaymentRefusal> {
    let Some(info) = info(extension, "signedTransaction", &["signedTransaction"])? else {
        return Ok(None);
    };
    let approval = approval::read(info.text("signedTransaction")?).map_err(|error| PaymentRefusal::malformed(error.to_string()))?;
    allowance(info, Given::Transaction(approval)).map(Some)
}

fn allowance(info: Place<'_, '_>, given: Given) -> Result<Allowance, PaymentRefusal> {
    Ok(Allowance {
        from: info.address("from")?,
        asset: info.address("asset")?,
        spender: info.address("spender")?,
        amount: info.integer("amount")?,
        given,
    })
}

/// The `info` of an extension of `{info, schema}`, where it holds the client's part, of which `mark` is one member. The rest is the seller's
/// text, in which nothing may be long enough to be a signature.
fn info<'o, 'a>(extension: &'o Value<'a>, mark: &str, own: &[&str]) -> Result<Option<Place<'o, 'a>>, PaymentRefusal> {
    let wrong = |detail: &'static str| PaymentRefusal::malformed(detail);
    let extension = extension.as_object().ok_or_else(|| wrong("an extension is not an object"))?;
    let shared = ["from", "asset", "spender", "amount", "description", "version"];
    let members: Vec<&str> = shared.iter().chain(own).copied().collect();
    let info = Place::within(extension, "info", &members)?;
    if !extension.has_only(&["info", "schema"]) {
        return Err(wrong("an extension that gives an allowance has an unknown member"));
    }
    let texts = info.object.members().filter(|(name, _)| matches!(*name, "description" | "version"));
    if texts
        .chain(extension.members().filter(|(name, _)| *name == "schema"))
        .any(|(_, value)| hides_text(value))
    {
        return Err(wrong("an extension that gives an allowance has a text that is too long"));
    }
    Ok(info.object.has(mark).then_some(info))
}

fn hides_text(value: &Value<'_>) -> bool {
    let long = |text: &str| text.len() >= traces::SHORTEST;
    match value {
        Value::String(text) => long(text),
        Value::Array(values) => values.iter().any(hides_text),
        Value::Object(object) => object_hides_text(object, long),
        _ => false,
    }
}

fn object_hides_text(object: &Object<'_>, long: impl Fn(&str) -> bool) -> bool {
    object.members().any(|(name, value)| long(name) || hides_text(value))
}

impl Allowance {
    /// Holds it against the payment that it comes with: it is the payer's own, for the Permit2 contract and the paid token, and it is what
    /// was signed.
    pub fn check(&self, signed: &dyn Signed, asset: &Asset, domains: &SigningDomains) -> Result<(), PaymentRefusal> {
        if !matches!(signed.scheme(), Scheme::ExactPermit2 | Scheme::Upto) {
            return Err(PaymentRefusal::scheme(
                "an allowance for Permit2 comes with a payment that does not use it",
            ));
        }
        let mismatch = |detail: &'static str| Err(PaymentRefusal::mismatch(detail));
        if self.spender != PERMIT2 {
            return mismatch("the allowance is for another spender than the Permit2 contract");
        }
        if signed.payer().evm() != Some(self.from) || asset.address.evm() != Some(self.asset) {
            return mismatch("the allowance is another payer's or for another token");
        }
        match &self.given {
            Given::Permit {
                nonce,
                deadline,
                signature,
            } => {
                if !matches!(signed.lifetime(), Lifetime::Window { before, .. } if *deadline <= before) {
                    return mismatch("the allowance can be set up for longer than the payment can be made");
                }
                let permit = Permit {
                    owner: self.from,
                    spender: self.spender,
                    value: self.amount,
                    nonce: *nonce,
                    deadline: *deadline,
                };
                let Some(domain) = domains.token else {
                    return mismatch("the allowance cannot be proved, as the token's EIP-712 domain is not known");
                };
                match signature.signer(self.from, || permit.digest(&domain)) {
                    Signer::Payer => Ok(()),
                    Signer::Other | Signer::Contract => mismatch("the allowance's signature is not the payer's for these values"),
                }
            }
            Given::Transaction(approval) => {
                let Caip2::Eip155 { chain_id } = asset.network else {
                    return mismatch("the allowance is for another chain");
                };
                if approval.gives(self.amount, self.asset, chain_id) && approval.sender == self.from {
                    Ok(())
                } else {
                    mismatch("the transaction is not the payer's allowance for the Permit2 contract and the paid token")
                }
            }
        }
    }
}
