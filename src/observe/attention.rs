//! What an operator should look at first, derived from a snapshot.

use std::sync::Arc;

use serde::Serialize;

use super::{DeploymentState, Snapshot};
use crate::clock::Stamp;
use crate::source::{ServerState, ServerStatus};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something does not work.
    Bad,
    /// Something may stop working, or wants a decision.
    Warning,
}

/// What it is about, so that a surface can go there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The deployment as a whole.
    Deployment,
    /// A server, by source and name.
    Server(Arc<str>, Arc<str>),
    /// A tool.
    Tool(Arc<str>),
}

/// One thing to look at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attention {
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub subject: Subject,
    /// What it is, in one sentence.
    pub text: String,
    /// Since when, where that is known.
    pub since: Option<Stamp>,
}

/// What wants attention, the worst first, then in the order of the snapshot.
pub fn attention(snapshot: &Snapshot) -> Vec<Attention> {
    let mut found: Vec<Attention> = snapshot
        .servers
        .iter()
        .flat_map(|server| of_server(server))
        .collect();
    found.extend(changed_tools(snapshot));
    found.extend(snapshot.refusals.iter().map(|refusal| Attention {
        severity: Severity::Warning,
        subject: Subject::Tool(Arc::clone(&refusal.name)),
        text: refusal.to_string(),
        since: None,
    }));
    let warnings = snapshot.deployment.warnings.iter();
    found.extend(warnings.map(|warning| Attention {
        severity: Severity::Warning,
        subject: Subject::Deployment,
        text: warning.clone(),
        since: None,
    }));
    if snapshot.deployment.state == DeploymentState::Serving && snapshot.tools.is_empty() {
        found.push(Attention {
            severity: Severity::Warning,
            subject: Subject::Deployment,
            text: "no tool is registered: no source brings any".into(),
            since: None,
        });
    }
    found.sort_by_key(|item| item.severity);
    found
}

fn of_server(server: &ServerStatus) -> Vec<Attention> {
    let subject = Subject::Server(Arc::clone(&server.source), Arc::clone(&server.name));
    let cause = server
        .last_error
        .as_ref()
        .map_or("no cause is known", |failure| failure.message.as_str());
    let state = match server.state {
        ServerState::Rejected => Some((Severity::Bad, format!("rejected: {cause}"))),
        ServerState::Backoff => Some((Severity::Bad, cause.to_owned())),
        ServerState::Degraded => Some((
            Severity::Warning,
            "a liveness probe is late or failed".to_owned(),
        )),
        ServerState::Connecting if server.attempts > 1 => Some((
            Severity::Bad,
            format!("attempt {} is under way; before: {cause}", server.attempts),
        )),
        _ => None,
    };
    let state = state.map(|(severity, text)| Attention {
        severity,
        subject: subject.clone(),
        text,
        since: Some(server.since),
    });
    let warnings = server.warnings.iter().map(|warning| Attention {
        severity: Severity::Warning,
        subject: subject.clone(),
        text: warning.clone(),
        since: None,
    });
    state.into_iter().chain(warnings).collect()
}

/// A server that rewrites a tool after it was first seen: one line per owner.
fn changed_tools(snapshot: &Snapshot) -> Vec<Attention> {
    let mut found: Vec<(String, Attention, usize)> = Vec::new();
    for tool in snapshot.tools.iter().filter(|tool| tool.changed) {
        let owner = tool.owner.to_string();
        match found.iter_mut().find(|(known, ..)| *known == owner) {
            Some((_, _, count)) => *count += 1,
            None => found.push((
                owner,
                Attention {
                    severity: Severity::Warning,
                    subject: Subject::Tool(tool.definition.shared_name()),
                    text: String::new(),
                    since: None,
                },
                1,
            )),
        }
    }
    found
        .into_iter()
        .map(|(owner, attention, count)| Attention {
            text: match count {
                1 => format!("{owner} changed a tool after it was first seen; review it"),
                _ => format!("{owner} changed {count} tools after they were first seen; review"),
            },
            ..attention
        })
        .collect()
}
