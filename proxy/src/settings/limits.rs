//! `limits:`: every bound on time, size and number, with its default, in one struct and one table.

use std::time::Duration;

use serde::Deserialize;

use super::units;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// One line of the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitRow {
    /// The key, from the top of the file.
    pub key: String,
    /// The value, as it would be written in the file.
    pub value: String,
    /// What it bounds.
    pub meaning: &'static str,
    /// What it is written in.
    pub unit: Unit,
}

/// What a bound is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// `500ms`.
    Duration,
    /// `64KiB`.
    Size,
    /// A number.
    Count,
}

trait Written {
    const UNIT: Unit;

    fn written(self) -> String;
}

impl Written for Duration {
    const UNIT: Unit = Unit::Duration;

    fn written(self) -> String {
        units::format_duration(self)
    }
}

#[derive(Clone, Copy)]
struct Bytes(usize);

impl Written for Bytes {
    const UNIT: Unit = Unit::Size;

    fn written(self) -> String {
        units::format_size(self.0)
    }
}

impl Written for usize {
    const UNIT: Unit = Unit::Count;

    fn written(self) -> String {
        self.to_string()
    }
}

macro_rules! limits {
    (@show "units::size" $value:expr) => { Bytes($value) };
    (@show $other:tt $value:expr) => { $value };
    ($($(#[doc = $doc:literal])+ $name:ident: $kind:ty, $read:tt, $default:expr;)+) => {
        /// Every bound on time, size and number. None can be switched off: zero is refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Limits {
            $($(#[doc = $doc])+ #[serde(deserialize_with = $read)] pub $name: $kind,)+
            /// Time for one attempt to connect to an origin; written as `upstream.connect_timeout`.
            #[serde(skip)]
            pub connect: Duration,
        }

        impl Default for Limits {
            fn default() -> Self {
                Limits { $($name: $default,)+ connect: seconds(5) }
            }
        }

        impl Limits {
            /// The reference, in the order of the struct, with the values of `self`.
            pub fn rows(&self) -> Vec<LimitRow> {
                vec![
                    $(row(format!("limits.{}", stringify!($name)), limits!(@show $read self.$name), concat!($($doc),+)),)+
                    row("upstream.connect_timeout".into(), self.connect, "Time for one attempt to connect to an origin."),
                ]
            }
        }
    };
}

fn row<W: Written>(key: String, value: W, meaning: &'static str) -> LimitRow {
    LimitRow {
        key,
        value: value.written(),
        meaning: meaning.trim_ascii(),
        unit: W::UNIT,
    }
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

limits! {
    /// Client connections open at once.
    connections: usize, "units::count", 10_000;
    /// Of them, connections of one client address; to be lowered where several sandboxes share a proxy.
    connections_per_client: usize, "units::count", 10_000;
    /// Time for a client to send its first byte on a new connection, or in a new tunnel.
    first_byte: Duration, "units::duration", seconds(60);
    /// Time from the first byte of a request's head to its last, however slowly they come.
    header_read: Duration, "units::duration", seconds(10);
    /// Size of a request's header section.
    header_bytes: usize, "units::size", 64 * KIB;
    /// Number of fields in a request's header section.
    header_count: usize, "units::count", 128;
    /// Time for a TLS handshake, on either side.
    tls_handshake: Duration, "units::duration", seconds(10);
    /// Time that a client connection may stay open between two requests.
    idle: Duration, "units::duration", seconds(300);
    /// Requests under way at once on one HTTP/2 connection.
    h2_streams: usize, "units::count", 128;
    /// Malformed requests, and streams reset before they were answered less those that were, after which an HTTP/2 connection is closed.
    h2_bad_streams: usize, "units::count", 32;
    /// Size of one request body, of one answer to a call, or of one event in a stream, that a rule has to read before anything of it passes.
    body_held: usize, "units::size", 16 * MIB;
    /// Size of all bodies held for inspection at once.
    bodies_held_total: usize, "units::size", 128 * MIB;
    /// Time from the first to the last byte of a body or message that is held.
    body_read: Duration, "units::duration", seconds(60);
    /// Size of one text message on a WebSocket whose messages are judged, and of a compressed binary one once decompressed.
    websocket_message: usize, "units::size", 4 * MIB;
    /// Fragments of one text message on a WebSocket whose messages are judged.
    websocket_fragments: usize, "units::count", 4_096;
    /// Time to resolve a name.
    resolve: Duration, "units::duration", seconds(5);
    /// Time from the end of a request to the first byte of the origin's answer; model calls think long.
    upstream_first_byte: Duration, "units::duration", seconds(900);
    /// Time without a byte in either direction while a request or an answer streams.
    stream_idle: Duration, "units::duration", seconds(900);
    /// Time without a byte in either direction on a WebSocket, or on a tunnel that is passed on unread.
    tunnel_idle: Duration, "units::duration", seconds(3_600);
    /// Origin connections kept for reuse.
    pool_connections: usize, "units::count", 256;
    /// Time that an origin connection is kept for reuse.
    pool_idle: Duration, "units::duration", seconds(60);
    /// Audit bytes that may wait to be written; above, nothing more leaves.
    audit_unwritten: usize, "units::size", 4 * MIB;
    /// Connections to the admin listener open at once.
    admin_connections: usize, "units::count", 64;
    /// Time for requests under way to end after a shutdown signal.
    drain: Duration, "units::duration", seconds(20);
}
