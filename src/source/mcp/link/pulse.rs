//! How a connection is proved alive (rule 8.7): when a probe is sent, when it is late, and how
//! many were missed in a row.

use std::time::Duration;

use tokio::time::Instant;

/// The longest that a probe may take.
pub(in super::super) const PATIENCE: Duration = Duration::from_secs(10);

/// How often a connection has to prove itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Pulse {
    /// A probe every interval.
    Every(Duration),
    /// Only when the operator asks; a miss is shown, but is never a loss.
    OnDemand,
}

/// What became of a probe that was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missed {
    /// Nothing was waited for, or it is not late yet.
    Stale,
    /// A first miss, or one that is no loss.
    Once { probe: u64 },
    /// The second in a row.
    Twice { probe: u64 },
}

#[derive(Clone, Debug)]
pub(super) struct Beat {
    pulse: Pulse,
    next: Option<Instant>,
    pending: Option<Pending>,
    missed: u32,
    last_probe: u64,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    probe: u64,
    late_at: Instant,
}

impl Beat {
    pub(super) fn start(pulse: Pulse, now: Instant) -> Self {
        let next = match pulse {
            Pulse::Every(interval) => Some(now + interval),
            Pulse::OnDemand => None,
        };
        Self {
            pulse,
            next,
            pending: None,
            missed: 0,
            last_probe: 0,
        }
    }

    pub(super) fn is_regular(&self) -> bool {
        matches!(self.pulse, Pulse::Every(_))
    }

    pub(super) fn is_doubtful(&self) -> bool {
        self.missed > 0
    }

    /// When something is to be done.
    pub(super) fn deadline(&self) -> Option<Instant> {
        // While a probe is out the next one waits for its fate.
        self.pending.map(|pending| pending.late_at).or(self.next)
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next.is_some_and(|next| next <= now)
    }

    /// Sends a probe now, unless one is out already.
    pub(super) fn probe(&mut self, now: Instant) -> Option<u64> {
        if self.pending.is_some() {
            return None;
        }
        let patience = match self.pulse {
            Pulse::Every(interval) => {
                self.next = Some(now + interval);
                interval.min(PATIENCE)
            }
            Pulse::OnDemand => PATIENCE,
        };
        self.last_probe += 1;
        self.pending = Some(Pending {
            probe: self.last_probe,
            late_at: now + patience,
        });
        Some(self.last_probe)
    }

    /// An answer to any probe of this connection, a late one too, proves that it lives.
    pub(super) fn answered(&mut self, probe: u64) {
        self.pending.take_if(|pending| pending.probe == probe);
        self.alive();
    }

    pub(super) fn alive(&mut self) {
        self.missed = 0;
    }

    /// The probe will not be answered.
    pub(super) fn missed(&mut self, probe: u64) -> Missed {
        match self.pending.take_if(|pending| pending.probe == probe) {
            Some(_) => self.count(probe),
            None => Missed::Stale,
        }
    }

    /// The probe that is late by now.
    pub(super) fn overdue(&mut self, now: Instant) -> Missed {
        match self.pending.take_if(|pending| pending.late_at <= now) {
            Some(pending) => self.count(pending.probe),
            None => Missed::Stale,
        }
    }

    fn count(&mut self, probe: u64) -> Missed {
        self.missed = self.missed.saturating_add(1);
        if self.missed >= 2 && self.is_regular() {
            Missed::Twice { probe }
        } else {
            Missed::Once { probe }
        }
    }
}
