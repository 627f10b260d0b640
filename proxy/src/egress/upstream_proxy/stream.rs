//! A connection by the other proxy: what came with its answer, then the tunnel.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use pingora::protocols::l4::virt::{VirtualSockOpt, VirtualSocket};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

/// See the module.
#[derive(Debug)]
pub struct Chained {
    early: BytesMut,
    io: Either<TcpStream, Box<TlsStream<TcpStream>>>,
}

impl Chained {
    pub(super) fn plain(early: BytesMut, tcp: TcpStream) -> Self {
        Chained {
            early,
            io: Either::Left(tcp),
        }
    }

    pub(super) fn tls(early: BytesMut, tls: TlsStream<TcpStream>) -> Self {
        Chained {
            early,
            io: Either::Right(Box::new(tls)),
        }
    }
}

impl AsyncRead for Chained {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.early.is_empty() {
            return Pin::new(&mut self.io).poll_read(cx, buf);
        }
        let n = self.early.len().min(buf.remaining());
        buf.put_slice(&self.early.split_to(n));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Chained {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, b: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, b)
    }
    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, b: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, b)
    }
    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl VirtualSocket for Chained {
    /// The socket under it was set up when it was dialled.
    fn set_socket_option(&self, _: VirtualSockOpt) -> io::Result<()> {
        Ok(())
    }
}
