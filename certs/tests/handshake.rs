//! A real TLS client that trusts only the authority shakes hands with what the cache hands out.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::str::FromStr;
use std::sync::Arc;

use rustls::client::{ClientSessionMemoryCache, ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, HandshakeKind, NamedGroup, RootCertStore, ServerConfig, ServerConnection};
use tollgate_certs::{CertificateAuthority, DEFAULT_CAPACITY, LeafCache, LeafLifetime, LeafName};

fn cache() -> LeafCache {
    LeafCache::new(CertificateAuthority::generate().unwrap(), LeafLifetime::default(), DEFAULT_CAPACITY).unwrap()
}

fn client_config(trusted: &CertificateDer<'static>, versions: &[&'static rustls::SupportedProtocolVersion]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
    Arc::new(config)
}

/// Both ends after the handshake, or the client's reason to refuse.
fn handshake(
    client: &Arc<ClientConfig>,
    server: &Arc<ServerConfig>,
    name: &str,
) -> Result<(ClientConnection, ServerConnection), rustls::Error> {
    let mut client = ClientConnection::new(client.clone(), ServerName::try_from(name.to_owned()).unwrap()).unwrap();
    let mut server = ServerConnection::new(server.clone()).unwrap();
    for _ in 0..10 {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        let mut sent = wire.as_slice();
        while !sent.is_empty() {
            server.read_tls(&mut sent).unwrap();
        }
        server.process_new_packets().unwrap();
        let mut wire = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        let mut sent = wire.as_slice();
        while !sent.is_empty() {
            client.read_tls(&mut sent).unwrap();
            client.process_new_packets()?;
        }
    }
    assert!(
        !client.is_handshaking() && !server.is_handshaking(),
        "handshake with {name} did not end"
    );
    Ok((client, server))
}

#[test]
fn names_and_addresses_verify_against_the_authority() {
    let cache = cache();
    let long = format!("{}.{}.example.com", "a".repeat(63), "b".repeat(63));
    for name in [
        "example.com",
        "xn--bcher-kva.example",
        "_dmarc.example.com",
        long.as_str(),
        "192.0.2.7",
        "127.0.0.1",
        "2001:db8::1",
        "::1",
    ] {
        let server = cache.server_config(&LeafName::from_str(name).unwrap()).unwrap();
        for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
            let client = client_config(cache.authority().certificate(), &[version]);
            let (client, server) = handshake(&client, &server, name).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(client.protocol_version(), Some(version.version), "{name}");
            assert_eq!(server.alpn_protocol(), Some(&b"h2"[..]), "our own preference decides");
            let chain = client.peer_certificates().unwrap();
            assert_eq!(chain.len(), 2, "leaf and authority");
            assert_eq!(&chain[1], cache.authority().certificate());
        }
    }
}

#[test]
fn a_leaf_is_good_for_its_own_host_only() {
    let cache = cache();
    let client = client_config(cache.authority().certificate(), rustls::ALL_VERSIONS);
    for (leaf, asked) in [
        ("example.com", "www.example.com"),
        ("www.example.com", "example.com"),
        ("192.0.2.7", "192.0.2.8"),
        ("example.com", "192.0.2.7"),
        ("192.0.2.7", "::ffff:192.0.2.7"),
    ] {
        let server = cache.server_config(&LeafName::from_str(leaf).unwrap()).unwrap();
        let refused = handshake(&client, &server, asked).unwrap_err();
        assert!(
            matches!(refused, rustls::Error::InvalidCertificate(_)),
            "{leaf} for {asked}: {refused}"
        );
    }
}

#[test]
fn another_runs_authority_is_not_trusted() {
    let (ours, theirs) = (cache(), cache());
    let client = client_config(theirs.authority().certificate(), rustls::ALL_VERSIONS);
    let server = ours.server_config(&LeafName::from_str("example.com").unwrap()).unwrap();
    let refused = handshake(&client, &server, "example.com").unwrap_err();
    assert!(matches!(refused, rustls::Error::InvalidCertificate(_)), "{refused}");
}

#[test]
fn a_second_connection_resumes() {
    let cache = cache();
    let server = cache.server_config(&LeafName::from_str("example.com").unwrap()).unwrap();
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        let client = client_config(cache.authority().certificate(), &[version]);
        let (first, _) = handshake(&client, &server, "example.com").unwrap();
        assert_eq!(first.handshake_kind(), Some(HandshakeKind::Full));
        let (second, _) = handshake(&client, &server, "example.com").unwrap();
        assert_eq!(second.handshake_kind(), Some(HandshakeKind::Resumed), "{version:?}");
    }
}

/// A client that offers its newest session whatever the host, as a hostile one may.
#[derive(Debug)]
struct AnyHost(ClientSessionMemoryCache);

impl AnyHost {
    fn name() -> ServerName<'static> {
        ServerName::try_from("any.example.com").unwrap()
    }
}

impl ClientSessionStore for AnyHost {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.0.set_kx_hint(Self::name(), group);
    }
    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.0.kx_hint(&Self::name())
    }
    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.0.set_tls12_session(Self::name(), value);
    }
    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.0.tls12_session(&Self::name())
    }
    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.0.remove_tls12_session(&Self::name());
    }
    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.0.insert_tls13_ticket(Self::name(), value);
    }
    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.0.take_tls13_ticket(&Self::name())
    }
}

/// All hosts share one ticket key; a session of one host must still not be resumed under another (RFC 6066, section 3).
#[test]
fn a_session_is_not_resumed_for_another_host() {
    let cache = cache();
    let (one, other) = ("one.example.com", "other.example.com");
    for version in [&rustls::version::TLS13, &rustls::version::TLS12] {
        let mut client = Arc::unwrap_or_clone(client_config(cache.authority().certificate(), &[version]));
        client.resumption = Resumption::store(Arc::new(AnyHost(ClientSessionMemoryCache::new(8))));
        let client = Arc::new(client);
        let kind = |name: &str| {
            let server = cache.server_config(&name.parse().unwrap()).unwrap();
            handshake(&client, &server, name).unwrap().0.handshake_kind()
        };
        assert_eq!(kind(one), Some(HandshakeKind::Full));
        assert_eq!(kind(one), Some(HandshakeKind::Resumed), "the store does offer its session");
        assert_eq!(kind(other), Some(HandshakeKind::Full), "{version:?}");
    }
}

/// Early data can be replayed by anyone who saw it: a payment in it would be made twice.
#[test]
fn early_data_is_never_accepted() {
    let config = cache().server_config(&"example.com".parse().unwrap()).unwrap();
    assert_eq!(config.max_early_data_size, 0);
}
