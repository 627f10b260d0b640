//! The certificates of a sandbox.
//!
//! In comes the name of an origin that a client wants to reach; out goes the TLS configuration under which Tollgate answers
//! in that origin's name. Beside it stand the two files and the environment variables by which clients come to trust it.
//!
//! * [`CertificateAuthority`]: made at start, its key never leaves memory.
//! * [`LeafCache`]: one `rustls::ServerConfig` per [`LeafName`], bounded, minted once.
//! * [`Roots`]: the certificates that are trusted already, from the system and from extra files.
//! * [`TrustBundle`]: `tollgate-ca.pem`, `ca-bundle.pem` and what is made of them for single clients, written atomically.
//! * [`ClientEnvironment`]: what HTTP and TLS clients have to be told.

mod authority;
mod bundle;
mod cache;
mod environment;
mod mint;
mod name;
mod roots;

pub use authority::{AuthorityError, CertificateAuthority};
pub use bundle::java::TooLarge;
pub use bundle::{BUNDLE_FILE, BundleError, CA_FILE, TrustBundle, write_certificates};
pub use cache::{DEFAULT_CAPACITY, LeafCache};
pub use environment::{ClientEnvironment, DEFAULT_NO_PROXY, EnvironmentError, Format, Inherited, Variable};
pub use mint::{LeafError, LeafLifetime};
pub use name::{LeafName, LeafNameError};
pub use roots::{Roots, RootsError, read_certificates};
