//! The streams that pingora's sessions stand on, towards the client and towards the origin.
//!
//! For HTTP/1 a [`Wire`] is *lazy*: what was written leaves when we turn to listen (`poll_read`), when [`CORK`] bytes wait, or at
//! shutdown, so that head, body and last chunk become one TLS record and one system call. HTTP/2 has a write buffer of its own and
//! flushes after reading, so there a wire is eager from the start; after a `101` both directions run at once and nobody turns to
//! listen any more, so a spliced wire is made eager too (a lazy one would dead-lock).

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use async_trait::async_trait;
use bytes::BytesMut;
use pingora::protocols::raw_connect::ProxyDigest;
use pingora::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, Stream, TimingDigest, UniqueID, UniqueIDType,
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use super::chunks::{ChunkError, ChunkWatch};
use super::trailers::TrailerSections;

/// Bytes that a lazy wire holds before it writes of its own accord.
pub(crate) const CORK: usize = 16 << 10;

/// When written bytes leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// When we turn to listen: HTTP/1.
    Lazy,
    /// At once: HTTP/2, spliced and raw connections.
    Eager,
}

/// A TCP stream that first replays the bytes that had to be read to know what it is.
#[derive(Debug)]
pub(crate) struct Rewind {
    prefix: BytesMut,
    tcp: TcpStream,
}

impl Rewind {
    pub(crate) fn new(prefix: BytesMut, tcp: TcpStream) -> Self {
        Rewind { prefix, tcp }
    }
}

