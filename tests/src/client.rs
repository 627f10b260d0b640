//! A client of the proxy: the same request over absolute-form, a CONNECT tunnel, TLS with HTTP/1 and TLS with HTTP/2.

use tokio_rustls::TlsConnector;

use crate::answer::Answer;
use crate::authority::{self, Alpn};
use crate::h2_client::H2;
use crate::tollgate::Tollgate;
use crate::wire::{H1, Stream};
use crate::within;

/// The way a request takes into the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// `GET http://host/ HTTP/1.1`.
    AbsoluteForm,
    /// Cleartext HTTP inside CONNECT.
    PlainTunnel,
    /// HTTP/1.1 in TLS inside CONNECT.
    TlsH1,
    /// HTTP/2 in TLS inside CONNECT.
    TlsH2,
}

impl Via {
    /// All four.
    pub const ALL: [Via; 4] = [Via::AbsoluteForm, Via::PlainTunnel, Via::TlsH1, Via::TlsH2];

    /// Whether the origin has to speak TLS.
    pub fn is_tls(self) -> bool {
        matches!(self, Via::TlsH1 | Via::TlsH2)
    }

    /// The `adapter` label of audit lines: how the request came to us.
    pub fn adapter(self) -> &'static str {
        match self {
            Via::AbsoluteForm => "forward",
            _ => "tunnel",
        }
    }
}

/// One request, whatever way it takes.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    /// Method.
    pub method: &'a str,
    /// Host of the target, and of CONNECT.
    pub host: &'a str,
    /// Port of the target.
    pub port: u16,
    /// Path and query.
    pub target: &'a str,
    /// Further fields.
    pub headers: Vec<(&'a str, String)>,
    /// Content; announced by `Content-Length` unless empty.
    pub body: &'a [u8],
}

impl<'a> Ask<'a> {
    /// A GET of `target` from [`crate::policy::HOST`].
    pub fn get(port: u16, target: &'a str) -> Self {
        Self {
            method: "GET",
            host: crate::policy::HOST,
            port,
            target,
            headers: Vec::new(),
            body: b"",
        }
    }

    /// The same with another method.
    #[must_use]
    pub fn method(mut self, method: &'a str) -> Self {
        self.method = method;
        self
    }

    /// The same to another host.
    #[must_use]
    pub fn host(mut self, host: &'a str) -> Self {
        self.host = host;
        self
    }

    /// The same with one more field.
    #[must_use]
    pub fn header(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// A POST of JSON.
    #[must_use]
    pub fn json(mut self, body: &'a str) -> Self {
        self.method = "POST";
        self.body = body.as_bytes();
        self.header("content-type", "application/json")
    }

    /// `host:port`.
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// As HTTP/1.1, in origin-form or absolute-form.
    pub fn h1(&self, via: Via) -> Vec<u8> {
        let scheme_and_authority = if via == Via::AbsoluteForm {
            format!("http://{}", self.authority())
        } else {
            String::new()
        };
        let mut text = format!(
            "{} {scheme_and_authority}{} HTTP/1.1\r\nHost: {}\r\n",
            self.method,
            self.target,
            self.authority()
        );
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        if !self.body.is_empty() {
            text += &format!("Content-Length: {}\r\n", self.body.len());
        }
        text += "\r\n";
        [text.as_bytes(), self.body].concat()
    }
}

impl Tollgate {
    /// A connection to the proxy.
    pub async fn dial(&self) -> H1 {
        H1::dial(self.proxy).await
    }

    /// A tunnel to `authority`, or the refusal.
    pub async fn tunnel(&self, authority: &str) -> Result<H1, Answer> {
        let mut connection = self.dial().await;
        let answer = connection
            .request(format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n"))
            .await;
        if answer.status == 200 { Ok(connection) } else { Err(answer) }
    }

    /// A TLS stream inside a tunnel to `authority`, trusting the proxy's CA, or the refusal of CONNECT.
    pub async fn tls_stream(&self, authority: &str, alpn: Alpn) -> Result<Stream, Answer> {
        let name = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
        self.tls_stream_as(authority, name, alpn).await
    }

    /// The same with another server name.
    pub async fn tls_stream_as(&self, authority: &str, sni: &str, alpn: Alpn) -> Result<Stream, Answer> {
        let tunnel = self.tunnel(authority).await?;
        let stream = self.handshake(tunnel.into_stream(), sni, alpn).await;
        Ok(stream.unwrap_or_else(|error| panic!("TLS with the proxy as {sni} failed: {error}\n{}", self.stderr())))
    }

    /// TLS on a stream that leads to the proxy.
    pub async fn handshake(&self, stream: Stream, sni: &str, alpn: Alpn) -> std::io::Result<Stream> {
        let config = authority::client(&self.ca_pem(), alpn);
        let name = sni.trim_matches(['[', ']']).to_owned().try_into().unwrap();
        let stream = within("TLS handshake", TlsConnector::from(config).connect(name, stream)).await?;
        Ok(Box::new(stream))
    }

    /// HTTP/1.1 in TLS inside a tunnel to [`crate::policy::HOST`].
    pub async fn tls_h1(&self, port: u16) -> H1 {
        let stream = self.tls_stream(&format!("{}:{port}", crate::policy::HOST), Alpn::H1).await;
        H1::new(stream.unwrap_or_else(|refusal| panic!("CONNECT refused: {refusal:?}")))
    }

    /// HTTP/2 in TLS inside a tunnel to [`crate::policy::HOST`].
    pub async fn tls_h2(&self, port: u16) -> H2 {
        let stream = self.tls_stream(&format!("{}:{port}", crate::policy::HOST), Alpn::H2).await;
        H2::new(stream.unwrap_or_else(|refusal| panic!("CONNECT refused: {refusal:?}"))).await
    }

    /// One request on a fresh connection. Where CONNECT is refused already, that refusal is the answer.
    pub async fn fetch(&self, via: Via, ask: &Ask<'_>) -> Answer {
        let authority = ask.authority();
        match via {
            Via::AbsoluteForm => self.dial().await.request(ask.h1(via)).await,
            Via::PlainTunnel => match self.tunnel(&authority).await {
                Ok(mut tunnel) => tunnel.request(ask.h1(via)).await,
                Err(refusal) => refusal,
            },
            Via::TlsH1 => match self.tls_stream(&authority, Alpn::H1).await {
                Ok(stream) => H1::new(stream).request(ask.h1(via)).await,
                Err(refusal) => refusal,
            },
            Via::TlsH2 => match self.tls_stream(&authority, Alpn::H2).await {
                Ok(stream) => H2::new(stream).await.ask(ask).await,
                Err(refusal) => refusal,
            },
        }
    }
}
