//! The one vocabulary of decisions.
//!
//! A reason's snake_case name is at once the denial's `reason_code`, the audit field, the metric label and a heading in the
//! README. Adding a reason is fine; renaming one breaks dashboards and tests elsewhere. It lives in the lowest crate because
//! cases files name reasons of every group.

use std::fmt;

/// The part of the product that a reason belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    /// `policy.yaml` does not let it out.
    Route,
    /// The request itself is malformed or contradicts itself.
    Request,
    /// The resolved address may not be dialled.
    Address,
    /// A payment rail; nothing can allow it.
    Rail,
    /// The payment is not acceptable by our own checks.
    Payment,
    /// The verdict service did not say GO.
    Verdict,
    /// A placeholder could not be replaced by its credential.
    Credential,
    /// The origin failed.
    Upstream,
    /// Tollgate itself could not.
    Own,
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal in $group:ident;)+) => {
        /// Why a request was refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Reason { $($(#[doc = $doc])+ $variant,)+ }

        impl Reason {
            /// Every reason, in the order of the README's reference.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant,)+];

            /// The stable snake_case code.
            pub const fn as_str(self) -> &'static str {
                match self { $(Reason::$variant => $name,)+ }
            }

            /// The group the code is listed under.
            pub const fn group(self) -> Group {
                match self { $(Reason::$variant => Group::$group,)+ }
            }

            /// One sentence of explanation, for references and pages.
            pub const fn summary(self) -> &'static str {
                match self { $(Reason::$variant => concat!($($doc),+).trim_ascii(),)+ }
            }
        }
    };
}