impl AsyncRead for Rewind {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.prefix.is_empty() {
            return Pin::new(&mut self.tcp).poll_read(cx, buf);
        }
        let n = self.prefix.len().min(buf.remaining());
        buf.put_slice(&self.prefix.split_to(n));
        if self.prefix.is_empty() {
            self.prefix = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Rewind {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, b: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, b)
    }
    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, b: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write_vectored(cx, b)
    }
    fn is_write_vectored(&self) -> bool {
        true // TLS hands over all its records in one writev
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

/// The transports a [`Wire`] can stand on.
#[derive(Debug)]
pub(crate) enum Transport {
    /// A client in cleartext.
    Plain(Rewind),
    /// A client whose TLS we terminate.
    Tls(Box<tokio_rustls::server::TlsStream<Rewind>>),
    /// A connection that pingora dialled.
    Origin(Stream),
}

macro_rules! on_transport {
    ($self:ident, $io:ident => $e:expr) => {
        match &mut $self.transport {
            Transport::Plain($io) => $e,
            Transport::Tls($io) => $e,
            Transport::Origin($io) => $e,
        }
    };
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Wire {
    transport: Transport,
    fd: UniqueIDType,
    pace: Pace,
    out: Vec<u8>,
    sent: usize,
    dirty: bool,
    /// Looks at what is read, while that is a chunked body.
    watch: Option<ChunkWatch>,
    trailers: TrailerSections,
}

impl Wire {
    /// `fd` is the real descriptor: pingora's pool compares `getpeername(fd)` with the peer it hands a connection out for.
    pub(crate) fn new(transport: Transport, fd: UniqueIDType, pace: Pace) -> Self {
        Wire {
            transport,
            fd,
            pace,
            out: Vec::new(),
            sent: 0,
            dirty: false,
            watch: None,
            trailers: TrailerSections::default(),
        }
    }

    /// Where the trailer sections of its HTTP/1 messages are found.
    pub(crate) fn trailers(&self) -> &TrailerSections {
        &self.trailers
    }

    /// After an upgrade.
    pub(crate) fn make_eager(&mut self) {
        self.pace = Pace::Eager;
    }

    /// What is read from now on is a chunked body that begins with `early`, or is not chunked.
    pub(crate) fn expect_chunks(&mut self, early: Option<&[u8]>) -> Result<(), ChunkError> {
        self.watch = None;
        let Some(early) = early else { return Ok(()) };
        let mut watch = ChunkWatch::new();
        watch.see(early)?;
        self.watch = Some(watch);
        Ok(())
    }

    fn poll_drain_buffer(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(waiting) = self.out.get(self.sent..).filter(|waiting| !waiting.is_empty()) {
            match ready!(on_transport!(self, io => Pin::new(io).poll_write(cx, waiting)))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => self.sent += n,
            }
        }
        self.out.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }

    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain_buffer(cx))?;
        if self.dirty {
            ready!(on_transport!(self, io => Pin::new(io).poll_flush(cx)))?;
            self.dirty = false;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // A failed drain is not a failed read: a peer that no longer listens may still have answered (an early 413).
        let _ = self.poll_drain(cx);
        let before = buf.filled().len();
        ready!(on_transport!(self, io => Pin::new(io).poll_read(cx, buf)))?;
        let fresh = buf.filled().get(before..).unwrap_or_default();
        if let Some(watch) = &mut self.watch {
            watch
                .see(fresh)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
        self.trailers.hear(fresh);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, b: &[u8]) -> Poll<io::Result<usize>> {
        if self.pace == Pace::Eager || self.out.len() + b.len() > CORK {
            ready!(self.poll_drain_buffer(cx))?;
        }
        self.dirty = true;
        if let Some(last_chunk) = self.trailers.in_place_of(b) {
            self.out.extend_from_slice(&last_chunk);
            return Poll::Ready(Ok(b.len()));
        }
        if self.pace == Pace::Eager || b.len() >= CORK {
            return on_transport!(self, io => Pin::new(io).poll_write(cx, b));
        }
        self.out.extend_from_slice(b);
        Poll::Ready(Ok(b.len()))
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, b: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if self.pace == Pace::Lazy {
            let first = b.iter().find(|b| !b.is_empty()).map_or(&[][..], |b| b);
            return self.poll_write(cx, first);
        }
        ready!(self.poll_drain_buffer(cx))?;
        self.dirty = true;
        on_transport!(self, io => Pin::new(io).poll_write_vectored(cx, b))
    }

    fn is_write_vectored(&self) -> bool {
        self.pace == Pace::Eager // lets h2 hand over frame head and payload together
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.pace {
            Pace::Lazy => Poll::Ready(Ok(())),
            Pace::Eager => self.poll_drain(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_drain(cx))?;
        on_transport!(self, io => Pin::new(io).poll_shutdown(cx))
    }
}

/// An origin's wire, held by pingora's session and by whoever uploads: both directions can move at once.
#[derive(Debug, Clone)]
pub(crate) struct SharedWire(Arc<Mutex<Wire>>);

impl SharedWire {
    pub(crate) fn new(wire: Wire) -> Self {
        SharedWire(Arc::new(Mutex::new(wire)))
    }

    /// A poisoned lock only says that another task panicked while it copied bytes; the connection is then closed by its error.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Wire> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AsyncRead for SharedWire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_read(cx, buf)
    }
}

impl AsyncWrite for SharedWire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, b: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.lock()).poll_write(cx, b)
    }
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_flush(cx)
    }
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_shutdown(cx)
    }
}

macro_rules! pingora_stream {
    ($($t:ty: $self:ident => $fd:expr),*) => {$(
        #[async_trait]
        impl Shutdown for $t {
            async fn shutdown(&mut self) {
                let _ = AsyncWriteExt::shutdown(self).await;
            }
        }
        impl UniqueID for $t {
            fn id(&$self) -> UniqueIDType {
                $fd
            }
        }
        impl Ssl for $t {}
        impl GetTimingDigest for $t {
            fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
                Vec::new()
            }
        }
        impl GetProxyDigest for $t {
            fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
                None
            }
        }
        impl GetSocketDigest for $t {
            fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
                None
            }
        }
        impl Peek for $t {}
    )*};
}
pingora_stream!(Wire: self => self.fd, SharedWire: self => self.lock().fd);
