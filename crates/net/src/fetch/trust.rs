//! Whose certificates are believed: the public authorities compiled in, and those
//! the caller adds. The machine's own store and environment are not consulted,
//! so a run trusts the same authorities everywhere.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// Certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadTrust {
    /// Not a certificate file.
    #[error("no certificate can be read from the file of authorities")]
    Pem,
    /// A certificate that is no authority.
    #[error("a certificate in the file cannot be an authority")]
    Authority {
        /// Why.
        source: rustls::Error,
    },
    /// The TLS library has no common protocol version with itself.
    #[error("TLS cannot be set up")]
    Setup {
        /// Why.
        source: rustls::Error,
    },
}

impl BadTrust {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Pem | Self::Authority { .. } => {
                "give a PEM file that holds the authority's own certificate"
            }
            Self::Setup { .. } => "report this: the build of Bowline is at fault",
        }
    }
}

/// The authorities a client believes.
#[derive(Clone, Debug)]
pub struct Trust {
    roots: RootCertStore,
}

impl Trust {
    /// The public ones, as Mozilla lists them.
    #[must_use]
    pub fn public() -> Self {
        Self { roots: webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect() }
    }

    /// None but those in this PEM file.
    pub fn only(pem: &[u8]) -> Result<Self, BadTrust> {
        Self { roots: RootCertStore::empty() }.and(pem)
    }

    /// Those in this PEM file as well.
    pub fn and(mut self, pem: &[u8]) -> Result<Self, BadTrust> {
        let before = self.roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|_| BadTrust::Pem)?;
            self.roots.add(certificate).map_err(|source| BadTrust::Authority { source })?;
        }
        if self.roots.len() == before { Err(BadTrust::Pem) } else { Ok(self) }
    }

    /// What the TLS library is set up with: HTTP/1.1, no client certificate.
    pub(super) fn config(self) -> Result<Arc<ClientConfig>, BadTrust> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|source| BadTrust::Setup { source })?;
        let mut config = builder.with_root_certificates(self.roots).with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}
