//! What a resource is: its kind and its impl.

use super::Place;
use super::document::{Reading, Shape, Value};
use super::kinds::{Kind, RESOURCE, ROWS, Row, impls};

/// A resource whose kind may be known already.
pub(super) struct Resource<'d> {
    pub(super) name: &'d str,
    pub(super) at: Place,
    pub(super) value: Value<'d>,
    pub(super) kind: Option<Kind>,
    pub(super) row: Option<&'static Row>,
}

/// What a resource is. Keys of a resource are checked here, its settings are not.
pub(super) fn identify<'d>(
    reading: &Reading<'_>,
    name: &'d str,
    at: Place,
    value: Value<'d>,
) -> Resource<'d> {
    reading.check(&value, &Shape::Fields(&RESOURCE));
    if name.is_empty() {
        reading.error_at(at, &value.path, "a resource needs a name that is not empty");
    }
    let kind = value.get("kind");
    if let Some(kind) = &kind {
        reading.check(kind, &Shape::Text);
    }
    let text = kind.as_ref().and_then(|kind| kind.text());
    let known = Kind::ALL
        .into_iter()
        .find(|known| text == Some(known.as_str()));
    if let (Some(kind), Some(text), None) = (&kind, text, known) {
        reading.unknown(
            kind.place(),
            &kind.path,
            format!("unknown kind `{}`", shown(kind)),
            text,
            Kind::ALL.map(Kind::as_str),
        );
    }
    let row = identify_impl(reading, &value, known);
    Resource {
        name,
        at,
        value,
        kind: known,
        row,
    }
}

fn identify_impl(
    reading: &Reading<'_>,
    value: &Value<'_>,
    kind: Option<Kind>,
) -> Option<&'static Row> {
    let implementation = value.get("impl")?;
    reading.check(&implementation, &Shape::Text);
    let text = implementation.text()?;
    let Some(kind) = kind else {
        // The kind is wrong or missing: an impl that nothing has is wrong whatever the kind.
        if !ROWS.iter().any(|row| row.name == text) {
            reading.unknown(
                implementation.place(),
                &implementation.path,
                format!("unknown impl `{}`", shown(&implementation)),
                text,
                ROWS.iter().map(|row| row.name),
            );
        }
        return None;
    };
    let row = impls(kind).find(|row| row.name == text);
    if row.is_none() {
        let known: Vec<_> = impls(kind).map(|row| format!("`{}`", row.name)).collect();
        reading.unknown(
            implementation.place(),
            &implementation.path,
            format!(
                "`{}` has no impl `{}`; it has {}",
                kind.as_str(),
                shown(&implementation),
                known.join(", ")
            ),
            text,
            impls(kind).map(|row| row.name),
        );
    }
    row
}

/// What may be shown of a name.
pub(super) fn shown<'d>(value: &Value<'d>) -> &'d str {
    value.as_text().map_or("", |text| text.shown())
}
