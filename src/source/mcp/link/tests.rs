use proptest::prelude::*;

use super::*;

const INTERVAL: Duration = Duration::from_secs(15);

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

struct Bench {
    link: Link,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        Self {
            link: Link::new(Backoff::default()),
            now: Instant::now(),
        }
    }
    fn step(&mut self, input: Input) -> Vec<Action> {
        self.link.step(input, self.now)
    }
    fn after(&mut self, wait: Duration, input: Input) -> Vec<Action> {
        self.now += wait;
        self.step(input)
    }
    /// The delay until the deadline.
    fn wait(&self) -> Option<Duration> {
        self.link.deadline().map(|at| at - self.now)
    }
    fn up(pulse: Pulse) -> Self {
        let mut bench = Self::new();
        bench.step(Input::Start);
        bench.step(Input::Connected { epoch: 1, pulse });
        bench
    }
}

fn failed(epoch: Epoch) -> Input {
    Input::Failed {
        epoch,
        verdict: Verdict::Unreachable,
        roll: 0.0,
    }
}

fn lost(epoch: Epoch) -> Input {
    Input::Lost { epoch, roll: 0.0 }
}

const TICK: Input = Input::Tick { roll: 0.0 };

fn enter(state: ServerState, why: Why, attempt: u32) -> Action {
    Action::Enter {
        state,
        why,
        attempt,
    }
}

#[test]
fn an_unreachable_server_is_tried_for_ever_with_the_delays_of_the_series() {
    let mut bench = Bench::new();
    assert_eq!(bench.step(Input::Start), [Action::Connect { epoch: 1 }]);
    for (epoch, delay) in (1..).zip([1, 2, 4, 8, 16, 30, 30]) {
        bench.step(failed(epoch));
        assert_eq!(bench.wait(), Some(secs(delay)), "after attempt {epoch}");
        let attempt = u32::try_from(epoch).unwrap() + 1;
        assert_eq!(
            bench.after(secs(delay), TICK),
            [
                enter(ServerState::Connecting, Why::Retry, attempt),
                Action::Connect { epoch: epoch + 1 }
            ]
        );
    }
}

#[test]
fn a_rejected_server_is_not_tried_again_until_the_operator_says_so() {
    let mut bench = Bench::new();
    bench.step(Input::Start);
    let actions = bench.step(Input::Failed {
        epoch: 1,
        verdict: Verdict::Rejected,
        roll: 0.0,
    });
    assert_eq!(actions, [enter(ServerState::Rejected, Why::Rejected, 1)]);
    assert_eq!(bench.wait(), None);
    assert_eq!(bench.after(secs(3600), TICK), []);
    assert_eq!(
        bench.step(Input::Reconnect),
        [
            enter(ServerState::Connecting, Why::Ordered, 1),
            Action::Connect { epoch: 2 },
            Action::Done
        ]
    );
}

#[test]
fn a_stable_connection_that_is_lost_is_retried_at_once() {
    let mut bench = Bench::up(Pulse::OnDemand);
    assert_eq!(
        bench.after(STABLE, lost(1)),
        [
            Action::Disconnect { epoch: 1 },
            enter(ServerState::Connecting, Why::Lost, 1),
            Action::Connect { epoch: 2 },
        ]
    );
}

#[test]
fn a_server_that_connects_and_dies_stays_in_the_series() {
    let mut bench = Bench::up(Pulse::OnDemand);
    for (epoch, delay) in (1..).zip([1, 2, 4, 8, 16, 30]) {
        bench.after(secs(9), lost(epoch));
        assert_eq!(bench.link.state(), ServerState::Backoff);
        assert_eq!(bench.wait(), Some(secs(delay)));
        bench.after(secs(delay), TICK);
        bench.step(Input::Connected {
            epoch: epoch + 1,
            pulse: Pulse::OnDemand,
        });
    }
    bench.after(STABLE, lost(7));
    bench.step(failed(8));
    assert_eq!(bench.wait(), Some(secs(1)), "the series began anew");
}

#[test]
fn one_missed_ping_is_degraded_and_two_in_a_row_are_a_loss() {
    let mut bench = Bench::up(Pulse::Every(INTERVAL));
    assert_eq!(bench.wait(), Some(INTERVAL));
    assert_eq!(
        bench.after(INTERVAL, TICK),
        [Action::Probe { epoch: 1, probe: 1 }]
    );
    assert_eq!(bench.wait(), Some(secs(10)), "the deadline of one ping");
    assert_eq!(
        bench.after(secs(10), TICK),
        [
            Action::Missed { probe: 1 },
            enter(ServerState::Degraded, Why::ProbeMissed, 1)
        ]
    );
    assert_eq!(bench.wait(), Some(secs(5)), "the interval goes on");
    assert_eq!(
        bench.after(secs(5), TICK),
        [Action::Probe { epoch: 1, probe: 2 }]
    );
    assert_eq!(
        bench.after(secs(10), TICK),
        [
            Action::Missed { probe: 2 },
            Action::Disconnect { epoch: 1 },
            enter(ServerState::Connecting, Why::ProbesMissed, 1),
            Action::Connect { epoch: 2 },
        ]
    );
}

