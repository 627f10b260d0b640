//! After a `101`: both ends speak something else, and bytes go both ways until one of them ends or falls silent.

use std::io;
use std::time::Duration;

use futures::FutureExt;
use pingora::protocols::http::ServerSession;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::egress::session::OriginSession;
use crate::egress::wire::Wire;

/// Joins the two connections of an upgraded exchange.
pub(crate) async fn splice(down: ServerSession, up: OriginSession, idle: Duration) {
    let (ServerSession::H1(mut down), OriginSession::H1(mut up, wire)) = (down, up) else {
        return;
    };
    up.maybe_upgrade_body_writer();
    // Bytes that came with the heads sit in the sessions and would be lost with them.
    let from_origin = up.read_body_bytes().now_or_never();
    let from_client = down.read_body_bytes().now_or_never();
    if let Some(Ok(Some(bytes))) = &from_origin {
        let _ = down.write_body(bytes).await;
    }
    if let Some(Ok(Some(bytes))) = &from_client {
        let _ = up.write_body(bytes).await;
    }
    let Ok(mut client) = down.into_inner().into_any().downcast::<Wire>() else {
        return;
    };
    client.make_eager();
    wire.lock().make_eager();
    let mut origin = up.into_inner();
    let _ = client.flush().await;
    let _ = origin.flush().await;
    let _ = copy_both_ways(&mut *client, &mut origin, idle).await;
}

/// Copies until both sides have ended, or nothing has moved for `idle`.
pub(crate) async fn copy_both_ways(
    client: &mut (impl AsyncRead + AsyncWrite + Unpin),
    origin: &mut (impl AsyncRead + AsyncWrite + Unpin),
    idle: Duration,
) -> io::Result<(u64, u64)> {
    let (mut client_read, mut client_write) = tokio::io::split(client);
    let (mut origin_read, mut origin_write) = tokio::io::split(origin);
    let (mut up, mut down) = (0, 0);
    let activity = Activity::default();
    let upwards = pump(&mut client_read, &mut origin_write, &mut up, &activity);
    let downwards = pump(&mut origin_read, &mut client_write, &mut down, &activity);
    let both = async { tokio::try_join!(upwards, downwards) };
    tokio::select! {
        ended = both => { ended?; }
        () = activity.silence(idle) => {}
    }
    Ok((up, down))
}

/// Counts what moves, so that silence can be told from slowness.
#[derive(Default)]
struct Activity(std::sync::atomic::AtomicU64);

impl Activity {
    fn happened(&self) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    async fn silence(&self, idle: Duration) {
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
