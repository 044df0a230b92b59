//! Opens the way to a server: starts its process or prepares its client.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use http::{HeaderName, HeaderValue};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;

use crate::source::FailureKind;
use crate::source::mcp::auth::Auth;
use crate::source::mcp::transport::process::{Process, Program};
use crate::source::mcp::transport::{Trouble, http as http_transport, resolve};
use crate::source::mcp::{ServerSettings, TransportSettings};

/// Headers of every request.
pub(super) type Headers = HashMap<HeaderName, HeaderValue>;

/// What an opened way to the server consists of.
pub(in super::super) enum Wire {
    /// Lines in both directions.
    Lines(Lines),
    /// Requests to an address.
    Http(Http),
}

/// Lines, with the process behind them if there is one.
pub(in super::super) struct Lines {
    pub(in super::super) reader: Box<dyn AsyncRead + Send + Unpin>,
    pub(in super::super) writer: Box<dyn AsyncWrite + Send + Unpin>,
    pub(in super::super) stderr: Option<Box<dyn AsyncRead + Send + Unpin>>,
    pub(in super::super) process: Option<Process>,
}

/// An address, and how it is asked.
pub(in super::super) struct Http {
    pub(super) client: reqwest::Client,
    pub(super) url: Arc<str>,
    pub(super) headers: Headers,
    pub(super) timeout: Option<Duration>,
    pub(super) auth: Option<Arc<Auth>>,
}

/// Opens the way to a server. The seam behind which tests put a server of their own.
pub(in super::super) trait Connector: Send + Sync + 'static {
    fn open<'a>(&'a self, tracker: &'a TaskTracker) -> BoxFuture<'a, Result<Wire, Trouble>>;

    /// How the server is authorized, where it may ask for that.
    fn auth(&self) -> Option<Arc<Auth>> {
        None
    }

    /// The file that the command resolves to now, to be shown.
    fn resolved(&self) -> Option<String> {
        None
    }
}

/// Reaches a server as its settings say.
pub(in super::super) struct Configured {
    pub(in super::super) settings: Arc<ServerSettings>,
    pub(in super::super) own_command: Option<PathBuf>,
    pub(in super::super) auth: Option<Arc<Auth>>,
    /// Made at the first attempt and kept: it holds the certificates of the system.
    pub(in super::super) http: OnceCell<reqwest::Client>,
}

impl Configured {
    async fn open_http(
        &self,
        url: &str,
        headers: &[(String, String)],
        timeout: Option<Duration>,
    ) -> Result<Wire, Trouble> {
        let client = self
            .http
            .get_or_try_init(|| async { http_transport::client() })
            .await?
            .clone();
        if let Some(auth) = &self.auth {
            auth.take_up().await;
        }
        Ok(Wire::Http(Http {
            client,
            url: url.into(),
            headers: http_transport::headers(headers)?,
            timeout,
            auth: self.auth.clone(),
        }))
    }
}

impl Connector for Configured {
    fn auth(&self) -> Option<Arc<Auth>> {
        self.auth.clone()
    }

    fn resolved(&self) -> Option<String> {
        let file = self.file().ok()?;
        Some(file.to_string_lossy().into_owned())
    }

    fn open<'a>(&'a self, tracker: &'a TaskTracker) -> BoxFuture<'a, Result<Wire, Trouble>> {
        Box::pin(async move {
            match &self.settings.transport {
                TransportSettings::Http {
                    url,
                    headers,
                    http_timeout,
                } => self.open_http(url, headers, *http_timeout).await,
                TransportSettings::Stdio { args, env, cwd, .. } => {
                    let program = Program {
                        file: self.file()?,
                        args: args.clone(),
                        env: env.clone(),
                        cwd: cwd.clone(),
                    };
                    let (process, pipes) = Process::start(&program, tracker).await?;
                    Ok(Wire::Lines(Lines {
                        reader: Box::new(pipes.stdout),
                        writer: Box::new(pipes.stdin),
                        stderr: Some(Box::new(pipes.stderr)),
                        process: Some(process),
                    }))
                }
            }
        })
    }
}

impl Configured {
    /// The file that the command resolves to now.
    pub(in super::super) fn file(&self) -> Result<PathBuf, Trouble> {
        let TransportSettings::Stdio {
            command, env, cwd, ..
        } = &self.settings.transport
        else {
            return Err(FailureKind::BadSettings.into());
        };
        let path = env
            .iter()
            .rev()
            .find(|(name, _)| name == "PATH")
            .map(|(_, path)| path.into())
            .or_else(|| std::env::var_os("PATH"))
            .unwrap_or_default();
        resolve(command, cwd.as_deref(), &path, self.own_command.as_deref())
    }
}
