//! The streams of one HTTP/2 client connection, all in one task: a task per stream costs a fifth more.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use pingora::protocols::http::ServerSession;
use pingora::protocols::http::v2::server::{H2Accept, HttpSession, default_h2_options, handshake};
use pingora::protocols::{Digest, Stream};

use super::life::{Drain, revoked};
use crate::flow::{Connection, Engine};
use crate::settings::Limits;

/// How long an idle client may ignore a GOAWAY.
const GOAWAY_PATIENCE: Duration = Duration::from_secs(1);
/// Receive windows: what one stream, and the connection, may have under way to us.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;

/// Serves until the client, the rules or a drain end it.
pub(crate) async fn serve(engine: &Arc<Engine>, connection: Arc<Connection>, stream: Stream, drain: Drain) {
    let limits = engine.limits;
    let mut options = default_h2_options();
    options
        .max_concurrent_streams(u32::try_from(limits.h2_streams).unwrap_or(u32::MAX))
        .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    let Ok(Ok(mut h2)) = tokio::time::timeout(limits.header_read, handshake(stream, Some(options))).await else {
        return;
    };
    let mut draining = pin!(drain.begun());
    let mut revocation = pin!(revoked(engine.clone(), connection.clone()));
    let digest = Arc::new(Digest::default());
    let mut running = FuturesUnordered::new();
    let (mut stopping, mut malformed) = (false, 0);
    loop {
        let patience = patience(&limits, stopping, running.is_empty());
        let accepted = tokio::select! { biased;
            () = &mut draining, if !stopping => {
                h2.graceful_shutdown();
                stopping = true;
                continue;
            }
            _ = &mut revocation => return,
            Some(()) = running.next(), if !running.is_empty() => continue,
            accepted = pingora::time::timeout(patience, HttpSession::from_h2_conn(&mut h2, digest.clone())) => accepted,
        };
        match accepted {
            Err(_) if running.is_empty() => return,
            Err(_) => {}
            Ok(Err(_) | Ok(None)) => return,
            Ok(Ok(Some(H2Accept::Rejected))) => {
                malformed += 1;
                // pingora has answered it with a bare 400; the line is ours to write.
                engine.note_malformed(&connection).await;
                if malformed > limits.h2_bad_streams {
                    return;
                }
            }
            Ok(Ok(Some(H2Accept::Session(session)))) => {
                let (engine, connection) = (engine.clone(), connection.clone());
                running.push(async move {
                    let mut down = ServerSession::H2(session);
                    engine.exchange(&connection, &mut down).await;
                    let _ = down.finish().await;
                });
            }
        }
    }
}

fn patience(limits: &Limits, stopping: bool, idle: bool) -> Duration {
    if stopping && idle { GOAWAY_PATIENCE } else { limits.idle }
}
