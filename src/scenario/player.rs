//! Plays a scenario over a started assembly.

use std::sync::Arc;

use super::{Miss, Scenario, ScenarioCall, Step, Trace, TraceRound};
use crate::executor::Executor;
use crate::session::{Discovery, Gate, Listing, SessionDriver};
use crate::source::sim::{self, Seed, SimError};
use crate::tool::{Call, CallId};

/// What a scenario plays on: a started assembly.
#[derive(Clone)]
pub struct Stage {
    /// Runs its calls; its registry takes the changes.
    pub executor: Executor,
    /// Its exposures and ranking.
    pub discovery: Arc<Discovery>,
}

/// Plays one scenario in a session of its own. Step by step for the console, or all at once.
pub struct Player {
    scenario: Scenario,
    executor: Executor,
    driver: SessionDriver,
    seed: Seed,
    rounds: Vec<TraceRound>,
    missed: Vec<Miss>,
}

impl Player {
    /// A player before the first round. Its session has no required names yet.
    pub fn new(scenario: Scenario, stage: Stage) -> Self {
        let Stage {
            executor,
            discovery,
        } = stage;
        let name = format!("scenario {}", scenario.name);
        let driver = SessionDriver::new(name, executor.clone(), discovery, []);
        let seed = Seed::new(scenario.sim.as_ref().and_then(|sim| sim.seed));
        Self {
            scenario,
            executor,
            driver,
            seed,
            rounds: Vec::new(),
            missed: Vec::new(),
        }
    }

    /// Shows its session under a listing.
    pub fn enlist(&mut self, listing: Listing) {
        self.driver.enlist(listing);
    }

    /// The session that it plays in.
    pub fn driver(&self) -> &SessionDriver {
        &self.driver
    }

    /// The round that [`Player::step`] plays next.
    pub fn upcoming(&self) -> Option<&Step> {
        self.scenario.steps.get(self.rounds.len())
    }

    /// Plays one round; `None` when the scenario is over.
    ///
    /// # Errors
    /// When a tool that is added cannot be made, which a loaded scenario has been checked for.
    pub async fn step(&mut self) -> Result<Option<&TraceRound>, SimError> {
        let Some(step) = self.upcoming().cloned() else {
            return Ok(None);
        };
        self.driver.start_round();
        self.change(&step).await?;
        for name in &step.require {
            self.driver.require(Arc::clone(name));
        }
        self.driver.open();
        let calls = self.calls(&step.calls);
        let report = self.driver.run(calls, Gate::Visible).await;
        let round = TraceRound::new(&report, step.note.clone());
        self.missed.extend(step.expect.misses(&round));
        self.rounds.push(round);
        Ok(self.rounds.last())
    }

    /// Plays all rounds that are left.
    ///
    /// # Errors
    /// As [`Player::step`].
    pub async fn play(mut self) -> Result<Trace, SimError> {
        while self.step().await?.is_some() {}
        Ok(self.finish())
    }

    /// What has been played so far.
    pub fn finish(self) -> Trace {
        Trace {
            scenario: self.scenario.name,
            rounds: self.rounds,
            missed: self.missed,
        }
    }

    /// Changes the registry. What leaves is seen before anything comes, so that a tool that comes
    /// back under the same name has been gone.
    async fn change(&mut self, step: &Step) -> Result<(), SimError> {
        let registry = Arc::clone(self.executor.registry());
        for name in &step.remove {
            let holder = registry
                .catalog()
                .get(name)
                .map(|entry| entry.owner.clone());
            if let Some(owner) = holder {
                registry.remove(&owner, &[name]).await;
            }
        }
        self.driver.see();
        if step.add.is_empty() {
            return Ok(());
        }
        for settings in &step.add {
            let tool = sim::tool(settings.clone(), self.seed, &registry)?;
            let Some(place) = &self.scenario.sim else {
                continue; // a loaded scenario with `add` has a simulated source
            };
            let holder = registry.catalog().get(&settings.name).cloned();
            let owner = holder
                .map(|entry| entry.owner.clone())
                .filter(|owner| owner.source == place.owner.source)
                .unwrap_or_else(|| place.owner.clone());
            let change = registry.add(&owner, tool).await;
            for refused in &change.refused {
                tracing::warn!("the scenario adds a tool in vain: {refused}");
            }
        }
        self.driver.see();
        Ok(())
    }

    /// The calls of a round, with ids that are the same in every run.
    fn calls(&self, calls: &[ScenarioCall]) -> Vec<Call> {
        let round = self.rounds.len() + 1;
        let calls = calls.iter().enumerate();
        calls
            .map(|(place, call)| {
                let id = format!("round-{round}-call-{}", place + 1);
                Call {
                    id: CallId::from(id.as_str()),
                    ..Call::new(Arc::clone(&call.tool), call.arguments.clone())
                }
            })
            .collect()
    }
}
