//! The streams of one HTTP/2 client connection, all in one task: a task per stream costs a fifth more.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use pingora::protocols::Stream;
use pingora::protocols::http::v2::server::{default_h2_options, handshake};

use super::life::{Drain, revoked};
use crate::flow::{ClientSession, Connection, Engine, H2Request, Outcome};
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
            Some(outcome) = running.next(), if !running.is_empty() => {
                malformed += usize::from(matches!(outcome, Outcome::Malformed));
                if malformed > limits.h2_bad_streams {
                    return;
                }
                continue;
            }
            accepted = pingora::time::timeout(patience, h2.accept()) => accepted,
        };
        match accepted {
            Err(_) if running.is_empty() => return,
            Err(_) => {}
            Ok(None | Some(Err(_))) => return,
            Ok(Some(Ok((request, respond)))) => {
                let (engine, connection) = (engine.clone(), connection.clone());
                running.push(async move {
                    let mut down = ClientSession::H2(H2Request::new(request, respond, engine.limits.stream_idle));
                    let outcome = engine.exchange(&connection, &mut down).await;
                    down.finish().await;
                    outcome
                });
            }
        }
    }
}

fn patience(limits: &Limits, stopping: bool, idle: bool) -> Duration {
    if stopping && idle { GOAWAY_PATIENCE } else { limits.idle }
}
