//! Name resolution with an error of our own, because the client below hides it in a text.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The host name has no address.
#[derive(Debug, thiserror::Error)]
#[error("`{host}` has no address: {source}")]
pub(super) struct NotResolved {
    host: String,
    source: std::io::Error,
}

/// Asks the system.
pub(super) struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        Box::pin(async move {
            let looked_up = tokio::net::lookup_host((host.as_str(), 0))
                .await
                .map(Iterator::collect::<Vec<SocketAddr>>);
            let found = match looked_up {
                Ok(found) => found,
                Err(source) => return Err(NotResolved { host, source }.into()),
            };
            if found.is_empty() {
                let source = std::io::ErrorKind::NotFound.into();
                return Err(NotResolved { host, source }.into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
