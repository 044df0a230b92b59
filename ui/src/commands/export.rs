//! Where calls are exported to (rule 9.3): an OpenTelemetry collector, as the `OTEL_*` variables
//! say, in a build with the feature `otel`.

use std::sync::Arc;

use toolcrib::middleware::Instruments;

use super::failure::Failure;

/// The export that the environment asks for, if it does.
#[cfg(feature = "otel")]
pub(super) fn instruments() -> Result<Option<Arc<dyn Instruments>>, Failure> {
    match toolcrib::otel::Otel::from_env() {
        Ok(otel) => Ok(otel.map(|otel| Arc::new(otel) as Arc<dyn Instruments>)),
        Err(error) => Err(Failure::Usage(error.to_string())),
    }
}

/// Nothing: this build cannot export.
#[cfg(not(feature = "otel"))]
pub(super) fn instruments() -> Result<Option<Arc<dyn Instruments>>, Failure> {
    if std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some_and(|value| !value.is_empty()) {
        tracing::warn!(
            "`OTEL_EXPORTER_OTLP_ENDPOINT` is set, but this build exports nothing; build it with `--features otel`"
        );
    }
    Ok(None)
}
