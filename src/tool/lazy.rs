//! Loading of lazy tools: one attempt at a time, shared by all who ask, and a pause after a
//! failure (rule 1.5).

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::Definition;

/// The shortest pause between two attempts to load the same tool.
const PAUSE: Duration = Duration::from_secs(1);

/// Why a definition could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot load the definition of `{tool}`: {reason}")]
pub struct LoadError {
    /// The tool.
    pub tool: String,
    /// The cause in words.
    pub reason: String,
}

type Attempt = Shared<BoxFuture<'static, Result<Definition, LoadError>>>;
type Start = Box<dyn Fn() -> BoxFuture<'static, Result<Definition, LoadError>> + Send + Sync>;

/// Loads one definition at most once at a time.
pub struct Loader {
    start: Start,
    state: Arc<Mutex<State>>,
}

enum State {
    Unloaded,
    Loading(Attempt),
    Failed { error: LoadError, at: Instant },
    Loaded(Definition),
}

impl Loader {
    /// A loader that makes its attempts with `start`.
    pub fn new(
        start: impl Fn() -> BoxFuture<'static, Result<Definition, LoadError>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            start: Box::new(start),
            state: Arc::new(Mutex::new(State::Unloaded)),
        }
    }

    /// The definition, if it has been loaded.
    pub fn loaded(&self) -> Option<Definition> {
        match &*self.state.lock() {
            State::Loaded(definition) => Some(definition.clone()),
            _ => None,
        }
    }

    /// Loads the definition, or joins the attempt that is under way.
    ///
    /// # Errors
    /// The failure of that attempt. Within a second of a failed attempt the same failure is given
    /// again without a new one; after that the next request tries again.
    pub async fn load(&self) -> Result<Definition, LoadError> {
        let attempt = {
            let mut state = self.state.lock();
            match &*state {
                State::Loaded(definition) => return Ok(definition.clone()),
                State::Failed { error, at } if at.elapsed() < PAUSE => return Err(error.clone()),
                State::Loading(attempt) if attempt.peek().is_none() => attempt.clone(),
                _ => {
                    let attempt = self.attempt();
                    *state = State::Loading(attempt.clone());
                    attempt
                }
            }
        };
        attempt.await
    }

    /// A shared attempt that records its own outcome, so that it does not matter which of those
    /// who wait is polled last or dropped first.
    fn attempt(&self) -> Attempt {
        let work = (self.start)();
        let state = Arc::clone(&self.state);
        async move {
            let outcome = work.await;
            *state.lock() = match &outcome {
                Ok(definition) => State::Loaded(definition.clone()),
                Err(error) => State::Failed {
                    error: error.clone(),
                    at: Instant::now(),
                },
            };
            outcome
        }
        .boxed()
        .shared()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    fn counted(fail_first: usize) -> (Loader, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&count);
        let loader = Loader::new(move || {
            let attempt = seen.fetch_add(1, Ordering::SeqCst);
            async move {
                tokio::task::yield_now().await;
                if attempt < fail_first {
                    return Err(LoadError {
                        tool: "t".into(),
                        reason: "no".into(),
                    });
                }
                Ok(Definition::new("t", "full", json!({"type": "object"})).unwrap())
            }
            .boxed()
        });
        (loader, count)
    }

    #[tokio::test(start_paused = true)]
    async fn concurrent_loads_share_one_attempt() {
        let (loader, count) = counted(0);
        let (a, b, c) = tokio::join!(loader.load(), loader.load(), loader.load());
        assert!(a.is_ok() && b.is_ok() && c.is_ok());
        assert_eq!(count.load(Ordering::SeqCst), 1);
        assert!(loader.loaded().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_failed_load_is_tried_again_on_request_but_not_within_a_second() {
        let (loader, count) = counted(1);
        assert!(loader.load().await.is_err());
        assert!(loader.load().await.is_err());
        assert_eq!(count.load(Ordering::SeqCst), 1);
        tokio::time::advance(PAUSE).await;
        assert!(loader.load().await.is_ok());
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }
}
