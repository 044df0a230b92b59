//! Where the panes of the screen lie.

use ratatui::layout::{Constraint, Layout, Rect};

use super::{Pane, Sessions, head};
use crate::console::pane;
use crate::console::shared::{Breadth, Shared};
use crate::console::subtabs;

/// The areas of the panes, frames included; those that are not shown are empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Areas {
    pub(super) list: Rect,
    pub(super) head: Rect,
    pub(super) sent: Rect,
    pub(super) evidence: Rect,
}

impl Sessions {
    pub(super) fn areas(&self, shared: &Shared, area: Rect) -> Areas {
        let none = Areas::default();
        let Some(looked) = &self.looked else {
            return Areas { list: area, ..none };
        };
        if shared.zoomed {
            return match self.pane {
                Pane::List => Areas { list: area, ..none },
                Pane::Sent => Areas { sent: area, ..none },
                Pane::Evidence => Areas {
                    evidence: area,
                    ..none
                },
            };
        }
        let small = shared.breadth() == Breadth::Small;
        if self.pane == Pane::List {
            let [list, session] = pane::list_and_evidence(shared, area, true);
            if session.is_empty() {
                return Areas { list: area, ..none };
            }
            let height = head::height(looked.row()) + 2;
            let [head, sent] =
                Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(session);
            return Areas {
                list,
                head,
                sent,
                ..none
            };
        }
        if small {
            // Two lines of the head and the pane that has the focus.
            let lines = if area.height < 8 { 0 } else { 2 };
            let [head, rest] =
                Layout::vertical([Constraint::Length(lines), Constraint::Min(0)]).areas(area);
            return match self.pane {
                Pane::Evidence => Areas {
                    head,
                    evidence: rest,
                    ..none
                },
                _ => Areas {
                    head,
                    sent: rest,
                    ..none
                },
            };
        }
        let height = head::height(looked.row()) + 2;
        let [head, rest] =
            Layout::vertical([Constraint::Length(height), Constraint::Min(0)]).areas(area);
        let halves = match shared.breadth() {
            Breadth::Wide => Layout::horizontal([Constraint::Percentage(51), Constraint::Min(0)]),
            _ => Layout::vertical([Constraint::Percentage(50), Constraint::Min(0)]),
        };
        let [sent, evidence] = halves.areas(rest);
        Areas {
            head,
            sent,
            evidence,
            ..none
        }
    }

    /// Takes over how many lines fit into each pane, and hands the lens what is looked at.
    pub(super) fn settle(&mut self, shared: &Shared, area: Rect) {
        let areas = self.areas(shared, area);
        let rows = |area: Rect, heads: u16| {
            usize::from(pane::inside(shared, area).height.saturating_sub(heads))
        };
        self.roster.settle(rows(areas.list, 1));
        let heads = u16::from(self.compare == super::Compare::Off);
        self.sent.settle(rows(areas.sent, heads));
        let inner = pane::inside(shared, areas.evidence);
        let below = subtabs::below(inner).height;
        let heads = match self.tab {
            super::Tab::Searches | super::Tab::Scenario => 0,
            _ => 1,
        };
        self.tables[self.tab as usize].settle(usize::from(below.saturating_sub(heads)));
        let (Some(looked), Some(mut lens)) = (&self.looked, self.lens.take()) else {
            return;
        };
        lens.refresh(&self.sight_from(self.asked_in, looked, shared), inner);
        self.lens = Some(lens);
    }
}