reasons! {
    /// No policy is loaded, or it lists nothing.
    NoPolicy = "no_policy" in Route;
    /// No endpoint lists this host.
    HostNotAllowed = "host_not_allowed" in Route;
    /// The host is listed, but not with this port.
    PortNotAllowed = "port_not_allowed" in Route;
    /// The host and port are listed, but not for the calling binary.
    BinaryNotAllowed = "binary_not_allowed" in Route;
    /// The calling binary changed on disk since it was first seen.
    BinaryChanged = "binary_changed" in Route;
    /// The endpoint does not allow this method.
    MethodNotAllowed = "method_not_allowed" in Route;
    /// The endpoint does not allow this path.
    PathNotAllowed = "path_not_allowed" in Route;
    /// The endpoint allows the path, but not with this query.
    QueryNotAllowed = "query_not_allowed" in Route;
    /// The endpoint does not allow this operation or tool.
    OperationNotAllowed = "operation_not_allowed" in Route;
    /// A deny rule matches.
    DeniedByRule = "denied_by_rule" in Route;
    /// The policy changed under an open connection and no longer allows it.
    PolicyStale = "policy_stale" in Route;
    /// The operator has closed all egress.
    EgressClosed = "egress_closed" in Route;

    /// The request, or a body that a rule has to read, is not well-formed.
    MalformedRequest = "malformed_request" in Request;
    /// The path has no single canonical form.
    PathNotCanonical = "path_not_canonical" in Request;
    /// Host, target and CONNECT authority are not one and the same.
    AuthorityMismatch = "authority_mismatch" in Request;
    /// The TLS server name is not the CONNECT authority.
    SniMismatch = "sni_mismatch" in Request;
    /// CONNECT inside a tunnel.
    NestedConnect = "nested_connect" in Request;
    /// HTTP/2 in cleartext: by an upgrade, in a tunnel without TLS, or to the proxy port itself.
    H2cNotAllowed = "h2c_not_allowed" in Request;
    /// Traffic that cannot be read where it must be.
    UninspectableTraffic = "uninspectable_traffic" in Request;
    /// A body that must be read is larger than may be held.
    BodyTooLarge = "body_too_large" in Request;
    /// The header section is over its limit.
    HeadersTooLarge = "headers_too_large" in Request;
    /// The request would reach Tollgate itself.
    SelfTarget = "self_target" in Request;

    /// The name resolves to an address that is not public.
    AddressNotPublic = "address_not_public" in Address;
    /// The address is outside the endpoint's allowed addresses, or never dialled.
    AddressNotAllowed = "address_not_allowed" in Address;
    /// A port of a cluster's control plane.
    ControlPlanePort = "control_plane_port" in Address;
    /// The name could not be resolved.
    NameNotResolved = "name_not_resolved" in Address;

    /// The host, port or address is a payment rail.
    RailDestination = "rail_destination" in Rail;
    /// The request asks a facilitator to verify or settle a payment.
    RailFacilitatorCall = "rail_facilitator_call" in Rail;
    /// The request signs or broadcasts a transaction.
    RailBroadcast = "rail_broadcast" in Rail;
    /// The request pays by a scheme other than x402, or its answer asks for that.
    RailPaymentScheme = "rail_payment_scheme" in Rail;

    /// A payment that does not parse canonically.
    PaymentMalformed = "payment_malformed" in Payment;
    /// More than one payment, or two copies that disagree.
    PaymentConflicting = "payment_conflicting" in Payment;
    /// The payment is larger than any honest one.
    PaymentTooLarge = "payment_too_large" in Payment;
    /// A scheme, flavour or extension that is not allowed.
    PaymentSchemeNotAllowed = "payment_scheme_not_allowed" in Payment;
    /// A network that is not allowed.
    PaymentNetworkNotAllowed = "payment_network_not_allowed" in Payment;
    /// An asset that is not allowed, or whose decimals are unknown.
    PaymentAssetNotAllowed = "payment_asset_not_allowed" in Payment;
    /// A payee that is not allowed.
    PaymentPayeeNotAllowed = "payment_payee_not_allowed" in Payment;
    /// A payer that is not allowed.
    PaymentPayerNotAllowed = "payment_payer_not_allowed" in Payment;
    /// The amount is over the limit.
    PaymentOverLimit = "payment_over_limit" in Payment;
    /// What was signed, offered and requested disagree.
    PaymentMismatch = "payment_mismatch" in Payment;
    /// No challenge asked for this payment.
    PaymentNoChallenge = "payment_no_challenge" in Payment;
    /// The payment's validity window has passed, has not begun, or is too wide.
    PaymentExpired = "payment_expired" in Payment;
    /// The same authorisation was used before.
    PaymentReplayed = "payment_replayed" in Payment;
    /// A payment for the same request was sent and never answered, and may still be settled.
    PaymentUnsettled = "payment_unsettled" in Payment;
    /// Too many payments in a short time.
    PaymentRateLimited = "payment_rate_limited" in Payment;
    /// The payment identifier breaks its rules.
    PaymentIdentifierInvalid = "payment_identifier_invalid" in Payment;
    /// The sandbox sent a signature of its own where payments are signed here.
    PaymentSignedInSandbox = "payment_signed_in_sandbox" in Payment;
    /// The signer gave no signature for a payment that had its GO.
    PaymentSignerUnavailable = "payment_signer_unavailable" in Payment;
    /// The memory of used payments cannot be read or written.
    PaymentStoreUnavailable = "payment_store_unavailable" in Payment;

    /// The verdict service said HOLD.
    VerdictHold = "verdict_hold" in Verdict;
    /// The verdict service said STOP.
    VerdictStop = "verdict_stop" in Verdict;
    /// The verdict service gave no answer in time.
    VerdictUnavailable = "verdict_unavailable" in Verdict;
    /// The verdict service's answer is not one we accept.
    VerdictInvalid = "verdict_invalid" in Verdict;

    /// The credential is bound to another host, port or path.
    CredentialMismatch = "credential_mismatch" in Credential;
    /// A placeholder stands for no credential that Tollgate holds, or stands in a path and its value has a slash, `?`, `#` or dots in it.
    CredentialUnavailable = "credential_unavailable" in Credential;

    /// The origin could not be reached.
    UpstreamUnreachable = "upstream_unreachable" in Upstream;
    /// The origin's certificate does not verify.
    UpstreamTlsInvalid = "upstream_tls_invalid" in Upstream;
    /// The origin did not answer in time.
    UpstreamTimeout = "upstream_timeout" in Upstream;

    /// A limit of Tollgate is reached.
    OverCapacity = "over_capacity" in Own;
    /// A fault in Tollgate.
    InternalError = "internal_error" in Own;
}

impl Reason {
    /// The reason with this code.
    pub fn from_code(code: &str) -> Option<Reason> {
        Self::ALL.iter().copied().find(|reason| reason.as_str() == code)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_fit_the_published_pattern() {
        let mut seen = std::collections::BTreeSet::new();
        for reason in Reason::ALL {
            let code = reason.as_str();
            assert!(seen.insert(code), "{code} twice");
            assert!(code.len() <= 64 && code.starts_with(|c: char| c.is_ascii_lowercase()), "{code}");
            assert!(
                code.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
                "{code}"
            );
            assert_eq!(Reason::from_code(code), Some(*reason));
            assert!(reason.summary().ends_with('.'), "{code} has no summary");
        }
    }
}
