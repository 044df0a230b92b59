//! The running source: registers the tools of the files, and runs the servers of its servers file.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::process::Command;
use tokio::sync::watch;

use super::http::HttpClient;
use super::repeats::Repeats;
use super::settings::{FileServer, SkillsSettings, StoredVariable};
use super::shelf::Shelf;
use super::tool::{FileTool, Workshop};
use crate::registry::{Owner, Registry};
use crate::secrets::Secrets;
use crate::source::mcp::{McpContext, McpSettings, McpSource, TransportSettings};
use crate::source::{OrderError, ServerOrder, ServerRows, Source};
use crate::tool::SharedTool;

/// How long `pass show` may take (skills 6).
const PASS_TIME: Duration = Duration::from_secs(5);

/// Why a skills source could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SkillsError {
    /// The HTTP client could not be made.
    #[error("the HTTP client cannot be made: {0}")]
    Client(#[from] reqwest::Error),
    /// A value could not be had from the password store, and there is nothing to fall back to.
    #[error(
        "server `{server}`: `{variable}` cannot be read: `pass show {entry}` {reason}, and \
         {fallback}"
    )]
    Pass {
        /// The server.
        server: String,
        /// The variable that it needs.
        variable: String,
        /// The entry of the password store.
        entry: String,
        /// What came of asking for it.
        reason: String,
        /// Why the variable of our environment does not help.
        fallback: String,
    },
}

/// What a running source has beside its files.
struct Parts {
    name: Arc<str>,
    place: u32,
    repeats: Arc<Repeats>,
    own: Option<Arc<McpSource>>,
    secrets: Secrets,
}

/// A running skills source.
pub struct SkillsSource {
    name: Arc<str>,
    shelf: Arc<Shelf>,
    place: u32,
    repeats: Arc<Repeats>,
    /// The servers of the servers file, if there are any.
    own: Option<Arc<McpSource>>,
    /// What `servers` follows when there are none.
    none: watch::Sender<ServerRows>,
}

impl SkillsSource {
    /// Registers the tools before it returns. `servers` are the MCP sources that it depends on.
    /// The servers of the servers file connect in the background; their own tools are not
    /// registered, only those of the skill files are.
    ///
    /// # Errors
    /// When a variable of a server cannot be read, or the HTTP client cannot be made; nothing has
    /// been registered then.
    pub async fn start(
        name: Arc<str>,
        place: u32,
        settings: &SkillsSettings,
        registry: &Registry,
        servers: Vec<Arc<McpSource>>,
        context: McpContext,
    ) -> Result<Self, SkillsError> {
        let secrets = context.secrets.clone();
        let own = own_settings(&settings.servers, &secrets).await?;
        let own = own.map(|own| start_own(&name, place, own, context));
        let parts = Parts {
            name,
            place,
            repeats: Arc::default(),
            own,
            secrets,
        };
        Self::serve(parts, settings, registry, servers).await
    }

    /// Tries what could fail of a start, without any effect.
    ///
    /// # Errors
    /// Those of [`SkillsSource::start`].
    pub async fn rehearse(settings: &SkillsSettings) -> Result<(), SkillsError> {
        HttpClient::new()?;
        let nobody = Secrets::default();
        own_settings(&settings.servers, &nobody).await.map(|_| ())
    }

    /// Takes other settings over: the source that is given has this one's place and those of its
    /// servers that are the same, and this one is to be dropped without being closed.
    ///
    /// # Errors
    /// Those of [`SkillsSource::start`]; nothing has changed then.
    pub async fn renew(
        &self,
        settings: &SkillsSettings,
        registry: &Registry,
        servers: Vec<Arc<McpSource>>,
        context: McpContext,
    ) -> Result<Self, SkillsError> {
        let (name, secrets) = (Arc::clone(&self.name), context.secrets.clone());
        let own = match (&self.own, own_settings(&settings.servers, &secrets).await?) {
            (Some(own), Some(settings)) => {
                own.change(settings).await;
                Some(Arc::clone(own))
            }
            (None, Some(settings)) => Some(start_own(&name, self.place, settings, context)),
            (own, None) => {
                if let Some(own) = own {
                    own.close().await;
                }
                None
            }
        };
        let parts = Parts {
            name,
            place: self.place,
            repeats: Arc::clone(&self.repeats),
            own,
            secrets,
        };
        Self::serve(parts, settings, registry, servers).await
    }

