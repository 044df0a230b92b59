//! What an operator should look at first, derived from a snapshot.

use std::sync::Arc;

use serde::Serialize;

use super::{DeploymentState, Snapshot};
use crate::clock::Stamp;
use crate::discovery::lint::{About, Finding};
use crate::middleware::LayerStatus;
use crate::session::{PlayState, SessionRow, SessionStatus};
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
    /// A question of a server, by its number.
    Question(u64),
    /// A session, by name.
    Session(Arc<str>),
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
    found.extend(asking(snapshot));
    found.extend(not_reloaded(snapshot));
    found.extend(changed_tools(snapshot));
    found.extend(snapshot.refusals.iter().map(|refusal| Attention {
        severity: Severity::Warning,
        subject: Subject::Tool(Arc::clone(&refusal.name)),
        text: refusal.to_string(),
        since: None,
    }));
    found.extend(snapshot.sessions.iter().flat_map(|row| of_session(row)));
    let warnings = snapshot.deployment.warnings.iter();
    found.extend(warnings.map(|warning| Attention {
        severity: Severity::Warning,
        subject: Subject::Deployment,
        text: warning.clone(),
        since: None,
    }));
    let layers = snapshot.layers.iter().filter_map(of_layer);
    found.extend(
        layers
            .chain(questions(snapshot))
            .map(|(severity, text)| Attention {
                severity,
                subject: Subject::Deployment,
                text,
                since: None,
            }),
    );
    found.extend(of_lint(&snapshot.findings));
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

/// What an operator is to see of a session that goes on (rule 5.4), and of a scenario that came
/// otherwise than expected.
fn of_session(row: &SessionRow) -> Vec<Attention> {
    let warned = row
        .warnings
        .iter()
        .filter(|_| row.status != SessionStatus::Ended);
    let mut texts: Vec<(Severity, String)> = warned
        .map(|warning| (Severity::Warning, warning.clone()))
        .collect();
    if let Some(play) = &row.play {
        if let PlayState::Failed { cause } = &play.state {
            texts.push((Severity::Bad, cause.clone()));
        }
        match play.results().1 {
            0 => {}
            1 => texts.push((
                Severity::Bad,
                "an expectation of the scenario was missed".to_owned(),
            )),
            missed => texts.push((
                Severity::Bad,
                format!("{missed} expectations of the scenario were missed"),
            )),
        }
    }
    let items = texts.into_iter().map(|(severity, text)| Attention {
        severity,
        subject: Subject::Session(Arc::clone(&row.name)),
        text,
        since: Some(row.active),
    });
    items.collect()
}

/// How many findings of one kind are told; the rest is counted.
const LINTS: usize = 2;

/// What lint found, kind by kind in the order of the findings, each with what to do.
fn of_lint(findings: &[Finding]) -> Vec<Attention> {
    let mut told: Vec<(std::mem::Discriminant<Finding>, usize)> = Vec::new();
    let mut found: Vec<Attention> = Vec::new();
    for finding in findings {
        let kind = std::mem::discriminant(finding);
        let at = told.iter().position(|(known, _)| *known == kind);
        let at = at.unwrap_or_else(|| {
            told.push((kind, 0));
            told.len() - 1
        });
        told[at].1 += 1;
        let of_kind = findings
            .iter()
            .filter(|f| std::mem::discriminant(*f) == kind);
        let more = of_kind.count().saturating_sub(LINTS);
        let more = match (told[at].1 == LINTS, more) {
            (true, 1..) => format!(" ({more} more of this kind)"),
            _ => String::new(),
        };
        if told[at].1 <= LINTS {
            found.push(Attention {
                severity: Severity::Warning,
                subject: match finding.about() {
                    About::Settings => Subject::Deployment,
                    About::Tool(name) => Subject::Tool(name),
                    About::Session(name) => Subject::Session(name),
                },
                text: format!("{finding}: {}{more}", finding.advice()),
                since: None,
            });
        }
    }
    found
}

/// What a layer does that nobody should forget.
fn of_layer(layer: &LayerStatus) -> Option<(Severity, String)> {
    let count = |name| layer.counter(name);
    match layer.name {
        "audit" if count("lost") > 0 => Some((
            Severity::Bad,
            format!(
                "`audit` lost {} lines: its file could not be written, or not fast enough",
                count("lost")
            ),
        )),
        "fault" if layer.drill.is_some() => Some((
            Severity::Bad,
            format!(
                "a fault drill is on: it delayed {} calls, failed {} and dropped {}",
                count("delayed"),
                count("failed"),
                count("dropped")
            ),
        )),
        name if layer.paused => Some((Severity::Warning, format!("layer `{name}` is paused"))),
        "fault" => Some((
            Severity::Warning,
            format!(
                "a drill is on: `fault` delayed {} calls, failed {} and dropped {}",
                count("delayed"),
                count("failed"),
                count("dropped")
            ),
        )),
        _ => None,
    }
}

