//! An authority that lives as long as the test.

use std::sync::{Arc, LazyLock};

use bowline_net::Trust;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

const HOSTS: [&str; 4] =
    ["api.openai.com", "api.anthropic.com", "generativelanguage.googleapis.com", "llm.example"];

static MADE: LazyLock<(String, Arc<ServerConfig>)> = LazyLock::new(make);

/// The authority alone.
pub(crate) fn trust() -> Trust {
    Trust::only(MADE.0.as_bytes()).unwrap()
}

/// A server with a certificate for the hosts of the tests.
pub(crate) fn server() -> Arc<ServerConfig> {
    MADE.1.clone()
}

fn make() -> (String, Arc<ServerConfig>) {
    let key = KeyPair::generate().unwrap();
    let mut authority = CertificateParams::new([]).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pem = authority.self_signed(&key).unwrap().pem();
    let issuer = Issuer::from_params(&authority, &key);
    let server_key = KeyPair::generate().unwrap();
    let hosts = HOSTS.map(str::to_owned);
    let certificate = CertificateParams::new(hosts).unwrap().signed_by(&server_key, &issuer).unwrap();
    let private = PrivateKeyDer::try_from(server_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    (pem, Arc::new(config))
}
