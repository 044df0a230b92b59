//! The order in which resources are built, and the cycles that leave none (rule 10.1).

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// What depends on what, by position in the file.
#[derive(Debug, Default)]
pub(super) struct Graph {
    needs: Vec<BTreeSet<usize>>,
}

impl Graph {
    pub(super) fn new(resources: usize) -> Self {
        Self {
            needs: vec![BTreeSet::new(); resources],
        }
    }

    /// Notes that `from` needs `to`.
    pub(super) fn add(&mut self, from: usize, to: usize) {
        if let Some(needs) = self.needs.get_mut(from) {
            needs.insert(to);
        }
    }

    /// All resources, each after those that it needs, and apart from that in the order of the
    /// file.
    ///
    /// # Errors
    /// Cycles, each beginning with its first resource in the file. What merely depends on a cycle
    /// is in none.
    pub(super) fn order(&self) -> Result<Vec<usize>, Vec<Vec<usize>>> {
        let mut waiting: Vec<usize> = self.needs.iter().map(BTreeSet::len).collect();
        let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); self.needs.len()];
        for (from, needs) in self.needs.iter().enumerate() {
            for to in needs {
                needed_by[*to].push(from);
            }
        }
        let mut ready: BinaryHeap<Reverse<usize>> = (0..waiting.len())
            .filter(|index| waiting[*index] == 0)
            .map(Reverse)
            .collect();
        let mut order = Vec::with_capacity(waiting.len());
        while let Some(Reverse(index)) = ready.pop() {
            order.push(index);
            for dependent in &needed_by[index] {
                waiting[*dependent] -= 1;
                if waiting[*dependent] == 0 {
                    ready.push(Reverse(*dependent));
                }
            }
        }
        if order.len() == waiting.len() {
            return Ok(order);
        }
        Err(self.cycles(&waiting))
    }

    /// Walks from each resource that could not be ordered along its needs until one comes again.
    fn cycles(&self, waiting: &[usize]) -> Vec<Vec<usize>> {
        let stuck = |index: usize| waiting[index] > 0;
        let mut walked: Vec<Option<usize>> = vec![None; waiting.len()];
        let mut cycles = Vec::new();
        for start in (0..waiting.len()).filter(|index| stuck(*index)) {
            let mut path = Vec::new();
            let mut at = start;
            while walked[at].is_none() {
                walked[at] = Some(start);
                path.push(at);
                // Whatever is stuck needs something that is stuck.
                match self.needs[at].iter().copied().find(|next| stuck(*next)) {
                    Some(next) => at = next,
                    None => break,
                }
            }
            let again = path.iter().position(|index| *index == at);
            if let Some(begin) = again.filter(|_| walked[at] == Some(start)) {
                let mut cycle = path.split_off(begin);
                let first = (0..cycle.len())
                    .min_by_key(|index| cycle[*index])
                    .unwrap_or(0);
                cycle.rotate_left(first);
                cycles.push(cycle);
            }
        }
        cycles
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(resources: usize, edges: &[(usize, usize)]) -> Graph {
        let mut graph = Graph::new(resources);
        for (from, to) in edges {
            graph.add(*from, *to);
        }
        graph
    }

    #[test]
    fn what_is_needed_comes_first_and_the_rest_stays_in_the_order_of_the_file() {
        for (name, edges, expected) in [
            ("none", &[][..], vec![0, 1, 2, 3]),
            ("later", &[(0, 3)], vec![1, 2, 3, 0]),
            ("chain", &[(0, 1), (1, 2), (2, 3)], vec![3, 2, 1, 0]),
            (
                "diamond",
                &[(0, 1), (0, 2), (1, 3), (2, 3)],
                vec![3, 1, 2, 0],
            ),
        ] {
            assert_eq!(graph(4, edges).order(), Ok(expected), "{name}");
        }
    }

    #[test]
    fn every_cycle_is_found_once_and_begins_with_its_first_in_the_file() {
        for (name, edges, expected) in [
            ("itself", &[(2, 2)][..], vec![vec![2]]),
            ("two", &[(3, 1), (1, 3), (0, 3)], vec![vec![1, 3]]),
            (
                "apart",
                &[(0, 1), (1, 0), (3, 2), (2, 3)],
                vec![vec![0, 1], vec![2, 3]],
            ),
            (
                "what depends on a cycle is in none",
                &[(0, 1), (1, 1)],
                vec![vec![1]],
            ),
        ] {
            assert_eq!(graph(4, edges).order(), Err(expected), "{name}");
        }
    }
}