/// Calls that wait for an answer.
fn questions(snapshot: &Snapshot) -> Option<(Severity, String)> {
    let text = match snapshot.approvals.len() {
        0 => return None,
        1 => "a call waits for your approval".to_owned(),
        count => format!("{count} calls wait for your approval"),
    };
    Some((Severity::Warning, text))
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
    let held = (!server.held.is_empty()).then(|| Attention {
        severity: Severity::Warning,
        subject: subject.clone(),
        text: match server.held.len() {
            1 => "a tool is held back until you accept its definition".to_owned(),
            count => format!("{count} tools are held back until you accept their definitions"),
        },
        since: None,
    });
    let warnings = server.warnings.iter().map(|warning| Attention {
        severity: Severity::Warning,
        subject: subject.clone(),
        text: warning.clone(),
        since: None,
    });
    state.into_iter().chain(held).chain(warnings).collect()
}

/// Servers that wait for an operator.
fn asking(snapshot: &Snapshot) -> impl Iterator<Item = Attention> {
    snapshot.questions.iter().map(|question| Attention {
        severity: Severity::Warning,
        subject: Subject::Question(question.id),
        text: format!(
            "server `{}` waits for your answer (`{}`)",
            question.server,
            question.kind.method()
        ),
        since: Some(question.asked),
    })
}

/// The file was changed and is broken: what runs is not what it says.
fn not_reloaded(snapshot: &Snapshot) -> Option<Attention> {
    let reload = snapshot.deployment.reload.as_ref()?;
    let first = reload.problems.first()?;
    Some(Attention {
        severity: Severity::Bad,
        subject: Subject::Deployment,
        text: match reload.problems.len() {
            1 => format!("not reloaded, the old deployment keeps serving: {first}"),
            count => format!(
                "not reloaded, the old deployment keeps serving: {count} problems, the first: {first}"
            ),
        },
        since: Some(reload.at),
    })
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::middleware::settings::FaultSettings;
    use crate::middleware::{Chain, Counter, Fault};

    #[test]
    fn findings_are_told_with_their_advice_two_of_a_kind() {
        let empty = |query: &str| Finding::EmptySearch {
            session: "s".into(),
            query: query.into(),
            times: 1,
            round: 3,
        };
        let large = Finding::NeverPooled {
            tool: "t".into(),
            bytes: 9,
            max_bytes: 8,
        };
        let told = of_lint(&[empty("a"), large, empty("b"), empty("c")]);
        let subjects: Vec<_> = told.iter().map(|item| &item.subject).collect();
        let session = Subject::Session("s".into());
        assert_eq!(subjects, [&session, &Subject::Tool("t".into()), &session]);
        assert_eq!(
            told[1].text,
            "`t` can never be discovered: it has 9 bytes, and the pool holds 8: shorten it, or \
             raise `discovery.max_bytes` to 9 or more"
        );
        assert!(
            told[0]
                .text
                .starts_with("`s`: `a` found nothing in round 3: say the words")
        );
        assert!(
            told[2].text.ends_with("(1 more of this kind)"),
            "{}",
            told[2].text
        );
    }

    #[test]
    fn drills_paused_layers_and_lost_audit_lines_are_told() {
        let chain = Chain::new(vec![Arc::new(Fault::new(FaultSettings {
            tools: Vec::new(),
            latency: std::time::Duration::ZERO,
            error_rate: 1.0,
            drop: 0.0,
        }))]);
        let fault = chain.status().remove(0);
        let drill = "a drill is on: `fault` delayed 0 calls, failed 0 and dropped 0";
        assert_eq!(of_layer(&fault), Some((Severity::Warning, drill.into())));
        chain.set_paused("fault", true).unwrap();
        let paused = Some((Severity::Warning, "layer `fault` is paused".into()));
        assert_eq!(of_layer(&chain.status()[0]), paused);
        let audit = |lost| LayerStatus {
            name: "audit",
            settings: json!({}),
            counters: vec![Counter {
                name: "lost",
                value: lost,
            }],
            paused: false,
            changed: false,
            drill: None,
        };
        assert_eq!(of_layer(&audit(0)), None);
        assert_eq!(of_layer(&audit(3)).map(|told| told.0), Some(Severity::Bad));
    }
}
