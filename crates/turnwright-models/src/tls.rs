//! TLS for all HTTP clients.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt as _;

/// Returns the TLS settings of a client: `ring`, and the certificates that the platform trusts.
///
/// Every client needs them: `reqwest` is built without a provider and panics otherwise. The default provider of the
/// process is the program's choice and is not touched.
///
/// # Errors
/// If the certificates of the platform cannot be loaded.
pub fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
