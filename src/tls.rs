//! The cryptography behind TLS.

/// Makes sure that TLS has a provider, which HTTP clients of this build do not bring. Whoever
/// installed one before keeps it.
pub(crate) fn install_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
