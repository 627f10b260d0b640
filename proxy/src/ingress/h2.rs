//! The streams of one HTTP/2 client connection, all in one task: a task per stream costs a fifth more.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use pingora::protocols::Stream;
use pingora::protocols::http::v2::server::{default_h2_options, handshake};

use tollgate_policy::Reason;

use super::life::{Drain, revoked};
use crate::flow::{ClientSession, Connection, Engine, H2Request, Outcome};
use crate::gate::Denial;
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
    let mut abuse = Abuse::default();
    let mut stopping = false;
    loop {
        let patience = patience(&limits, stopping, running.is_empty());
        // A reset ends a stream for the protocol, not what it set going here: what runs is counted, or a client that resets each stream at
        // once has as many under way as it likes (CVE-2023-44487). Streams that wait are kept few by h2 itself.
        let has_room = running.len() < limits.h2_streams;
        let next = async {
            if has_room {
                return pingora::time::timeout(patience, h2.accept()).await;
            }
            let _ = poll_fn(|context| h2.poll_closed(context)).await;
            Ok(None)
        };
        let accepted = tokio::select! { biased;
            () = &mut draining, if !stopping => {
                h2.graceful_shutdown();
                stopping = true;
                continue;
            }
            _ = &mut revocation => return,
            Some(fate) = running.next(), if !running.is_empty() => {
                abuse.ended(fate);
                if abuse.is_over(&limits) {
                    let denial = Denial::new(Reason::OverCapacity, "the client sends nothing but malformed requests, or resets them as fast as it sends them");
                    engine.note_refused(&connection, &denial).await;
                    return calm(&mut h2).await;
                }
                continue;
            }
            accepted = next => accepted,
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
                    let fate = match outcome {
                        Outcome::Malformed => Fate::Malformed,
                        _ if down.is_unanswered() => Fate::Abandoned,
                        _ => Fate::Answered,
                    };
                    down.finish().await;
                    fate
                });
            }
        }
    }
}

/// What became of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Answered,
    /// No origin could take it for a request that means one thing.
    Malformed,
    /// The client reset it before there was an answer.
    Abandoned,
}

/// How a client misuses its connection.
#[derive(Debug, Default)]
struct Abuse {
    malformed: usize,
    /// Streams that were abandoned, less those that were waited for: who gives up now and then is not shut out.
    abandoned: usize,
}

impl Abuse {
    fn ended(&mut self, fate: Fate) {
        match fate {
            Fate::Answered => self.abandoned = self.abandoned.saturating_sub(1),
            Fate::Abandoned => self.abandoned += 1,
            Fate::Malformed => self.malformed += 1,
        }
    }

    fn is_over(&self, limits: &Limits) -> bool {
        self.malformed + self.abandoned > limits.h2_bad_streams
    }
}

/// Ends a connection whose client has to be told to calm down (RFC 9113 section 7).
async fn calm(h2: &mut ::h2::server::Connection<Stream, Bytes>) {
    h2.abrupt_shutdown(::h2::Reason::ENHANCE_YOUR_CALM);
    let _ = tokio::time::timeout(GOAWAY_PATIENCE, poll_fn(|context| h2.poll_closed(context))).await;
}

fn patience(limits: &Limits, stopping: bool, idle: bool) -> Duration {
    if stopping && idle { GOAWAY_PATIENCE } else { limits.idle }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_gives_up_now_and_then_is_not_shut_out_and_who_only_does_is() {
        let limits = Limits::default();
        let mut honest = Abuse::default();
        for _ in 0..10_000 {
            honest.ended(Fate::Abandoned);
            honest.ended(Fate::Answered);
        }
        assert!(!honest.is_over(&limits));
        let mut flood = Abuse::default();
        for _ in 0..=limits.h2_bad_streams {
            assert!(!flood.is_over(&limits));
            flood.ended(Fate::Abandoned);
        }
        assert!(flood.is_over(&limits));
        let malformed = Abuse {
            malformed: limits.h2_bad_streams + 1,
            abandoned: 0,
        };
        assert!(malformed.is_over(&limits));
    }
}
