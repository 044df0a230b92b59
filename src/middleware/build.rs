//! From settings to a chain.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::live::Live;
use super::settings::MiddlewareSettings;
use super::{
    Approval, Approvals, Audit, Chain, Concurrency, Fault, Instruments, Middleware, RateLimit,
    Recover, Redact, Redactor, ResultLimit, Telemetry, Timeout, Validate,
};
use crate::registry::Registry;
use crate::secrets::Secrets;

/// What layers need beside their settings.
#[derive(Clone)]
pub struct BuildContext {
    /// Where a lazy tool that was loaded on the way is refreshed.
    pub registry: Arc<Registry>,
    /// The values to mask in what layers write and show.
    pub secrets: Secrets,
    /// Where an operator answers what `approval` asks.
    pub approvals: Approvals,
    /// What `telemetry` tells, if the host exports anything.
    pub instruments: Option<Arc<dyn Instruments>>,
}

/// Why a chain cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A pattern of `redact` does not compile.
    #[error("`redact`: {0}")]
    Pattern(String),
    /// The file of `audit` cannot be opened.
    #[error("`audit`: cannot open `{}` for appending: {source}", file.display())]
    AuditFile {
        /// The file.
        file: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Builds the layers that the settings switch on. Absent ones are skipped (rule 9.1), except that
/// `result_limit` also stands for the bound of non-text parts (rule 9.5).
///
/// # Errors
/// When a layer cannot be built; nothing has been started then.
pub fn build(settings: &MiddlewareSettings, context: &BuildContext) -> Result<Chain, BuildError> {
    // What can fail comes first, so that a failure leaves nothing behind.
    let redactor = match &settings.redact {
        Some(redact) => Some(Redactor::new(redact).map_err(BuildError::Pattern)?),
        None => None,
    };
    let redactor = redactor.map(|redactor| Arc::new(Live::new(redactor)));
    let mut layers: Vec<Arc<dyn Middleware>> = Vec::new();
    if let Some(audit) = &settings.audit {
        let layer = Audit::open(audit, redactor.clone(), context.secrets.clone());
        layers.push(Arc::new(layer.map_err(|source| BuildError::AuditFile {
            file: audit.file.clone(),
            source,
        })?));
    }
    if settings.recover {
        layers.push(Arc::new(Recover::default()));
    }
    if settings.telemetry {
        let (instruments, secrets) = (context.instruments.clone(), context.secrets.clone());
        layers.push(Arc::new(Telemetry::new(instruments, secrets)));
    }
    if let Some(limit) = ResultLimit::new(settings) {
        layers.push(Arc::new(limit.keeping(context.secrets.clone())));
    }
    if let Some(redactor) = redactor {
        layers.push(Arc::new(Redact::shared(redactor)));
    }
    if settings.validate {
        layers.push(Arc::new(Validate::new(Arc::clone(&context.registry))));
    }
    if let Some(rule) = settings.approval.clone() {
        let (approvals, secrets) = (context.approvals.clone(), context.secrets.clone());
        layers.push(Arc::new(Approval::new(rule, approvals, secrets)));
    }
    if let Some(rule) = settings.timeout.clone() {
        layers.push(Arc::new(Timeout::new(rule)));
    }
    if let Some(limit) = settings.rate_limit.clone() {
        layers.push(Arc::new(RateLimit::new(limit)));
    }
    if let Some(concurrency) = settings.concurrency.clone() {
        layers.push(Arc::new(Concurrency::new(concurrency)));
    }
    layers.push(Arc::new(match settings.fault.clone() {
        Some(fault) => Fault::new(fault),
        None => Fault::asleep(),
    }));
    Ok(Chain::new(layers))
}