    async fn serve(
        parts: Parts,
        settings: &SkillsSettings,
        registry: &Registry,
        servers: Vec<Arc<McpSource>>,
    ) -> Result<Self, SkillsError> {
        let Parts {
            name,
            place,
            repeats,
            own,
            secrets,
        } = parts;
        let client = HttpClient::new()?;
        let shelf = Arc::new(Shelf::new(&name, settings, &secrets));
        let workshop = Arc::new(Workshop {
            source: Arc::clone(&name),
            library: Arc::clone(&settings.library),
            client,
            secrets,
            repeats: Arc::clone(&repeats),
            servers: servers.into_iter().chain(own.clone()).collect(),
        });
        let tools = settings.tools.iter().map(|spec| {
            Arc::new(FileTool {
                spec: Arc::clone(spec),
                workshop: Arc::clone(&workshop),
            }) as SharedTool
        });
        let owner = Owner::source(Arc::clone(&name), place);
        registry.publish(&owner, tools.collect()).await;
        Ok(Self {
            name,
            shelf,
            place,
            repeats,
            own,
            none: watch::Sender::default(),
        })
    }
}

impl Source for SkillsSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "skills"
    }

    fn servers(&self) -> watch::Receiver<ServerRows> {
        match &self.own {
            Some(own) => own.servers(),
            None => self.none.subscribe(),
        }
    }

    fn authorize(&self, server: &str) -> BoxFuture<'_, Result<String, OrderError>> {
        if let Some(own) = &self.own {
            return own.authorize(server);
        }
        let error = OrderError::UnknownServer {
            source_name: self.name.to_string(),
            server: server.to_owned(),
        };
        Box::pin(async { Err(error) })
    }

    fn order(&self, server: &str, order: ServerOrder) -> BoxFuture<'_, Result<String, OrderError>> {
        if let Some(own) = &self.own {
            return own.order(server, order);
        }
        let error = OrderError::UnknownServer {
            source_name: self.name.to_string(),
            server: server.to_owned(),
        };
        Box::pin(async { Err(error) })
    }

    fn shelf(&self) -> Option<Arc<Shelf>> {
        Some(Arc::clone(&self.shelf))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(own) = &self.own {
                own.close().await;
            }
        })
    }
}

/// The settings of the servers of the servers file, with the values that a password store has.
async fn own_settings(
    servers: &[FileServer],
    secrets: &Secrets,
) -> Result<Option<McpSettings>, SkillsError> {
    if servers.is_empty() {
        return Ok(None);
    }
    let mut settings = McpSettings::default();
    // All at once, so that a store that hangs costs its five seconds once.
    let asked = servers.iter().flat_map(|server| {
        let variables = server.stored.iter();
        variables.map(|variable| stored(&server.settings.name, variable))
    });
    let mut values = futures::future::try_join_all(asked).await?.into_iter();
    for server in servers {
        let mut ready = server.settings.clone();
        for (variable, value) in server.stored.iter().zip(values.by_ref()) {
            secrets.add(&value);
            if let TransportSettings::Stdio { env, .. } = &mut ready.transport {
                env.push((variable.name.clone(), value));
            }
        }
        settings.servers.push(ready);
    }
    Ok(Some(settings))
}

/// Starts the servers of the servers file.
fn start_own(
    name: &Arc<str>,
    place: u32,
    settings: McpSettings,
    context: McpContext,
) -> Arc<McpSource> {
    // Their tools are reached through skills alone: they go into a registry that nobody reads.
    let context = McpContext {
        registry: Arc::new(Registry::new()),
        ..context
    };
    Arc::new(McpSource::start(Arc::clone(name), place, settings, context))
}

/// The value of a variable: from the password store, else from our environment.
async fn stored(server: &str, variable: &StoredVariable) -> Result<String, SkillsError> {
    let reason = match pass(&variable.pass).await {
        Ok(value) => return Ok(value),
        Err(reason) => reason,
    };
    match &variable.fallback {
        Some((_, Some(value))) => Ok(value.clone()),
        other => Err(SkillsError::Pass {
            server: server.to_owned(),
            variable: variable.name.clone(),
            entry: variable.pass.clone(),
            reason,
            fallback: match other {
                Some((name, _)) => format!("the environment variable `{name}` is not set"),
                None => "no `env` is named to fall back to".to_owned(),
            },
        }),
    }
}

/// The first line that `pass show` prints, or what came of it in words.
async fn pass(entry: &str) -> Result<String, String> {
    let mut command = Command::new("pass");
    command
        .args(["show", entry])
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true);
    match tokio::time::timeout(PASS_TIME, command.output()).await {
        Err(_) => Err(format!("did not answer within {PASS_TIME:?}")),
        Ok(Err(error)) => Err(format!("could not be started: {error}")),
        Ok(Ok(output)) if !output.status.success() => Err(format!("ended with {}", output.status)),
        Ok(Ok(output)) => {
            let text = String::from_utf8_lossy(&output.stdout);
            let first = text.lines().next().unwrap_or_default();
            match first {
                "" => Err("printed nothing".into()),
                value => Ok(value.to_owned()),
            }
        }
    }
}
