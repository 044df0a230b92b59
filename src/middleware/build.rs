//! From settings to a chain.

use std::sync::Arc;

use super::live::Live;
use super::settings::MiddlewareSettings;
use super::{
    Chain, Concurrency, Fault, Middleware, RateLimit, Recover, Redact, Redactor, ResultLimit,
    Timeout,
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
}

/// Why a chain cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A pattern of `redact` does not compile.
    #[error("`redact`: {0}")]
    Pattern(String),
}

/// Builds the layers that the settings switch on. Absent ones are skipped (rule 9.1), except that
/// `result_limit` also stands for the bound of non-text parts (rule 9.5).
///
/// # Errors
/// When a layer cannot be built; nothing has been started then.
pub fn build(settings: &MiddlewareSettings, context: &BuildContext) -> Result<Chain, BuildError> {
    let _ = context;
    let mut layers: Vec<Arc<dyn Middleware>> = Vec::new();
    if settings.recover {
        layers.push(Arc::new(Recover::default()));
    }
    if let Some(limit) = ResultLimit::new(settings) {
        layers.push(Arc::new(limit));
    }
    let redactor = match &settings.redact {
        Some(redact) => Some(Redactor::new(redact).map_err(BuildError::Pattern)?),
        None => None,
    };
    let redactor = redactor.map(|redactor| Arc::new(Live::new(redactor)));
    if let Some(redactor) = &redactor {
        layers.push(Arc::new(Redact::shared(Arc::clone(redactor))));
    }
    if let Some(rule) = &settings.timeout {
        layers.push(Arc::new(Timeout::new(rule.clone())));
    }
    if let Some(limit) = &settings.rate_limit {
        layers.push(Arc::new(RateLimit::new(limit.clone())));
    }
    if let Some(concurrency) = &settings.concurrency {
        layers.push(Arc::new(Concurrency::new(concurrency.clone())));
    }
    if let Some(fault) = &settings.fault {
        layers.push(Arc::new(Fault::new(fault.clone())));
    }
    Ok(Chain::new(layers))
}
