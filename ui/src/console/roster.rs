//! A list whose selection is an identity: rows may come, go and move, the selection stays with its
//! row. Pure.

use std::ops::Range;

use super::keymap::Action;

/// The shown rows of a list by identity, with a selection and a window.
#[derive(Clone, Debug)]
pub(crate) struct Roster<K> {
    keys: Vec<K>,
    selected: Option<K>,
    /// Where the selection stands in `keys`, or stood before it disappeared.
    at: usize,
    top: usize,
    height: usize,
}

impl<K> Default for Roster<K> {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            selected: None,
            at: 0,
            top: 0,
            height: 0,
        }
    }
}

impl<K: Clone + PartialEq> Roster<K> {
    /// Takes over the rows in the order they are shown. The selection stays with its row; when
    /// that is gone it goes to the row that took its place.
    pub(crate) fn set_keys(&mut self, keys: Vec<K>) {
        self.keys = keys;
        let found = self.selected.as_ref().and_then(|selected| {
            // It mostly is where it was.
            if self.keys.get(self.at) == Some(selected) {
                return Some(self.at);
            }
            self.keys.iter().position(|key| key == selected)
        });
        let at = found.unwrap_or(self.at.min(self.keys.len().saturating_sub(1)));
        self.put(at);
    }

    /// The rows by identity, in the order they are shown.
    pub(crate) fn keys(&self) -> &[K] {
        &self.keys
    }

    /// The selected row.
    pub(crate) fn selected(&self) -> Option<&K> {
        self.selected.as_ref()
    }

    /// Where the selected row stands.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Selects a row if it is there.
    pub(crate) fn select(&mut self, key: &K) -> bool {
        let found = self.keys.iter().position(|known| known == key);
        if let Some(at) = found {
            self.put(at);
        }
        found.is_some()
    }

    /// Moves the selection by so many rows, as far as there are rows.
    pub(crate) fn step(&mut self, rows: isize) {
        self.put(self.at.saturating_add_signed(rows));
    }

    /// Selects the first row.
    pub(crate) fn first(&mut self) {
        self.put(0);
    }

    /// Selects the last row.
    pub(crate) fn last(&mut self) {
        self.put(self.keys.len().saturating_sub(1));
    }

    /// Moves as the action says, if it is one that moves.
    pub(crate) fn move_by(&mut self, action: Action) {
        match action {
            Action::Down => self.step(1),
            Action::Up => self.step(-1),
            Action::First => self.first(),
            Action::Last => self.last(),
            Action::HalfDown => self.step(self.half_page()),
            Action::HalfUp => self.step(-self.half_page()),
            _ => {}
        }
    }

    /// Half a page, for `ctrl-d` and `ctrl-u`.
    pub(crate) fn half_page(&self) -> isize {
        isize::try_from(self.height / 2).unwrap_or(1).max(1)
    }

    /// Takes over how many rows fit, and keeps the selection in the window.
    pub(crate) fn settle(&mut self, height: usize) {
        self.height = height;
        self.scroll();
    }

    /// The rows in the window.
    pub(crate) fn window(&self) -> Range<usize> {
        self.top..self.keys.len().min(self.top + self.height)
    }

    fn put(&mut self, at: usize) {
        self.at = at.min(self.keys.len().saturating_sub(1));
        self.selected = self.keys.get(self.at).cloned();
        self.scroll();
    }

    fn scroll(&mut self) {
        let height = self.height.max(1);
        let most = self.keys.len().saturating_sub(height);
        let lowest = (self.at + 1).saturating_sub(height);
        self.top = self
            .top
            .clamp(lowest, self.at.max(lowest))
            .min(most.max(lowest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster(keys: &[u32], height: usize) -> Roster<u32> {
        let mut roster = Roster::default();
        roster.settle(height);
        roster.set_keys(keys.to_vec());
        roster
    }

    #[test]
    fn the_selection_stays_with_its_row_when_rows_come_go_and_move() {
        let mut roster = roster(&[1, 2, 3], 10);
        roster.step(1);
        roster.set_keys(vec![9, 8, 7, 2, 1]);
        assert_eq!((roster.selected(), roster.position()), (Some(&2), 3));
    }

    #[test]
    fn a_row_that_is_gone_hands_the_selection_to_the_one_in_its_place() {
        let mut roster = roster(&[1, 2, 3], 10);
        roster.step(1);
        roster.set_keys(vec![1, 3]);
        assert_eq!(roster.selected(), Some(&3));
        roster.set_keys(vec![1]);
        assert_eq!(roster.selected(), Some(&1));
        roster.set_keys(vec![]);
        assert_eq!(roster.selected(), None);
        roster.set_keys(vec![4]);
        assert_eq!(roster.selected(), Some(&4));
    }

    #[test]
    fn the_window_follows_the_selection_and_moves_no_further_than_it_must() {
        let mut roster = roster(&(0..100).collect::<Vec<_>>(), 10);
        roster.step(9);
        assert_eq!(roster.window(), 0..10);
        roster.step(1);
        assert_eq!(roster.window(), 1..11);
        roster.step(-3);
        assert_eq!(roster.window(), 1..11);
        roster.last();
        assert_eq!(roster.window(), 90..100);
        roster.settle(20);
        assert_eq!(roster.window(), 80..100);
        roster.settle(0);
        assert_eq!(roster.window(), 99..99);
    }

    #[test]
    fn stepping_stops_at_both_ends() {
        let mut roster = roster(&[1, 2, 3], 2);
        roster.step(-5);
        assert_eq!(roster.selected(), Some(&1));
        roster.step(isize::MAX);
        assert_eq!(roster.selected(), Some(&3));
    }
}
