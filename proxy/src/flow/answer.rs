//! What Tollgate itself says to a client: the denial, on HTTP/1 and HTTP/2 alike, and the visible cut of a broken answer.

use std::time::Duration;

use bytes::Bytes;
use http::header;
use pingora::Result;
use pingora::http::ResponseHeader;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::grpc;
use super::session::ClientSession;
use crate::gate::{Denial, Subject};

/// How long and how far the rest of a refused request is read, so that the client gets to read the answer instead of a reset.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 8 << 20;

/// The head fields of every denial.
pub(crate) const REASON_FIELD: &str = "X-Tollgate-Reason";

/// Writes a denial as the complete answer. The connection ends after it on HTTP/1: what follows a refused request is not trusted to
/// be the next one.
pub(crate) async fn deny(down: &mut ClientSession, denial: &Denial, subject: &Subject<'_>) -> Result<()> {
    let body = Bytes::from(denial.body(subject));
    let mut head = ResponseHeader::build(denial.status(), Some(6))?;
    head.insert_header(header::CACHE_CONTROL, "no-store")?;
    head.insert_header(REASON_FIELD, denial.reason.as_str())?;
    let is_grpc = grpc::is_grpc(down.req_header());
    if is_grpc {
        grpc::say(&mut head, denial)?;
    } else {
        head.insert_header(header::CONTENT_TYPE, "application/json")?;
        head.insert_header(header::CONTENT_LENGTH, body.len())?;
    }
    down.close_after();
    let bodyless = is_grpc || down.req_header().method == http::Method::HEAD;
    if bodyless {
        write_head(down, Box::new(head), End::HeadOnly).await?;
    } else {
        down.write_response_header(Box::new(head)).await?;
        down.write_response_body(body).await?;
        down.end_response().await?;
    }
    linger(down).await;
    Ok(())
}

/// Reads on for a moment: closing a socket with unread bytes resets it, and the reset can overtake the answer.
async fn linger(down: &mut ClientSession) {
    if down.is_h2() || down.is_body_done() || down.is_upgrade_req() {
        return;
    }
    // Asked for only now, `100 Continue` never having been sent, the body will not come.
    if pingora::protocols::http::v1::common::is_expect_continue_req(down.req_header()) && down.body_bytes_read() == 0 {
        return;
    }
    let drain = async {
        let mut read = 0;
        while let Ok(Some(chunk)) = down.read_request_body().await {
            read += chunk.len();
            if read > LINGER_BYTES {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(LINGER, drain).await;
}

/// What follows a response head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// A body.
    BodyFollows,
    /// Nothing: the head is the answer.
    HeadOnly,
}

/// Writes a response head.
pub(crate) async fn write_head(down: &mut ClientSession, head: Box<ResponseHeader>, end: End) -> Result<()> {
    match end {
        End::HeadOnly => down.write_whole_answer(head).await,
        End::BodyFollows => down.write_response_header(head).await,
    }
}

/// A denial as the bytes of an HTTP/1.1 answer, where no session stands on the connection.
pub(crate) fn raw(denial: &Denial, subject: &Subject<'_>) -> Vec<u8> {
    let body = denial.body(subject);
    let status = denial.status();
    let mut bytes = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nCache-Control: no-store\r\n{REASON_FIELD}: {}\r\nConnection: close\r\n\r\n",
        status.as_u16(),
        status.canonical_reason().unwrap_or_default(),
        body.len(),
        denial.reason,
    )
    .into_bytes();
    bytes.extend_from_slice(&body);
    bytes
}

/// Writes the last bytes of a connection so that they arrive: ends our side, then reads on for a moment instead of resetting.
pub(crate) async fn last_words(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), bytes: &[u8]) {
    let talk = async {
        stream.write_all(bytes).await?;
        stream.shutdown().await?;
        let mut ignored = vec![0; 4 << 10];
        let mut left = LINGER_BYTES;
        while left > 0 {
            match stream.read(&mut ignored).await? {
                0 => break,
                n => left = left.saturating_sub(n),
            }
        }
        Ok::<(), std::io::Error>(())
    };
    let _ = tokio::time::timeout(LINGER, talk).await;
}
