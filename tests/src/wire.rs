//! HTTP/1 in the raw: bytes out, answers in. Nothing is tidied up, so that a test can say what no library would.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::answer::{Answer, Ending, Framing, Interim, field};
use crate::within;

/// A byte stream in both directions.
pub trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// Any byte stream: TCP, or TLS in whatever depth.
pub type Stream = Box<dyn Duplex>;

/// One end of an HTTP/1 connection with the bytes that were read ahead.
pub struct H1 {
    stream: Stream,
    buffer: BytesMut,
}

/// A message head: first line and fields in order and case of the wire.
#[derive(Debug, Clone)]
pub struct Head {
    /// Request line or status line.
    pub first_line: String,
    /// Fields.
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// Parses everything before the empty line, leniently: this end records, it does not judge.
    pub fn parse(text: &str) -> Self {
        let mut lines = text.split("\r\n");
        let first_line = lines.next().unwrap_or_default().to_owned();
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
            .collect();
        Self { first_line, headers }
    }

    /// The first field of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        field(&self.headers, name)
    }
}

impl H1 {
    /// Speaks over `stream`.
    pub fn new(stream: Stream) -> Self {
        Self {
            stream,
            buffer: BytesMut::new(),
        }
    }

    /// Connects to `address`.
    pub async fn dial(address: SocketAddr) -> Self {
        let stream = within("TCP connection", TcpStream::connect(address)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self::new(Box::new(stream))
    }

    /// The stream underneath; bytes read ahead are lost, so there must be none.
    #[track_caller]
    pub fn into_stream(self) -> Stream {
        assert!(self.buffer.is_empty(), "bytes after the head: {:?}", self.buffer);
        self.stream
    }

    /// Sends bytes as they are.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        within("sending", self.try_send(bytes)).await.unwrap();
    }