#[test]
fn any_answer_even_a_late_one_makes_a_degraded_server_ready() {
    let mut bench = Bench::up(Pulse::Every(INTERVAL));
    bench.after(INTERVAL, TICK);
    bench.after(secs(10), TICK);
    assert_eq!(
        bench.step(Input::Answered { epoch: 1, probe: 1 }),
        [enter(ServerState::Ready, Why::Answered, 1)]
    );
    bench.after(secs(5), TICK);
    bench.after(secs(10), TICK);
    assert_eq!(bench.link.state(), ServerState::Degraded);
    bench.step(Input::Alive { epoch: 1 });
    assert_eq!(bench.link.state(), ServerState::Ready);
}

#[test]
fn a_short_interval_is_its_own_deadline_and_pings_do_not_pile_up() {
    let mut bench = Bench::up(Pulse::Every(secs(2)));
    bench.after(secs(2), TICK);
    assert_eq!(bench.wait(), Some(secs(2)));
    assert_eq!(
        bench.after(secs(2), TICK),
        [
            Action::Missed { probe: 1 },
            Action::Probe { epoch: 1, probe: 2 },
            enter(ServerState::Degraded, Why::ProbeMissed, 1),
        ]
    );
}

#[test]
fn without_pings_nothing_waits_and_a_missed_proof_on_demand_is_no_loss() {
    let mut bench = Bench::up(Pulse::OnDemand);
    assert_eq!(bench.wait(), None);
    assert_eq!(bench.step(Input::Suspect { epoch: 1 }), []);
    for probe in 1..4 {
        assert_eq!(
            bench.step(Input::Probe),
            [Action::Probe { epoch: 1, probe }, Action::Done]
        );
        bench.after(pulse::PATIENCE, TICK);
        assert_eq!(bench.link.state(), ServerState::Degraded);
    }
}

#[test]
fn a_doubt_is_checked_at_once_where_there_are_pings() {
    let mut bench = Bench::up(Pulse::Every(INTERVAL));
    assert_eq!(
        bench.step(Input::Suspect { epoch: 1 }),
        [Action::Probe { epoch: 1, probe: 1 }]
    );
    assert_eq!(bench.step(Input::Suspect { epoch: 1 }), []);
}

#[test]
fn announced_changes_lead_to_one_listing_at_a_time() {
    let changed = Input::ListChanged { epoch: 1 };
    let list = Action::List { epoch: 1 };
    let mut bench = Bench::new();
    bench.step(Input::Start);
    bench.step(changed);
    assert_eq!(
        bench.step(Input::Connected {
            epoch: 1,
            pulse: Pulse::OnDemand
        }),
        [list, enter(ServerState::Ready, Why::Connected, 1)]
    );
    assert_eq!(bench.step(changed), []);
    assert_eq!(bench.step(changed), []);
    assert_eq!(bench.step(Input::Listed { epoch: 1 }), [list]);
    assert_eq!(bench.step(Input::Listed { epoch: 1 }), []);
    assert_eq!(bench.step(changed), [list]);
}

#[test]
fn a_stale_answer_is_ignored() {
    let mut bench = Bench::up(Pulse::Every(INTERVAL));
    bench.step(Input::Reconnect);
    for input in [
        Input::Connected {
            epoch: 1,
            pulse: Pulse::OnDemand,
        },
        failed(1),
        lost(1),
        Input::Answered { epoch: 1, probe: 1 },
        Input::Unanswered {
            epoch: 1,
            probe: 1,
            roll: 0.0,
        },
        Input::Alive { epoch: 1 },
        Input::Suspect { epoch: 1 },
        Input::ListChanged { epoch: 1 },
        Input::Listed { epoch: 1 },
    ] {
        assert_eq!(bench.step(input), [], "{input:?}");
        assert_eq!(bench.link.epoch(), Some(2));
        assert_eq!(bench.link.state(), ServerState::Connecting);
    }
}

#[test]
fn orders_say_when_they_make_no_sense() {
    let mut bench = Bench::new();
    bench.step(Input::Start);
    assert_eq!(bench.step(Input::Probe), [Action::NotNow], "connecting");
    assert_eq!(bench.step(Input::Enable), [Action::NotNow], "not disabled");
    assert_eq!(
        bench.step(Input::Disable),
        [
            Action::Disconnect { epoch: 1 },
            Action::Done,
            enter(ServerState::Disabled, Why::Ordered, 0)
        ]
    );
    assert_eq!(bench.step(Input::Reconnect), [Action::NotNow], "disabled");
    assert_eq!(
        bench.step(Input::Enable),
        [
            enter(ServerState::Connecting, Why::Ordered, 1),
            Action::Connect { epoch: 2 },
            Action::Done
        ]
    );
    bench.step(Input::Close);
    for order in [
        Input::Reconnect,
        Input::Probe,
        Input::Disable,
        Input::Enable,
    ] {
        assert_eq!(bench.step(order), [Action::NotNow], "{order:?}");
    }
    assert_eq!(bench.step(Input::Close), []);
}

