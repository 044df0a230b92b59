//! `deps` of a resource: names that have to exist and to fit (rule 10.1).

use std::collections::HashMap;

use super::Place;
use super::document::{Reading, Shape, Value};
use super::identity::{Resource, shown};
use super::kinds::{Dep, Row};
use super::order::Graph;

/// A name under `deps`.
pub(super) struct Named<'d> {
    pub(super) key: &'d str,
    pub(super) value: Value<'d>,
}

/// Looks names up among all resources of a file.
pub(super) struct Dependencies<'a, 'd> {
    pub(super) reading: &'a Reading<'a>,
    pub(super) all: &'a [Resource<'d>],
    pub(super) index: &'a HashMap<&'d str, usize>,
}

impl<'d> Dependencies<'_, 'd> {
    /// Checks `deps` of a resource and gives the names in it that exist and fit. All that exist go
    /// into the graph, fitting or not, so that a cycle is seen in any case.
    pub(super) fn read(
        &self,
        resource: &Resource<'d>,
        position: usize,
        graph: &mut Graph,
    ) -> Vec<Named<'d>> {
        let Some(deps) = resource.value.get("deps") else {
            return Vec::new();
        };
        if !deps.is_map() {
            self.reading.check(&deps, &Shape::Object);
            return Vec::new();
        }
        let mut named = Vec::new();
        for (key, place, value) in deps.entries() {
            let dep = resource.row.map(|row| self.dep(row, key, place, &value));
            self.reading.check(&value, &Shape::OneOrMany(&Shape::Name));
            let items = value.items();
            if let Some(Some(dep)) = dep
                && !dep.many
                && items.len() != 1
            {
                self.reading
                    .error(&value, format!("`{key}` takes one name"));
            }
            for item in items {
                let Some(name) = item.text().filter(|name| !name.is_empty()) else {
                    continue;
                };
                match self.index.get(name) {
                    None => self.dangling(resource, &item, dep.flatten()),
                    Some(to) => {
                        graph.add(position, *to);
                        if let Some(Some(dep)) = dep
                            && self.fits(dep, &self.all[*to], &item)
                        {
                            named.push(Named { key, value: item });
                        }
                    }
                }
            }
        }
        named
    }

    /// The dependency that a key stands for.
    fn dep(
        &self,
        row: &'static Row,
        key: &str,
        place: Place,
        value: &Value<'_>,
    ) -> Option<&'static Dep> {
        let dep = row.deps.iter().find(|dep| dep.takes(key));
        if dep.is_none() {
            let keys: Vec<&str> = row
                .deps
                .iter()
                .flat_map(|dep| dep.keys.first().copied())
                .collect();
            if keys.is_empty() {
                self.reading.error_at(
                    place,
                    &value.path,
                    format!("unknown key `{key}`; `{}` depends on nothing", row.name),
                );
            } else {
                self.reading.unknown_key(key, place, &value.path, keys);
            }
        }
        dep
    }

    fn dangling(&self, resource: &Resource<'_>, item: &Value<'_>, dep: Option<&Dep>) {
        let name = item.text().unwrap_or_default();
        let fitting = self.all.iter().filter(|other| {
            other.name != resource.name
                && dep.is_none_or(|dep| other.kind.is_none_or(|kind| kind == dep.kind))
        });
        self.reading.unknown(
            item.place(),
            &item.path,
            format!("there is no resource `{}`", shown(item)),
            name,
            fitting.map(|other| other.name),
        );
    }

    /// Whether a resource is what a dependency asks for; what is not known yet is not reported.
    fn fits(&self, dep: &Dep, other: &Resource<'_>, item: &Value<'_>) -> bool {
        let Some(kind) = other.kind else { return false };
        let wanted = match dep.only {
            Some(only) => format!("{}/{only}", dep.kind.as_str()),
            None => dep.kind.as_str().to_owned(),
        };
        let found = match other.row {
            Some(row) if dep.only.is_some() => format!("{}/{}", kind.as_str(), row.name),
            _ => kind.as_str().to_owned(),
        };
        let right_impl = dep
            .only
            .is_none_or(|only| other.row.is_none_or(|row| row.name == only));
        if kind == dep.kind && right_impl {
            return true;
        }
        self.reading.error(
            item,
            format!(
                "`{}` is a `{found}`, but a `{wanted}` is needed here",
                other.name
            ),
        );
        false
    }
}
