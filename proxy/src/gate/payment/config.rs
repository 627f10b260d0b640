//! The terms as written: `payments:` in tollgate.yaml, and the `config:` of the policy stanza `tollgate/x402`. Same fields, one struct.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer};

use super::rate::RateConfig;
use crate::settings::units;
use crate::signer::config::SignerConfig;

/// What the operator or the policy author wrote. `None` (or an empty `payees`, `payers`, `pins`) means: says nothing about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PaymentsConfig {
    /// CAIP-2 identifiers, e.g. `eip155:8453`.
    pub networks: Option<Vec<String>>,
    /// CAIP-2 identifier, `/`, token contract or mint: `eip155:8453/0x8335…`.
    pub assets: Option<Vec<String>>,
    /// The most that one payment may move, a decimal string in the asset's own units. Default `"1.00"`.
    pub max_amount: Option<String>,
    /// Addresses that may be paid; empty = any that the verdict service says GO to.
    pub payees: Vec<String>,
    /// Addresses that may pay; empty = any.
    pub payers: Vec<String>,
    /// Exact prices. When one names the request's URL, the payment must match one of that URL whole.
    pub pins: Vec<PinConfig>,
    /// Whether only what is pinned may be paid. Default `false`: elsewhere the lists and ceilings decide.
    pub pinned_only: Option<bool>,
    /// The schemes whose payments are judged, by the names of [`Scheme`](crate::x402::scheme::Scheme). Default `exact` alone.
    pub schemes: Option<Vec<String>>,
    /// The extensions that give somebody more than the payment and may come along, by their names on the wire. Default none.
    pub allow_extensions: Option<Vec<String>>,
    /// Whether contract wallets may pay, whose signatures only their contract can check. Default `false`.
    pub allow_smart_wallets: Option<bool>,
    /// Whether a payment has to answer a 402 that passed here, for the same request, once and in time. Default `true`.
    pub require_challenge: Option<bool>,
    /// Whether the options of a 402 are judged before the client sees them. Default: `true` where `verdict:` names somebody to ask.
    pub screen_challenges: Option<bool>,
    /// Whether sellers behind TLS offload may announce `http://` for an `https` resource. Default `false`.
    pub allow_http_resource: Option<bool>,
    /// The longest that a signature may stay valid from now on. Default `10m`.
    #[serde(deserialize_with = "optional_duration")]
    pub max_timeout: Option<Duration>,
    /// How far the signer's clock may be off. Default `10s`, at most `5m`.
    #[serde(deserialize_with = "optional_duration")]
    pub clock_skew: Option<Duration>,
    /// Assets beyond the built-in table; the operator's file only.
    pub asset_definitions: Vec<AssetDefinition>,
    /// The file that used payments are remembered in; without one a restart forgets them. The operator's file only.
    pub store: Option<PathBuf>,
    /// How many fresh payments one payee gets for one resource in a short time. The operator's file only.
    pub rate: RateConfig,
    /// Who signs payments after their GO, so that the agent needs no key. The operator's file only.
    pub signer: Option<SignerConfig>,
}

impl PaymentsConfig {
    /// Has relative paths start from the folder of the operator's file.
    pub fn resolve(&mut self, base: &Path) {
        if let Some(store) = &mut self.store {
            *store = base.join(&*store);
        }
        if let Some(file) = self.signer.as_mut().and_then(|signer| signer.key_file.as_mut()) {
            *file = base.join(&*file);
        }
    }
}

/// One exact price.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PinConfig {
    /// HTTP method.
    pub method: String,
    /// The resource; without a query it stands for any query.
    pub url: String,
    /// Who is paid.
    #[serde(rename = "payTo")]
    pub pay_to: String,
    /// Exactly this, a decimal string in the asset's own units.
    pub amount: String,
}

/// A token that the operator vouches for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssetDefinition {
    /// CAIP-2 identifier.
    pub network: String,
    /// Token contract, or mint.
    pub address: String,
    /// Decimals, at most 77.
    pub decimals: u8,
    /// EVM: EIP-712 domain name. Without it the token can be paid over Permit2 only.
    pub name: Option<String>,
    /// EVM: EIP-712 domain version.
    pub version: Option<String>,
    /// Solana: `spl-token` (the default) or `token-2022`.
    pub token_program: Option<String>,
}

fn optional_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    units::duration(deserializer).map(Some)
}
