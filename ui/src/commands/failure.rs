//! How a command fails: a sentence for people and an exit code for scripts.

use std::fmt;

use toolcrib::deployment::Problems;
use toolcrib::runtime::{NotReady, StartError};
use toolcrib::secrets::Secrets;

/// The operation failed.
pub(crate) const FAILED: u8 = 1;

/// Usage or configuration.
pub(crate) const USAGE: u8 = 2;

/// Why a command ends with another exit code than 0.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was asked for in a way that makes no sense.
    Usage(String),
    /// The deployment is not valid.
    Problems(Problems),
    /// The work itself failed.
    Failed(String),
    /// Everything has been said on stdout already.
    Said(u8),
    /// A signal ended it.
    Interrupted(i32),
}

impl Failure {
    /// The exit code; for a signal the one that shells give.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Problems(_) => USAGE,
            Self::Failed(_) => FAILED,
            Self::Said(code) => *code,
            Self::Interrupted(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
        }
    }

    /// The failure without secrets. What the deployment file's reader says has none.
    pub(crate) fn masked(self, secrets: &Secrets) -> Self {
        match self {
            Self::Usage(message) => Self::Usage(secrets.mask(&message).into_owned()),
            Self::Failed(message) => Self::Failed(secrets.mask(&message).into_owned()),
            other => other,
        }
    }

    /// Names every server that keeps the deployment from doing its work.
    pub(crate) fn servers<'s>(why: &str, servers: impl IntoIterator<Item = &'s NotReady>) -> Self {
        let sentences: Vec<String> = servers
            .into_iter()
            .map(|server| {
                let advice = server.advice.as_ref();
                let advice = advice.map_or_else(String::new, |advice| format!("\n  → {advice}"));
                format!(
                    "server `{}` of source `{}` {why}: {}{advice}",
                    server.server, server.source, server.cause
                )
            })
            .collect();
        Self::Failed(sentences.join("\n"))
    }
}

/// The sentence; empty where nothing is left to say.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Failed(message) => write!(f, "error: {message}"),
            // Each line begins with its place, so that editors can jump to it.
            Self::Problems(problems) => problems.fmt(f),
            Self::Said(_) | Self::Interrupted(_) => Ok(()),
        }
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            // `check` could not have seen it.
            StartError::Unstarted { .. } => Self::Failed(error.to_string()),
            _ => Self::Usage(error.to_string()),
        }
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self::Problems(problems)
    }
}

#[cfg(test)]
mod tests {
    use toolcrib::source::ServerState;

    use super::*;

    #[test]
    fn the_exit_code_tells_usage_failure_and_signals_apart() {
        let codes = [
            (Failure::Usage(String::new()), 2),
            (Failure::Problems(Problems(Vec::new())), 2),
            (Failure::Failed(String::new()), 1),
            (Failure::Said(1), 1),
            (Failure::Interrupted(2), 130),
            (Failure::Interrupted(15), 143),
        ];
        for (failure, code) in codes {
            assert_eq!(failure.code(), code, "{failure:?}");
        }
    }

    #[test]
    fn a_failure_of_servers_names_each_with_its_cause_and_what_to_do() {
        let server = |name: &str, advice: Option<&str>| NotReady {
            source: "web".into(),
            server: name.into(),
            state: ServerState::Rejected,
            cause: "the server answered 401".into(),
            advice: advice.map(Into::into),
        };
        let servers = [server("a", Some("check the token")), server("b", None)];
        assert_eq!(
            Failure::servers("rejects us", &servers).to_string(),
            "error: server `a` of source `web` rejects us: the server answered 401\n  \
             → check the token\nserver `b` of source `web` rejects us: the server answered 401"
        );
    }
}
