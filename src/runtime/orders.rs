//! Takes orders up and starts the work of each.

use std::sync::Arc;

use tokio::sync::mpsc;

use super::reload::Reloader;
use super::sessions::Sessions;
use crate::control::{ExposureError, LayerOrder, Order};
use crate::discovery::Mode;
use crate::executor::Executor;
use crate::middleware::Approvals;
use crate::observe::Hub;
use crate::registry::nearest;
use crate::session::Discovery;
use crate::source::mcp::Questions;
use crate::source::{OrderError, SourceSet};

/// What orders act on.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) executor: Executor,
    pub(super) sources: SourceSet,
    pub(super) reloader: Arc<Reloader>,
    pub(super) hub: Arc<Hub>,
    pub(super) approvals: Approvals,
    pub(super) questions: Questions,
    pub(super) discovery: Arc<Discovery>,
    pub(super) sessions: Arc<Sessions>,
}

/// Takes orders until the last [`crate::control::Control`] is gone. Work runs on tasks of its own,
/// which end with this one.
pub(super) async fn take(desk: Desk, mut orders: mpsc::Receiver<Order>) {
    let mut work = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                // Sessions have queues of their own, in which orders keep their order.
                Some(order) => if let Some(order) = desk.sessions.take(order) {
                    work.spawn(carry_out(desk.clone(), order));
                },
                None => break,
            },
            Some(_) = work.join_next(), if !work.is_empty() => {}
        }
    }
}

async fn carry_out(desk: Desk, order: Order) {
    match order {
        Order::Call { call, mut reply } => {
            // Whoever gave the order has gone: dropping the call cancels it.
            tokio::select! {
                outcome = desk.executor.call(*call) => { let _ = reply.send(outcome); }
                () = reply.closed() => {}
            }
        }
        Order::Layer {
            layer,
            order,
            reply,
        } => {
            let chain = desk.executor.chain();
            let answer = match order {
                LayerOrder::Pause => chain.set_paused(&layer, true),
                LayerOrder::Resume => chain.set_paused(&layer, false),
                LayerOrder::Change(settings) => chain.change(&layer, &settings),
                LayerOrder::Drill(drill) => chain.set_drill(Some(*drill)),
                LayerOrder::EndDrill => chain.set_drill(None),
            };
            let _ = reply.send(answer);
        }
        Order::Answer {
            question,
            decision,
            reply,
        } => {
            let _ = reply.send(desk.approvals.answer(question, decision));
        }
        Order::Reply {
            question,
            answer,
            reply,
        } => {
            let _ = reply.send(desk.questions.answer(question, answer));
        }
        Order::Authorize {
            source,
            server,
            reply,
        } => {
            let sources = desk.sources.all();
            let found = sources.iter().find(|known| known.name() == source);
            let answer = match found {
                Some(found) => found.authorize(&server).await,
                None => Err(OrderError::UnknownServer {
                    source_name: source,
                    server,
                }),
            };
            let _ = reply.send(answer);
        }
        Order::Accept {
            source,
            server,
            tool,
            reply,
        } => {
            let sources = desk.sources.all();
            let found = sources.iter().find(|known| known.name() == source);
            let answer = match found {
                Some(found) => found.accept(&server, tool.as_deref()).await,
                None => Err(OrderError::UnknownServer {
                    source_name: source,
                    server,
                }),
            };
            let _ = reply.send(answer);
        }
        Order::Reload { reply } => {
            let _ = reply.send(desk.reloader.reload().await);
        }
        Order::Preview {
            tool,
            arguments,
            reply,
        } => {
            let catalog = desk.executor.registry().catalog();
            let entry = catalog.get(&tool);
            let _ = reply.send(entry.and_then(|entry| entry.tool.preview(&arguments)));
            return; // nothing has changed
        }
        Order::Cancel { id, reply } => {
            let _ = reply.send(desk.executor.cancel(&id));
        }
        Order::Expose { tool, mode, reply } => {
            let _ = reply.send(expose(&desk, &tool, mode));
            desk.sessions.see();
        }
        // Those the sessions have taken.
        Order::OpenSession { .. } | Order::Play { .. } | Order::Session { .. } => {}
        Order::Server {
            source,
            server,
            order,
            reply,
        } => {
            let sources = desk.sources.all();
            let found = sources.iter().find(|known| known.name() == source);
            let answer = match found {
                Some(found) => found.order(&server, order).await,
                None => Err(OrderError::UnknownServer {
                    source_name: source,
                    server,
                }),
            };
            let _ = reply.send(answer);
        }
    }
    desk.hub.touch();
}

fn expose(desk: &Desk, tool: &Arc<str>, mode: Option<Mode>) -> Result<Mode, ExposureError> {
    if desk.discovery.settings().is_none() {
        return Err(ExposureError::NotAvailable);
    }
    let catalog = desk.executor.registry().catalog();
    if catalog.get(tool).is_none() {
        let names = catalog.definitions().map(crate::tool::Definition::name);
        let nearest = nearest(tool, names);
        return Err(ExposureError::Unknown {
            name: tool.to_string(),
            advice: match nearest.is_empty() {
                true => String::new(),
                false => format!("; the nearest are `{}`", nearest.join("`, `")),
            },
        });
    }
    Ok(desk.discovery.overrule(tool, mode)?)
}
