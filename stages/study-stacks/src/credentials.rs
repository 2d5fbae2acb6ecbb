//! One certificate chain of a stated size for all arms.
//!
//! A private authority signs one server certificate, padded by an extension until the chain has exactly the asked number
//! of bytes. Keys are Ed25519, so that signatures have 64 bytes whatever they sign and every handshake of a trial has the
//! same size. The authority itself is not sent: clients have it.

mod file;

use crate::error::StackError;
use rcgen::{CertificateParams, CustomExtension, IsCa, Issuer, KeyPair, PKCS_ED25519, SerialNumber};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde::{Deserialize, Serialize};

/// Object identifier of the padding: in the arc of examples (RFC 9371 section 4, 2.999), which nobody interprets.
const PADDING: [u64; 3] = [2, 999, 1];
/// Largest chain: below the largest handshake message that rustls takes (64 KiB).
const MOST: u64 = 60_000;

/// A certificate chain with its key and the authority that signed it. Can be written down and read by another process.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    authority: Vec<u8>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("chain_bytes", &self.chain_bytes()).finish_non_exhaustive()
    }
}

/// What a client needs to believe a server: the authority's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    pub(crate) authority: CertificateDer<'static>,
}

impl Credentials {
    /// A fresh authority and a certificate for the DNS names `names`, whose chain has `chain_bytes` bytes
    /// (0: as small as it comes).
    ///
    /// # Errors
    /// [`StackError::ChainSize`] when no chain has this size, [`StackError::Credentials`] when the library refuses.
    pub fn new(names: &[&str], chain_bytes: u64) -> Result<Self, StackError> {
        let failed = |error: rcgen::Error| StackError::credentials(error);
        let authority_key = KeyPair::generate_for(&PKCS_ED25519).map_err(failed)?;
        let mut authority = CertificateParams::new(Vec::new()).map_err(failed)?;
        authority.is_ca = IsCa::Ca(rcgen::BasicConstraints::Constrained(0));
        let root = authority.self_signed(&authority_key).map_err(failed)?;
        let issuer = Issuer::new(authority, authority_key);
        let key = KeyPair::generate_for(&PKCS_ED25519).map_err(failed)?;
        let make = |padding: Option<usize>| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            let mut params = CertificateParams::new(names)?;
            params.serial_number = Some(SerialNumber::from_slice(&[1; 8]));
            if let Some(bytes) = padding {
                params.custom_extensions.push(CustomExtension::from_oid_content(&PADDING, vec![0; bytes]));
            }
            Ok(params.signed_by(&key, &issuer)?.der().to_vec())
        };
        let certificate = padded(chain_bytes, |padding| make(padding).map_err(failed))?;
        Ok(Self { authority: root.der().to_vec(), certificate, key: key.serialize_der() })
    }

    /// Bytes of the certificate chain that a full handshake carries.
    #[must_use]
    pub fn chain_bytes(&self) -> u64 {
        self.certificate.len() as u64
    }

    /// What clients must have.
    #[must_use]
    pub fn trust(&self) -> Trust {
        Trust { authority: CertificateDer::from(self.authority.clone()) }
    }

    pub(crate) fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from(self.certificate.clone())]
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.clone()))
    }
}

/// The certificate of exactly `wanted` bytes among those that `make` gives for a number of padding bytes.
fn padded(wanted: u64, make: impl Fn(Option<usize>) -> Result<Vec<u8>, StackError>) -> Result<Vec<u8>, StackError> {
    let bare = make(None)?;
    if wanted == 0 || wanted == bare.len() as u64 {
        return Ok(bare);
    }
    let least = make(Some(0))?.len() as u64;
    let refused = || StackError::ChainSize { asked: wanted, least: bare.len() as u64, most: MOST };
    if !(least..=MOST).contains(&wanted) {
        return Err(refused());
    }
    // Lengths in DER take more bytes as they grow: step towards the size instead of computing it.
    let mut padding = wanted - least;
    for _ in 0..8 {
        let certificate = make(Some(usize::try_from(padding).map_err(|_| refused())?))?;
        let got = certificate.len() as u64;
        if got == wanted {
            return Ok(certificate);
        }
        padding = (padding + wanted).checked_sub(got).ok_or_else(refused)?;
    }
    Err(refused())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_has_exactly_the_asked_size() {
        let smallest = Credentials::new(&["a.study"], 0).unwrap().chain_bytes();
        assert!(smallest < 600, "{smallest}");
        for wanted in [700, 1_500, 3_000, 4_097, 20_000] {
            assert_eq!(Credentials::new(&["a.study"], wanted).unwrap().chain_bytes(), wanted);
        }
    }

    #[test]
    fn a_size_that_cannot_be_made_is_refused_with_those_that_can() {
        for wanted in [100, 70_000] {
            let error = Credentials::new(&["a.study"], wanted).unwrap_err();
            assert!(matches!(error, StackError::ChainSize { asked, .. } if asked == wanted), "{error}");
        }
    }

    #[test]
    fn another_process_reads_what_one_wrote() {
        let made = Credentials::new(&["a.study"], 1_000).unwrap();
        let text = serde_json::to_string(&made).unwrap();
        assert_eq!(serde_json::from_str::<Credentials>(&text).unwrap(), made);
        assert!(!format!("{made:?}").contains("key"), "the key is not printed");
    }
}
