//! TOML into a tree with places, for files of other programs.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::node::{Data, Entry, Node, Style, Text};
use super::{Budget, SyntaxError, scalar};
use crate::deployment::Place;

pub(super) fn parse(text: &str, budget: Budget) -> Result<Option<Node>, SyntaxError> {
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|error| {
        let place = error
            .span()
            .map_or(Place::START, |span| lines.place(span.start));
        SyntaxError::new(place, format!("not valid TOML: {}", error.message()))
    })?;
    let mut reader = Reader {
        lines,
        budget,
        nodes: 0,
    };
    let root = reader.table(Place::START, table.get_ref(), 0)?;
    let empty = matches!(&root.data, Data::Map { entries, .. } if entries.is_empty());
    Ok((!empty).then_some(root))
}

/// Where the lines of a text begin, in bytes.
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(ends).collect(),
        }
    }

    fn place(&self, byte: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= byte).max(1);
        let before = self.text.get(self.starts[line - 1]..byte);
        let column = before.map_or(0, |before| before.chars().count()) + 1;
        Place {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}

struct Reader<'t> {
    lines: Lines<'t>,
    budget: Budget,
    nodes: usize,
}

impl Reader<'_> {
    fn table(
        &mut self,
        place: Place,
        table: &DeTable<'_>,
        depth: usize,
    ) -> Result<Node, SyntaxError> {
        let mut entries = Vec::with_capacity(table.len());
        for (key, value) in table {
            entries.push(Entry {
                key: key.get_ref().to_string(),
                place: self.lines.place(key.span().start),
                value: self.value(value, depth + 1)?,
            });
        }
        let data = Data::Map {
            entries,
            repeated: Vec::new(),
        };
        Ok(Node { place, data })
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, SyntaxError> {
        let place = self.lines.place(value.span().start);
        self.nodes += 1;
        if self.nodes > self.budget.nodes {
            let most = self.budget.nodes;
            return Err(SyntaxError::new(place, format!("more than {most} values")));
        }
        if depth > self.budget.depth {
            let most = self.budget.depth;
            let message = format!("nested more than {most} levels deep");
            return Err(SyntaxError::new(place, message));
        }
        let number = |written: &str| match scalar::number(written) {
            Some(number) => Data::Number(number, written.into()),
            // Infinity and what is no number: there is nothing that could take it.
            None => Data::Text(Text::new(written.to_owned(), Style::Plain)),
        };
        let data = match value.get_ref() {
            DeValue::String(text) => Data::Text(Text::new(text.to_string(), Style::Double)),
            DeValue::Integer(integer) => {
                match i64::from_str_radix(integer.as_str(), integer.radix()) {
                    Ok(value) => Data::Number(value.into(), integer.to_string().into()),
                    Err(_) => number(&integer.to_string()),
                }
            }
            DeValue::Float(float) => number(float.as_str()),
            DeValue::Boolean(value) => Data::Bool(*value, value.to_string().into()),
            DeValue::Datetime(value) => Data::Text(Text::new(value.to_string(), Style::Plain)),
            DeValue::Array(items) => {
                let items = items.iter().map(|item| self.value(item, depth + 1));
                Data::List(items.collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => return self.table(place, table, depth),
        };
        Ok(Node { place, data })
    }
}
