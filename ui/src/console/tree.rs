//! A tree of which only what was opened exists: a JSON value of ten megabytes costs as much as the
//! rows somebody looked at.

/// How many children are shown at once; the rest stays behind a row that says how many.
const CHILDREN: usize = 100;

/// What a piece of a row means; the theme gives it a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A name or key.
    Key,
    /// Plain text, strings.
    Text,
    /// Numbers, booleans, null.
    Value,
    /// The type of something.
    Type,
    /// Something to notice, such as `required`.
    Mark,
    /// Remarks.
    Dim,
}

/// A piece of a row, cleaned for the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The text.
    pub(crate) text: String,
    /// What it means.
    pub(crate) tone: Tone,
}

impl Piece {
    /// A piece.
    pub(crate) fn new(tone: Tone, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone,
        }
    }
}

/// What a row shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// The row's text.
    pub(crate) pieces: Vec<Piece>,
    /// Whether there is something below it.
    pub(crate) opens: bool,
}

/// Some children of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Children {
    /// Those asked for.
    pub(crate) nodes: Vec<Node>,
    /// How many there are in all.
    pub(crate) total: usize,
}

/// Where the nodes of a tree come from.
pub(crate) trait Branches {
    /// At most `limit` children, from the `from`-th on, of the node at a path of child numbers.
    fn children(&self, path: &[usize], from: usize, limit: usize) -> Children;
}

/// A row of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeRow {
    /// Child numbers from the root.
    pub(crate) path: Vec<usize>,
    /// What it shows.
    pub(crate) node: Node,
    /// Whether its children follow.
    pub(crate) open: bool,
    /// Set on the row that stands for this many children not shown yet.
    pub(crate) more: Option<usize>,
}

/// The rows that are open, and the one under the cursor.
#[derive(Clone, Debug)]
pub(crate) struct Tree<B> {
    branches: B,
    rows: Vec<TreeRow>,
    cursor: usize,
}

impl<B: Branches> Tree<B> {
    /// A tree opened level by level as long as about `rows` rows suffice.
    pub(crate) fn new(branches: B, rows: usize) -> Self {
        let mut tree = Self {
            branches,
            rows: Vec::new(),
            cursor: 0,
        };
        tree.rows = tree.load(&[], 0);
        let mut level = 1;
        while tree.rows.len() < rows {
            let before = tree.rows.len();
            let mut at = 0;
            while at < tree.rows.len() && tree.rows.len() < rows {
                let row = &tree.rows[at];
                if row.path.len() == level && row.node.opens && !row.open {
                    tree.toggle_at(at);
                }
                at += 1;
            }
            if tree.rows.len() == before {
                break;
            }
            level += 1;
        }
        tree
    }

    fn load(&self, path: &[usize], from: usize) -> Vec<TreeRow> {
        let children = self.branches.children(path, from, CHILDREN);
        let below = |number: usize| {
            let mut path = path.to_vec();
            path.push(number);
            path
        };
        let shown = from + children.nodes.len();
        let rest = children.total.saturating_sub(shown);
        let mut rows: Vec<TreeRow> = children
            .nodes
            .into_iter()
            .enumerate()
            .map(|(at, node)| TreeRow {
                path: below(from + at),
                node,
                open: false,
                more: None,
            })
            .collect();
        if rest > 0 {
            rows.push(TreeRow {
                path: below(shown),
                node: Node {
                    pieces: vec![Piece::new(Tone::Dim, format!("… {rest} more, enter shows"))],
                    opens: false,
                },
                open: false,
                more: Some(rest),
            });
        }
        rows
    }

    /// The rows, top to bottom.
    pub(crate) fn rows(&self) -> &[TreeRow] {
        &self.rows
    }

    /// Where the nodes come from.
    pub(crate) fn branches(&self) -> &B {
        &self.branches
    }

    /// The number of the row under the cursor.
    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    /// The row under the cursor, if there is any.
    pub(crate) fn selected(&self) -> Option<&TreeRow> {
        self.rows.get(self.cursor)
    }

    /// Moves the cursor, as far as there are rows.
    pub(crate) fn step(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(by).min(last);
    }

    /// Opens or closes the row under the cursor, or shows more children. Whether anything changed.
    pub(crate) fn toggle(&mut self) -> bool {
        self.toggle_at(self.cursor)
    }

    fn toggle_at(&mut self, at: usize) -> bool {
        let Some(row) = self.rows.get(at) else {
            return false;
        };
        if row.more.is_some() {
            let mut path = row.path.clone();
            let from = path.pop().unwrap_or_default();
            let rows = self.load(&path, from);
            self.rows.splice(at..=at, rows);
            return true;
        }
        if !row.node.opens {
            return false;
        }
        let path = row.path.clone();
        if row.open {
            let below = self.rows[at + 1..]
                .iter()
                .take_while(|row| row.path.starts_with(&path))
                .count();
            self.rows.drain(at + 1..=at + below);
        } else {
            let rows = self.load(&path, 0);
            self.rows.splice(at + 1..at + 1, rows);
        }
        self.rows[at].open = !self.rows[at].open;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each node has as many children as the number says, `depth` levels deep.
    struct Even {
        count: usize,
        depth: usize,
    }

    impl Branches for Even {
        fn children(&self, path: &[usize], from: usize, limit: usize) -> Children {
            let opens = path.len() + 1 < self.depth;
            Children {
                nodes: (from..self.count.min(from + limit))
                    .map(|at| Node {
                        pieces: vec![Piece::new(Tone::Text, format!("{at}"))],
                        opens,
                    })
                    .collect(),
                total: self.count,
            }
        }
    }

    fn paths(tree: &Tree<Even>) -> Vec<Vec<usize>> {
        tree.rows().iter().map(|row| row.path.clone()).collect()
    }

    #[test]
    fn rows_open_and_close_in_place() {
        let mut tree = Tree::new(Even { count: 2, depth: 3 }, 0);
        assert_eq!(paths(&tree), [vec![0], vec![1]]);
        tree.toggle();
        tree.step(1);
        tree.toggle();
        assert_eq!(
            paths(&tree),
            [
                vec![0],
                vec![0, 0],
                vec![0, 0, 0],
                vec![0, 0, 1],
                vec![0, 1],
                vec![1]
            ]
        );
        tree.toggle();
        tree.step(-1);
        assert_eq!(tree.cursor(), 0);
        tree.toggle();
        assert_eq!(paths(&tree), [vec![0], vec![1]]);
    }

    #[test]
    fn opening_stops_once_the_rows_suffice() {
        let tree = Tree::new(
            Even {
                count: 10,
                depth: 100,
            },
            40,
        );
        assert!(tree.rows().len() >= 40 && tree.rows().len() < 60);
        let all = Tree::new(Even { count: 3, depth: 3 }, 1_000);
        assert_eq!(all.rows().len(), 3 + 9 + 27);
        let mut sorted = paths(&all);
        sorted.sort();
        assert_eq!(sorted, paths(&all), "parents stand before their children");
    }

    #[test]
    fn a_million_children_stand_behind_one_row() {
        let mut tree = Tree::new(
            Even {
                count: 1_000_000,
                depth: 1,
            },
            40,
        );
        assert_eq!(tree.rows().len(), CHILDREN + 1);
        tree.step(isize::MAX);
        assert_eq!(tree.selected().and_then(|row| row.more), Some(999_900));
        assert!(tree.toggle());
        assert_eq!(tree.rows().len(), 2 * CHILDREN + 1);
        assert_eq!(tree.rows()[CHILDREN].path, [CHILDREN]);
    }
}
