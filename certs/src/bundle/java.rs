//! The key store in which Java looks for its roots; it reads no PEM.
//!
//! In: certificates. Out: the bytes of a JKS file with one trusted entry each (format: `sun.security.provider.JavaKeyStore` of OpenJDK). Every
//! JDK reads it, while PKCS #12 stores of the newer kind are lost on those before 8u301. Of such a file it takes these few lines;
//! the libraries that write one bring a second generation of cryptography with them.

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use rustls::pki_types::CertificateDer;

/// What Java's own stores are locked with. It keeps no secret: all that is in here is public.
pub(crate) const PASSWORD: &str = "changeit";

const MAGIC: u32 = 0xfeed_feed;
const VERSION: u32 = 2;
const TRUSTED_CERTIFICATE: u32 = 2;
const WHITENER: &[u8] = b"Mighty Aphrodite";

/// A certificate, or all of them, that no key store can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more or larger certificates than a Java key store can hold")]
pub struct TooLarge;

/// The key store of `certificates`, all of them trusted.
pub(super) fn key_store(certificates: &[&CertificateDer<'static>]) -> Result<Vec<u8>, TooLarge> {
    let mut store = Vec::new();
    for number in [MAGIC, VERSION, length(certificates.len())?] {
        store.extend(number.to_be_bytes());
    }
    for (number, certificate) in certificates.iter().enumerate() {
        store.extend(TRUSTED_CERTIFICATE.to_be_bytes());
        text(&mut store, &format!("root-{number}"))?;
        // When the entry was made, in milliseconds.
        store.extend(0_u64.to_be_bytes());
        text(&mut store, "X.509")?;
        store.extend(length(certificate.len())?.to_be_bytes());
        store.extend_from_slice(certificate);
    }
    let mut seal = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    for unit in PASSWORD.encode_utf16() {
        seal.update(&unit.to_be_bytes());
    }
    seal.update(WHITENER);
    seal.update(&store);
    store.extend_from_slice(seal.finish().as_ref());
    Ok(store)
}

fn length(length: usize) -> Result<u32, TooLarge> {
    u32::try_from(length).map_err(|_| TooLarge)
}

/// As `DataOutput.writeUTF` writes what is ASCII.
fn text(store: &mut Vec<u8>, text: &str) -> Result<(), TooLarge> {
    let length = u16::try_from(text.len()).map_err(|_| TooLarge)?;
    store.extend(length.to_be_bytes());
    store.extend_from_slice(text.as_bytes());
    Ok(())
}
