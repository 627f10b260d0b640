//! A service that has the key: `POST {url}/v1/sign-transfer`.
//!
//! It is sent what EIP-712 signs, whole, so that it can have rules of its own, and what is bought (without query):
//!
//! ```json
//! { "primaryType": "TransferWithAuthorization",
//!   "domain": { "name": "USDC", "version": "2", "chainId": 84532, "verifyingContract": "0x036c…" },
//!   "message": { "from": "0x…", "to": "0x…", "value": "10000", "validAfter": "0", "validBefore": "1796075188", "nonce": "0x…" },
//!   "digest": "0x…", "resource": "https://shop.example.com/paid" }
//! ```
//!
//! | the service | outcome |
//! | --- | --- |
//! | 200 and `{ "signature": "0x…" }`, 65 bytes, by the wallet, over the digest | signed |
//! | 200 and anything else | invalid |
//! | 400 to 499 but 408 and 429 | refused |
//! | any other status, dead, slow, broken, unverified TLS | unavailable |
//!
//! One question, one answer: no retry, no redirect. Every outcome but the first one refuses the payment. So many questions at once, so many
//! that wait, and the next one is refused. A signature that may have to go out again, because its payment has an identifier, is kept in memory.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, StatusCode};
use lru::LruCache;
use serde_json::json;

use super::config::RemoteConfig;
use super::{KeyHolder, Order, SigningError};
use crate::egress::fetch::{FetchError, Fetcher, Limits, Request, ServiceUrl};
use crate::egress::turns::Turns;
use crate::x402::json;
use crate::x402::network::Caip2;
use crate::x402::signature::Signature;

/// Bytes of answer that are read.
const MAX_ANSWER: usize = 16 << 10;
/// Nesting of an answer that is read.
const MAX_DEPTH: u8 = 8;
/// Signatures that are kept; the oldest go first.
const MOST_KEPT: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1_023);

/// See the module.
pub struct Remote {
    fetcher: Fetcher,
    service: ServiceUrl,
    target: PathAndQuery,
    /// Sensitive.
    authorization: Option<HeaderValue>,
    limits: Limits,
    turns: Turns,
    /// By digest. What has expired by now is worth nothing, and goes with the oldest.
    kept: Mutex<LruCache<[u8; 32], Signature>>,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("service", &self.service).finish_non_exhaustive()
    }
}

impl Remote {
    /// `None` for a URL that makes no request target.
    pub fn new(fetcher: Fetcher, config: &RemoteConfig, authorization: Option<HeaderValue>) -> Option<Self> {
        Some(Remote {
            fetcher,
            target: config.url.target("/v1/sign-transfer").ok()?,
            service: config.url.clone(),
            authorization,
            limits: Limits {
                deadline: config.timeout,
                max_response: MAX_ANSWER,
            },
            turns: Turns::new(config.max_in_flight, config.queue),
            kept: Mutex::new(LruCache::new(MOST_KEPT)),
        })
    }

    fn kept(&self) -> MutexGuard<'_, LruCache<[u8; 32], Signature>> {
        // Every use is one insert or one look.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, request: &Request) -> Result<Signature, SigningError> {
        let _turn = self.turns.take().await.ok_or(SigningError::Busy)?;
        let response = self.fetcher.fetch(request, self.limits).await.map_err(|error| match error {
            FetchError::TooLarge => SigningError::Invalid,
            other => SigningError::Unreachable(other),
        })?;
        match response.status {
            StatusCode::OK => answer(&response.body),
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Err(SigningError::Status(response.status.as_u16())),
            status if status.is_client_error() => Err(SigningError::Refused(status.as_u16())),
            status => Err(SigningError::Status(status.as_u16())),
        }
    }

    fn request(&self, body: Bytes) -> Request {
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(
            USER_AGENT,
            HeaderValue::from_static(concat!("tollgate/", env!("CARGO_PKG_VERSION"))),
        );
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        Request {
            method: Method::POST,
            destination: self.service.destination().clone(),
            target: self.target.clone(),
            headers,
            body,
        }
    }
}

#[async_trait]
impl KeyHolder for Remote {
    async fn sign(&self, order: &Order) -> Result<Signature, SigningError> {
        let request = self.request(question(order)?);
        let signature = tokio::time::timeout(self.limits.deadline, self.ask(&request))
            .await
            .unwrap_or(Err(SigningError::Unreachable(FetchError::Timeout)))?;
        if order.identifier.is_some() {
            self.kept().put(order.unsigned.digest, signature);
        }
        Ok(signature)
    }

    fn signed_before(&self, order: &Order) -> Result<Signature, SigningError> {
        self.kept().get(&order.unsigned.digest).copied().ok_or(SigningError::NotKept)
    }
}

fn question(order: &Order) -> Result<Bytes, SigningError> {
    let (Caip2::Eip155 { chain_id }, Some(domain)) = (order.asset.network, order.asset.domain()) else {
        return Err(SigningError::Invalid);
    };
    let transfer = &order.unsigned.transfer;
    let question = json!({
        "primaryType": "TransferWithAuthorization",
        "domain": {
            "name": domain.name, "version": domain.version, "chainId": chain_id, "verifyingContract": order.asset.address.to_string(),
        },
        "message": {
            "from": transfer.from.to_string(), "to": transfer.to.to_string(), "value": transfer.value.to_string(),
            "validAfter": transfer.valid_after.to_string(), "validBefore": transfer.valid_before.to_string(),
            "nonce": format!("0x{}", hex::encode(transfer.nonce)),
        },
        "digest": format!("0x{}", hex::encode(order.unsigned.digest)),
        "resource": order.resource,
    });
    Ok(question.to_string().into())
}

fn answer(body: &[u8]) -> Result<Signature, SigningError> {
    let document = json::parse(body, MAX_DEPTH).map_err(|_| SigningError::Invalid)?;
    let text = document.as_object().and_then(|object| object.string("signature"));
    text.and_then(|text| Signature::parse(text).ok()).ok_or(SigningError::Invalid)
}
