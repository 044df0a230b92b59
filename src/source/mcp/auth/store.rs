//! Tokens in a file that its owner alone can read.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use sha2::{Digest as _, Sha256};

use crate::secrets::Secrets;

/// The file of one server's tokens.
#[derive(Clone)]
pub(super) struct FileStore {
    file: PathBuf,
    secrets: Secrets,
}

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

impl FileStore {
    /// The address is hashed: it may hold what no file name can.
    pub(super) fn new(dir: &Path, url: &str, secrets: Secrets) -> Self {
        let digest = Sha256::digest(url.as_bytes());
        let name: String = digest[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Self {
            file: dir.join(format!("{name}.json")),
            secrets,
        }
    }

    pub(super) fn exists(&self) -> bool {
        self.file.exists()
    }

    fn read(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let text = match std::fs::read_to_string(&self.file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed("read", &error)),
        };
        let stored = serde_json::from_str(&text).map_err(|error| self.failed("read", &error))?;
        self.hide(&text);
        Ok(Some(stored))
    }

    /// Whatever is secret in it is masked from now on.
    fn hide(&self, text: &str) {
        let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
        let Some(token) = value.get("token_response") else {
            return;
        };
        for key in ["access_token", "refresh_token", "id_token"] {
            if let Some(secret) = token.get(key).and_then(serde_json::Value::as_str) {
                self.secrets.add(secret);
            }
        }
    }

    fn write(&self, credentials: &StoredCredentials) -> Result<(), AuthError> {
        let text =
            serde_json::to_string(credentials).map_err(|error| self.failed("write", &error))?;
        self.hide(&text);
        let write = || -> std::io::Result<()> {
            if let Some(dir) = self.file.parent() {
                private_dir(dir)?;
            }
            // Beside it and renamed, so that a crash leaves the old file or the new one.
            let fresh = self.file.with_extension("new");
            let _ = std::fs::remove_file(&fresh);
            let mut file = private_file(&fresh)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&fresh, &self.file)
        };
        write().map_err(|error| self.failed("write", &error))
    }

    fn failed(&self, what: &str, error: &dyn std::fmt::Display) -> AuthError {
        let told = format!("cannot {what} `{}`: {error}", self.file.display());
        AuthError::CredentialStoreError(told)
    }
}

fn private_dir(dir: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

fn private_file(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

// The trait is written with a macro that we do without. The files are a few hundred bytes: reading
// one holds nobody up.
impl CredentialStore for FileStore {
    fn load<'a, 'b>(&'a self) -> Answer<'b, Option<StoredCredentials>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async { self.read() })
    }

    fn save<'a, 'b>(&'a self, credentials: StoredCredentials) -> Answer<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.write(&credentials) })
    }

    fn clear<'a, 'b>(&'a self) -> Answer<'b, ()>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async {
            match std::fs::remove_file(&self.file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(self.failed("remove", &error))
                }
                _ => Ok(()),
            }
        })
    }
}
