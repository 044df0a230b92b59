//! `audit`: appends one JSON line per call to a file (rule 9.8). It stands outside everything that
//! can refuse a call, so that refused calls have their line as well.

mod line;
#[cfg(test)]
mod tests;
mod writer;

use std::io;
use std::path::PathBuf;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use self::line::Line;
use self::writer::{Cleaning, Writer};
use super::ending::Ending;
use super::redact::SharedRedactor;
use super::settings::AuditSettings;
use super::{Counter, Middleware, Next, Request};
use crate::secrets::Secrets;
use crate::tool::ToolResult;

/// The layer.
#[derive(Debug)]
pub struct Audit {
    file: PathBuf,
    writer: Writer,
}

impl Audit {
    /// Opens the file and starts the thread that owns it.
    pub(super) fn open(
        settings: &AuditSettings,
        redactor: Option<SharedRedactor>,
        secrets: Secrets,
    ) -> io::Result<Self> {
        let cleaning = Cleaning { redactor, secrets };
        Ok(Self {
            file: settings.file.clone(),
            writer: Writer::open(&settings.file, cleaning)?,
        })
    }
}

impl Middleware for Audit {
    fn name(&self) -> &'static str {
        "audit"
    }

    fn settings(&self) -> Value {
        json!({"file": self.file})
    }

    fn counters(&self) -> Vec<Counter> {
        let counts = self.writer.counts();
        vec![
            counts.written.shown_as("written"),
            counts.lost.shown_as("lost"),
        ]
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.writer.flush())
    }

    fn handle<'a>(&'a self, request: Request, next: Next<'a>) -> BoxFuture<'a, ToolResult> {
        let line = Line::begin(&request.call);
        let ending = Ending::new(|end| self.writer.write(line.ended(end.kind())));
        Box::pin(async move {
            let result = next.run(request).await;
            ending.with(&result);
            result
        })
    }
}
