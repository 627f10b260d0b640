//! After a `101`: both ends speak something else. Here bytes go both ways unread until one of them ends or falls silent.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use pingora::protocols::Stream;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::record::Traffic;
use super::session::ClientSession;
use crate::egress::session::OriginSession;
use crate::egress::wire::Wire;

/// The two connections of an upgraded exchange, without the sessions that stood on them.
pub(super) struct Ends {
    pub(super) client: Box<Wire>,
    pub(super) origin: Stream,
    /// Bytes that came with the heads.
    pub(super) from_client: Bytes,
    pub(super) from_origin: Bytes,
}

impl Ends {
    /// `None` where one of them is no HTTP/1 connection; those are never upgraded.
    pub(super) async fn of(down: ClientSession, up: OriginSession) -> Option<Self> {
        let (ClientSession::H1(down), OriginSession::H1(mut up, wire, _)) = (down, up) else {
            return None;
        };
        let mut down = down.into_session();
        up.maybe_upgrade_body_writer();
        // They sit in the sessions and would be lost with them.
        let there = |bytes: Option<pingora::Result<Option<Bytes>>>| bytes.and_then(Result::ok).flatten().unwrap_or_default();
        let from_origin = there(up.read_body_bytes().now_or_never());
        let from_client = there(down.read_body_bytes().now_or_never());
        let mut client = down.into_inner().into_any().downcast::<Wire>().ok()?;
        client.make_eager();
        wire.lock().make_eager();
        let mut origin = up.into_inner();
        let _ = client.flush().await;
        let _ = origin.flush().await;
        Some(Ends {
            client,
            origin,
            from_client,
            from_origin,
        })
    }
}

/// Joins the two connections of an upgraded exchange.
pub(super) async fn splice(ends: &mut Ends, idle: Duration, traffic: &mut Traffic) -> io::Result<()> {
    ends.client.write_all(&ends.from_origin).await?;
    ends.client.flush().await?;
    ends.origin.write_all(&ends.from_client).await?;
    ends.origin.flush().await?;
    traffic.bytes_up += ends.from_client.len() as u64;
    traffic.bytes_down += ends.from_origin.len() as u64;
    copy_both_ways(&mut *ends.client, &mut ends.origin, idle, traffic).await
}

/// Copies until both sides have ended, or nothing has moved for `idle`; what has moved is counted whatever the end.
pub(crate) async fn copy_both_ways(
    client: &mut (impl AsyncRead + AsyncWrite + Unpin),
    origin: &mut (impl AsyncRead + AsyncWrite + Unpin),
    idle: Duration,
    traffic: &mut Traffic,
) -> io::Result<()> {
    let (mut client_read, mut client_write) = tokio::io::split(client);
    let (mut origin_read, mut origin_write) = tokio::io::split(origin);
    let activity = Activity::default();
    let upwards = pump(&mut client_read, &mut origin_write, &mut traffic.bytes_up, &activity);
    let downwards = pump(&mut origin_read, &mut client_write, &mut traffic.bytes_down, &activity);
    let both = async { tokio::try_join!(upwards, downwards) };
    tokio::select! {
        ended = both => { ended?; }
        () = activity.silence(idle) => {}
    }
    Ok(())
}

/// Counts what moves, so that silence can be told from slowness.
#[derive(Default)]
pub(super) struct Activity(std::sync::atomic::AtomicU64);

impl Activity {
    pub(super) fn happened(&self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    pub(super) async fn silence(&self, idle: Duration) {
        let mut seen = u64::MAX;
        loop {
            let now = self.0.load(std::sync::atomic::Ordering::Relaxed);
            if now == seen {
                return;
            }
            seen = now;
            tokio::time::sleep(idle).await;
        }
    }
}

async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    copied: &mut u64,
    activity: &Activity,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let n = from.read(&mut buffer).await?;
        let Some(bytes) = buffer.get(..n).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        activity.happened();
        to.write_all(bytes).await?;
        to.flush().await?;
        *copied += n as u64;
    }
    to.shutdown().await
}
