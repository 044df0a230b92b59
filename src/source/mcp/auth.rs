//! Authorization of a server reached by HTTP: the code flow with PKCE that an operator starts,
//! tokens kept for the next time, and their refresh.
//!
//! Tokens lie in files that their owner alone can read, as ssh keys do, and not in the system's
//! keyring: that would need a D-Bus client or a C library in every build, and is missing on most
//! machines that are reached over ssh.

mod callback;
mod store;

use std::path::Path;
use std::sync::Arc;

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, InMemoryCredentialStore, OAuthState,
};
use tokio::sync::Mutex;

use crate::secrets::Secrets;
use callback::Callback;
use store::FileStore;

/// What the authorization server is told of us when we register.
const CLIENT: &str = "toolcrib";

/// The authorization of one server.
pub(super) struct Auth {
    url: String,
    store: Option<FileStore>,
    /// Once there are tokens. Held while they are refreshed, so that one refresh serves all
    /// requests that wait for it.
    manager: Mutex<Option<AuthorizationManager>>,
    secrets: Secrets,
}

/// An authorization that waits for the operator.
pub(super) struct Begun {
    /// Where the operator has to go.
    pub(super) url: String,
    callback: Callback,
    state: OAuthState,
}

impl Auth {
    /// Without a directory tokens are kept as long as this lives.
    pub(super) fn new(url: &str, dir: Option<&Path>, secrets: Secrets) -> Self {
        Self {
            url: url.to_owned(),
            store: dir.map(|dir| FileStore::new(dir, url, secrets.clone())),
            manager: Mutex::default(),
            secrets,
        }
    }

    /// Takes up tokens that were kept.
    pub(super) async fn take_up(&self) {
        let Some(store) = self.store.as_ref().filter(|store| store.exists()) else {
            return;
        };
        let mut manager = self.manager.lock().await;
        if manager.is_some() {
            return;
        }
        let taken = async {
            let mut fresh = AuthorizationManager::new(self.url.as_str()).await?;
            fresh.set_credential_store(store.clone());
            Ok::<_, AuthError>(fresh.initialize_from_store().await?.then_some(fresh))
        };
        match taken.await {
            Ok(found) => *manager = found,
            Err(error) => {
                let told = self.told(&error);
                tracing::warn!(
                    "the kept authorization of `{}` is of no use: {told}",
                    self.url
                );
            }
        }
    }

    /// The token for a request, refreshed where it has run out; `None` as long as the server was
    /// not authorized, or has to be again.
    pub(super) async fn token(&self) -> Option<String> {
        let manager = self.manager.lock().await;
        match manager.as_ref()?.get_access_token().await {
            Ok(token) => {
                // Before it can be seen anywhere.
                self.secrets.add(&token);
                Some(token)
            }
            Err(error) => {
                let told = self.told(&error);
                tracing::warn!("no token for `{}`: {told}", self.url);
                None
            }
        }
    }

    /// Finds out where to go, and listens for the answer. `challenge` is the `WWW-Authenticate`
    /// header of the refusal.
    pub(super) async fn begin(&self, challenge: Option<&str>) -> Result<Begun, String> {
        let callback = Callback::listen()
            .await
            .map_err(|error| format!("cannot listen on the loopback address: {error}"))?;
        let begun = async {
            let mut manager = AuthorizationManager::new(self.url.as_str()).await?;
            match &self.store {
                Some(store) => manager.set_credential_store(store.clone()),
                None => manager.set_credential_store(InMemoryCredentialStore::new()),
            }
            let mut state = OAuthState::Unauthorized(manager);
            let mut request =
                AuthorizationRequest::new(callback.address()).with_client_name(CLIENT);
            if let Some(challenge) = challenge {
                request = request.with_challenge(challenge);
            }
            state.start_authorization(request).await?;
            let url = state.get_authorization_url().await?;
            Ok::<_, AuthError>((state, url))
        };
        let (state, url) = begun.await.map_err(|error| self.told(&error))?;
        Ok(Begun {
            url,
            callback,
            state,
        })
    }

    /// Waits until the operator comes back, and takes the tokens up.
    pub(super) async fn finish(&self, begun: Begun) -> Result<(), String> {
        let Begun {
            callback,
            mut state,
            ..
        } = begun;
        let came_back = callback.wait().await?;
        state
            .handle_callback_url(&came_back)
            .await
            .map_err(|error| self.told(&error))?;
        *self.manager.lock().await = state.into_authorization_manager();
        Ok(())
    }

    /// What went wrong, in words without a secret.
    fn told(&self, error: &AuthError) -> String {
        self.secrets.mask(&error.to_string()).into_owned()
    }
}

/// The authorization of a server, if it is reached by HTTP and no header of its settings does that
/// already.
pub(super) fn of(
    settings: &super::ServerSettings,
    dir: Option<&Path>,
    secrets: &Secrets,
) -> Option<Arc<Auth>> {
    let super::TransportSettings::Http { url, headers, .. } = &settings.transport else {
        return None;
    };
    let own = |(name, _): &(String, String)| name.eq_ignore_ascii_case("authorization");
    if headers.iter().any(own) {
        return None;
    }
    Some(Arc::new(Auth::new(url, dir, secrets.clone())))
}
