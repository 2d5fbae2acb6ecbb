//! A certificate whose size never changes, and the TLS configurations of both sides.

use crate::Refused;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{ClientConfig, ServerConfig};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::sync::Arc;

/// The name in the certificate.
pub(crate) const NAME: &str = "origin.example";

/// One certificate for all fetches.
#[derive(Debug)]
pub struct Credentials {
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Credentials {
    /// A fresh self-signed Ed25519 certificate: its signatures have 64 bytes whatever they sign.
    ///
    /// # Errors
    /// [`Refused`] when the library cannot make one.
    pub fn new() -> Result<Self, Refused> {
        let refused = |e: rcgen::Error| Refused(e.to_string());
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).map_err(refused)?;
        let params = rcgen::CertificateParams::new(vec![NAME.to_owned()]).map_err(refused)?;
        let certificate = params.self_signed(&key).map_err(refused)?;
        Ok(Self { certificate: certificate.der().clone(), key: key.serialize_der() })
    }

    /// Bytes of the certificate chain.
    #[must_use]
    pub fn chain_bytes(&self) -> u64 {
        self.certificate.len() as u64
    }

    pub(crate) fn server(&self) -> Result<ServerConfig, Refused> {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|b| b.with_no_client_auth().with_single_cert(vec![self.certificate.clone()], key))
            .map_err(|e| Refused(e.to_string()))?;
        config.send_tls13_tickets = 0;
        let crypto = QuicServerConfig::try_from(config).map_err(|e| Refused(e.to_string()))?;
        Ok(ServerConfig::with_crypto(Arc::new(crypto)))
    }

    pub(crate) fn client(&self) -> Result<ClientConfig, Refused> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.certificate.clone()).map_err(|e| Refused(e.to_string()))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|e| Refused(e.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let crypto = QuicClientConfig::try_from(config).map_err(|e| Refused(e.to_string()))?;
        Ok(ClientConfig::new(Arc::new(crypto)))
    }
}
