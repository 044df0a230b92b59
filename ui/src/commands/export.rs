//! Where calls and log lines are exported to (rule 9.3): an OpenTelemetry collector, as the `OTEL_*`
//! variables say, in a build with the feature `otel`.

pub(crate) use with::{flush, instruments, log_export};

#[cfg(feature = "otel")]
mod with {
    use std::fmt;
    use std::sync::{Arc, OnceLock};
    use std::time::SystemTime;

    use toolcrib::clock::Stamp;
    use toolcrib::middleware::Instruments;
    use toolcrib::otel::{LogLine, Otel};
    use toolcrib::secrets::Secrets;
    use tracing::field::{Field, Visit};
    use tracing::{Event, Subscriber};
    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::Context;

    use crate::commands::failure::Failure;

    /// Made once for the process: the log is started before the deployment, and both export
    /// through it. Never dropped, since dropping it would wait for a dead collector once more.
    static OTEL: OnceLock<Option<Arc<Otel>>> = OnceLock::new();

    fn otel(secrets: &Secrets) -> Result<Option<Arc<Otel>>, Failure> {
        if let Some(known) = OTEL.get() {
            return Ok(known.clone());
        }
        let made = Otel::from_env(secrets.clone());
        let made = made.map_err(|error| Failure::Usage(error.to_string()))?;
        Ok(OTEL.get_or_init(|| made.map(Arc::new)).clone())
    }

    /// The export that the environment asks for, if it does.
    pub(crate) fn instruments(secrets: &Secrets) -> Result<Option<Arc<dyn Instruments>>, Failure> {
        Ok(otel(secrets)?.map(|otel| otel as Arc<dyn Instruments>))
    }

    /// The layer of the log that exports its lines, if the environment asks for it.
    pub(crate) fn log_export(secrets: &Secrets) -> Result<Option<LogExport>, Failure> {
        Ok(otel(secrets)?.map(LogExport))
    }

    /// Sends what is left, within a bound.
    pub(crate) async fn flush() {
        if let Some(Some(otel)) = OTEL.get() {
            otel.flush().await;
        }
    }

    /// Exports the lines of the log.
    #[derive(Debug)]
    pub(crate) struct LogExport(Arc<Otel>);

    impl<S: Subscriber> Layer<S> for LogExport {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let mut said = Said::default();
            event.record(&mut said);
            let metadata = event.metadata();
            self.0.log(&LogLine {
                at: SystemTime::from(Stamp::now().wall),
                level: *metadata.level(),
                target: metadata.target(),
                message: &said.message,
                fields: &said.fields,
            });
        }
    }

    /// The message and the fields of an event.
    #[derive(Default)]
    struct Said {
        message: String,
        fields: Vec<(&'static str, String)>,
    }

    impl Visit for Said {
        fn record_str(&mut self, field: &Field, value: &str) {
            match field.name() {
                "message" => value.clone_into(&mut self.message),
                name => self.fields.push((name, value.to_owned())),
            }
        }

        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            self.record_str(field, &format!("{value:?}"));
        }
    }
}

#[cfg(not(feature = "otel"))]
mod with {
    use std::sync::Arc;

    use toolcrib::middleware::Instruments;
    use toolcrib::secrets::Secrets;
    use tracing_subscriber::layer::Identity;

    use crate::commands::failure::Failure;

    /// Nothing: this build cannot export.
    pub(crate) type LogExport = Identity;

    /// Nothing: this build cannot export.
    pub(crate) fn instruments(_: &Secrets) -> Result<Option<Arc<dyn Instruments>>, Failure> {
        if std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some_and(|value| !value.is_empty()) {
            tracing::warn!(
                "`OTEL_EXPORTER_OTLP_ENDPOINT` is set, but this build exports nothing; build it with `--features otel`"
            );
        }
        Ok(None)
    }

    /// Nothing: this build cannot export.
    pub(crate) fn log_export(_: &Secrets) -> Result<Option<LogExport>, Failure> {
        Ok(None)
    }

    /// Nothing is left to send.
    pub(crate) async fn flush() {}
}