    /// Sends bytes to a peer that may be gone.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> std::io::Result<()> {
        self.stream.write_all(bytes.as_ref()).await?;
        self.stream.flush().await
    }

    /// Ends the sending direction.
    pub async fn finish_sending(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    /// Sends a request and reads its answer.
    pub async fn request(&mut self, text: impl AsRef<[u8]>) -> Answer {
        let method = text.as_ref().split(|b| *b == b' ').next().unwrap_or_default().to_vec();
        self.send(&text).await;
        self.answer(&String::from_utf8_lossy(&method)).await
    }

    /// Reads the answer to a request of that method, interim ones included.
    #[track_caller]
    pub fn answer(&mut self, method: &str) -> impl Future<Output = Answer> + Send {
        let caller = std::panic::Location::caller();
        let method = method.to_owned();
        async move {
            match within(&format!("answer, asked at {caller}"), self.answer_or_end(&method)).await {
                Ok(answer) => answer,
                Err(end) => panic!("no answer but {end}, asked at {caller}"),
            }
        }
    }

    /// Reads the answer, or says how the connection ended before one.
    pub async fn answer_or_end(&mut self, method: &str) -> Result<Answer, String> {
        let mut interim = Vec::new();
        loop {
            let head = self.read_head().await?;
            let mut words = head.first_line.split(' ');
            let version = match words.next() {
                Some("HTTP/1.1") => 1,
                Some("HTTP/1.0") => 0,
                _ => return Err(format!("not a status line: {}", head.first_line)),
            };
            let status: u16 = words.next().and_then(|word| word.parse().ok()).ok_or("no status")?;
            if (100..200).contains(&status) && status != 101 {
                interim.push(Interim {
                    status,
                    headers: head.headers,
                });
                continue;
            }
            let framing = framing_of(method, status, &head);
            let (body, trailers, ending) = self.read_body(framing, &head).await;
            return Ok(Answer {
                interim,
                version,
                status,
                headers: head.headers,
                body,
                trailers,
                framing,
                ending,
            });
        }
    }

    /// Reads up to the empty line.
    pub async fn read_head(&mut self) -> Result<Head, String> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                let head = self.buffer.split_to(end + 4);
                return Ok(Head::parse(&String::from_utf8_lossy(&head[..end])));
            }
            self.fill().await?;
        }
    }

    /// Reads content as `framing` has it. What came before a break is kept.
    pub async fn read_body(&mut self, framing: Framing, head: &Head) -> (Bytes, Vec<(String, String)>, Ending) {
        let mut body = BytesMut::new();
        let mut trailers = Vec::new();
        let result = match framing {
            Framing::Bodyless | Framing::H2 => Ok(()),
            Framing::Length => {
                let length: usize = head.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
                self.read_exactly(length, &mut body).await
            }
            Framing::Chunked => self.read_chunks(&mut body, &mut trailers).await,
            Framing::Close => loop {
                body.extend_from_slice(&self.buffer.split());
                match self.fill().await {
                    Ok(()) => {}
                    Err(end) if end.starts_with("end of stream") => break Ok(()),
                    Err(end) => break Err(end),
                }
            },
        };
        let ending = result.map_or_else(Ending::Cut, |()| Ending::Complete);
        (body.freeze(), trailers, ending)
    }

    async fn read_exactly(&mut self, mut length: usize, body: &mut BytesMut) -> Result<(), String> {
        while length > 0 {
            if self.buffer.is_empty() {
                self.fill().await?;
            }
            let piece = self.buffer.split_to(length.min(self.buffer.len()));
            length -= piece.len();
            body.extend_from_slice(&piece);
        }
        Ok(())
    }

    async fn read_chunks(&mut self, body: &mut BytesMut, trailers: &mut Vec<(String, String)>) -> Result<(), String> {
        loop {
            let line = self.read_line().await?;
            let size = line.split(';').next().unwrap_or_default().trim();
            let size = usize::from_str_radix(size, 16).map_err(|_| format!("bad chunk size {line:?}"))?;
            if size == 0 {
                break;
            }
            self.read_exactly(size, body).await?;
            self.read_line().await?;
        }
        loop {
            let line = self.read_line().await?;
            match line.split_once(':') {
                Some((name, value)) => trailers.push((name.to_owned(), value.trim().to_owned())),
                None => return Ok(()),
            }
        }
    }

    async fn read_line(&mut self) -> Result<String, String> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n") {
                let line = self.buffer.split_to(end);
                self.buffer.advance(2);
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            self.fill().await?;
        }
    }

    /// Reads once more from the peer.
    async fn fill(&mut self) -> Result<(), String> {
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(0) => Err(format!("end of stream after {:?}", self.buffer)),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(format!("end without close_notify after {:?}", self.buffer))
            }
            Err(error) => Err(format!("{error} after {:?}", self.buffer)),
        }
    }

    /// Whatever comes next, at least one byte unless the peer ended.
    pub async fn some_bytes(&mut self) -> Bytes {
        if self.buffer.is_empty() {
            let _ = within("some bytes", self.fill()).await;
        }
        self.buffer.split().freeze()
    }

    /// The same, however long it takes.
    pub async fn next_bytes(&mut self) -> Bytes {
        if self.buffer.is_empty() {
            let _ = self.fill().await;
        }
        self.buffer.split().freeze()
    }

    /// Exactly so many bytes, or as many as came before the end.
    pub async fn exactly(&mut self, length: usize) -> Bytes {
        let mut bytes = BytesMut::new();
        let _ = within("bytes", self.read_exactly(length, &mut bytes)).await;
        bytes.freeze()
    }

    /// Whether the peer ends this connection within `patience`, sending nothing more.
    pub async fn ends_within(&mut self, patience: Duration) -> bool {
        matches!(tokio::time::timeout(patience, self.fill()).await, Ok(Err(_)))
    }

    /// Whether the peer stays quiet and connected for `span`.
    pub async fn stays_quiet_for(&mut self, span: Duration) -> bool {
        self.buffer.is_empty() && tokio::time::timeout(span, self.fill()).await.is_err()
    }
}

fn framing_of(method: &str, status: u16, head: &Head) -> Framing {
    let opened = method.eq_ignore_ascii_case("CONNECT") && (200..300).contains(&status);
    if method.eq_ignore_ascii_case("HEAD") || matches!(status, 101 | 204 | 304) || opened {
        Framing::Bodyless
    } else if head.header("transfer-encoding").is_some() {
        Framing::Chunked
    } else if head.header("content-length").is_some() {
        Framing::Length
    } else {
        Framing::Close
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