/// Inputs for a walk, all of the present epoch or the one before.
fn inputs(epoch: Epoch) -> Vec<Input> {
    let mut inputs = vec![
        Input::Start,
        TICK,
        Input::Reconnect,
        Input::Probe,
        Input::Disable,
        Input::Enable,
        Input::Close,
    ];
    for epoch in [epoch.saturating_sub(1), epoch] {
        inputs.extend([
            Input::Connected {
                epoch,
                pulse: Pulse::Every(INTERVAL),
            },
            Input::Connected {
                epoch,
                pulse: Pulse::OnDemand,
            },
            failed(epoch),
            Input::Failed {
                epoch,
                verdict: Verdict::Rejected,
                roll: 0.0,
            },
            lost(epoch),
            Input::Answered { epoch, probe: 1 },
            Input::Unanswered {
                epoch,
                probe: 1,
                roll: 0.0,
            },
            Input::Alive { epoch },
            Input::Suspect { epoch },
            Input::ListChanged { epoch },
            Input::Listed { epoch },
        ]);
    }
    inputs
}

/// What the outside has open: checks that epochs never repeat and that each ends once.
#[derive(Clone, Default)]
struct Outside {
    open: Option<Epoch>,
    last: Epoch,
}

impl Outside {
    fn perform(&mut self, input: Input, actions: &[Action], link: &Link, now: Instant) {
        if let Input::Failed { epoch, .. } = input
            && self.open == Some(epoch)
            && link.epoch() != Some(epoch)
        {
            self.open = None;
        }
        for action in actions {
            match action {
                Action::Connect { epoch } => {
                    assert_eq!(self.open, None, "two connections at once after {input:?}");
                    assert!(*epoch > self.last, "an epoch was used twice");
                    self.last = *epoch;
                    self.open = Some(*epoch);
                }
                Action::Disconnect { epoch } => {
                    assert_eq!(self.open.take(), Some(*epoch), "closed twice by {input:?}");
                }
                Action::Probe { epoch, .. } | Action::List { epoch } => {
                    assert_eq!(self.open, Some(*epoch));
                }
                Action::Enter { state, .. } => assert_eq!(*state, link.state()),
                Action::Missed { .. } | Action::Done | Action::NotNow => {}
            }
        }
        assert_eq!(self.open, link.epoch(), "after {input:?}");
        let waits = match &link.phase {
            Phase::Waiting { .. } => true,
            Phase::Up(up) => up.pulse.deadline().is_some(),
            _ => false,
        };
        assert_eq!(link.deadline().is_some(), waits);
        if let Some(deadline) = link.deadline() {
            assert!(
                deadline > now || matches!(input, Input::Connected { .. }),
                "a deadline of the past would spin: {input:?}"
            );
        }
    }
}

#[test]
fn every_input_in_every_state_keeps_one_connection_and_closes_it_once() {
    fn walk(link: &Link, outside: &Outside, now: Instant, depth: u32, steps: &mut u64) {
        if depth == 0 {
            return;
        }
        for input in inputs(link.last_epoch) {
            let mut link = link.clone();
            let mut outside = outside.clone();
            let now = match (input, link.deadline()) {
                (Input::Tick { .. }, Some(deadline)) => deadline,
                _ => now,
            };
            let actions = link.step(input, now);
            *steps += 1;
            outside.perform(input, &actions, &link, now);
            walk(&link, &outside, now, depth - 1, steps);
        }
    }
    let mut steps = 0;
    let link = Link::new(Backoff::default());
    walk(&link, &Outside::default(), Instant::now(), 4, &mut steps);
    assert!(steps > 500_000, "{steps}");
}

proptest! {
    #[test]
    fn long_random_lives_keep_one_connection_too(
        choices in proptest::collection::vec((0usize..29, 0u64..40), 1..200)
    ) {
        let mut link = Link::new(Backoff::default());
        let mut outside = Outside::default();
        let mut now = Instant::now();
        link.step(Input::Start, now);
        outside.open = Some(1);
        outside.last = 1;
        for (choice, wait) in choices {
            now += secs(wait);
            // The driver never lets a deadline pass.
            while let Some(deadline) = link.deadline().filter(|at| *at <= now) {
                let actions = link.step(TICK, deadline);
                outside.perform(TICK, &actions, &link, deadline);
            }
            let all = inputs(link.last_epoch);
            // Closing ends the walk early, so it is left to the short one.
            let input = all[choice % all.len()];
            if input == Input::Close {
                continue;
            }
            let actions = link.step(input, now);
            outside.perform(input, &actions, &link, now);
        }
    }
}
