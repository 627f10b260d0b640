//! The closed sets of words in audit events and metric labels. One enum per set, so that log and metric can't drift apart.

/// A closed set of words: the only thing that may become a metric label.
pub trait Vocabulary: Copy + Eq + Sized + 'static {
    /// Every word of the set.
    const ALL: &'static [Self];

    /// The word as it stands in lines and labels.
    fn as_str(self) -> &'static str;

    /// The position in [`Self::ALL`].
    fn index(self) -> usize;
}

macro_rules! vocabulary {
    ($($(#[doc = $set_doc:literal])+ $set:ident { $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+ })+) => {$(
        $(#[doc = $set_doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $set { $($(#[doc = $doc])+ $variant,)+ }

        impl Vocabulary for $set {
            const ALL: &'static [Self] = &[$($set::$variant,)+];

            fn as_str(self) -> &'static str {
                match self { $($set::$variant => $word,)+ }
            }

            fn index(self) -> usize {
                self as usize
            }
        }

        impl std::fmt::Display for $set {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(Vocabulary::as_str(*self))
            }
        }

        impl serde::Serialize for $set {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(Vocabulary::as_str(*self))
            }
        }

        impl<'de> serde::Deserialize<'de> for $set {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                let word = <$set as Vocabulary>::ALL.iter().copied().find(|word| word.as_str() == text);
                word.ok_or_else(|| serde::de::Error::custom(concat!("not a word of ", stringify!($set))))
            }
        }
    )+};
}

vocabulary! {
    /// The way by which a request came to be decided on.
    Adapter {
        /// The CONNECT request itself.
        Connect = "connect",
        /// A request in absolute form over plain HTTP.
        Forward = "forward",
        /// A request, or opaque bytes, inside a CONNECT tunnel.
        Tunnel = "tunnel",
        /// An evaluation asked for over gRPC.
        Grpc = "grpc",
    }

    /// What was decided.
    Decision {
        /// Let out.
        Allow = "allow",
        /// Refused.
        Deny = "deny",
        /// Let out only because the route is in audit mode.
        WouldDeny = "would_deny",
    }

    /// What was spoken on the connection.
    Protocol {
        /// HTTP/1.0 or HTTP/1.1.
        Http1 = "http/1.1",
        /// HTTP/2.
        Http2 = "h2",
        /// Messages after a WebSocket upgrade.
        WebSocket = "websocket",
        /// Bytes that are passed on unread.
        Opaque = "opaque",
    }

    /// The scheme of the request's URL.
    Scheme {
        /// Cleartext HTTP.
        Http = "http",
        /// HTTP over TLS.
        Https = "https",
    }

    /// The generation of the x402 protocol.
    X402Version {
        /// `X-PAYMENT`.
        V1 = "1",
        /// `PAYMENT-SIGNATURE`.
        V2 = "2",
        /// It could not be told.
        Unknown = "unknown",
    }

    /// The payment's scheme.
    PaymentScheme {
        /// `exact` over EIP-3009.
        Exact = "exact",
        /// `exact` over Permit2.
        ExactPermit2 = "exact-permit2",
        /// `upto`.
        Upto = "upto",
        /// `exact` on Solana.
        ExactSvm = "exact-svm",
        /// Any other, or one that could not be told.
        Other = "other",
    }

    /// The service that gives verdicts.
    VerdictBackend {
        /// The embedded lists.
        Local = "local",
        /// A Blackwall service.
        Blackwall = "blackwall",
        /// An Action Safety service.
        ActionSafety = "action_safety",
    }

    /// What the verdict service answered.
    VerdictOutcome {
        /// GO.
        Go = "go",
        /// HOLD.
        Hold = "hold",
        /// STOP.
        Stop = "stop",
        /// No acceptable answer, or none in time.
        None = "none",
    }

    /// What became of a payment that was let out.
    PaymentOutcome {
        /// The seller says that it took the money.
        Settled = "settled",
        /// The seller delivered, and says nothing of the money.
        Delivered = "delivered",
        /// Neither: refused, failed, cut off, or never sent.
        Abandoned = "abandoned",
    }

    /// What became of a report to the verdict service.
    ReportFate {
        /// The service took it.
        Sent = "sent",
        /// The service did not take it, or could not be told.
        Failed = "failed",
        /// There was no room for it.
        Dropped = "dropped",
    }

    /// What became of a payment that was to be signed here.
    SignatureOutcome {
        /// Signed.
        Signed = "signed",
        /// The signer would not.
        Refused = "refused",
        /// It could not be asked, or not in time.
        Unavailable = "unavailable",
        /// What it gave was not the wallet's signature.
        Invalid = "invalid",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_are_distinct_and_indexed<V: Vocabulary + std::fmt::Debug>() {
        for (position, word) in V::ALL.iter().enumerate() {
            assert_eq!(word.index(), position, "{word:?}");
            assert!(
                V::ALL.iter().filter(|other| other.as_str() == word.as_str()).count() == 1,
                "{word:?}"
            );
        }
    }

    #[test]
    fn every_set_is_indexed_in_order_and_has_no_word_twice() {
        words_are_distinct_and_indexed::<Adapter>();
        words_are_distinct_and_indexed::<Decision>();
        words_are_distinct_and_indexed::<Protocol>();
        words_are_distinct_and_indexed::<Scheme>();
        words_are_distinct_and_indexed::<X402Version>();
        words_are_distinct_and_indexed::<PaymentScheme>();
        words_are_distinct_and_indexed::<VerdictBackend>();
        words_are_distinct_and_indexed::<VerdictOutcome>();
        words_are_distinct_and_indexed::<PaymentOutcome>();
        words_are_distinct_and_indexed::<ReportFate>();
        words_are_distinct_and_indexed::<SignatureOutcome>();
    }
}
