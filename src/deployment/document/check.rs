//! Holds a value against its shape and reports everything that does not fit.

use super::duration::{DurationError, parse_duration};
use super::node::{Data, Text};
use super::reading::Reading;
use super::shape::{Shape, Table};
use super::value::Value;
use crate::deployment::Place;

impl Reading<'_> {
    /// Reports everything in which a value is not of a shape. What remains can be taken out with
    /// the accessors of [`Value`].
    pub fn check(&self, value: &Value<'_>, shape: &Shape) {
        if matches!(value.node.data, Data::Broken) {
            return;
        }
        match shape {
            Shape::Elsewhere => {}
            Shape::Any => self.any(value, false),
            Shape::AnyTemplate => self.any(value, true),
            Shape::Object => match value.node.data {
                Data::Map { .. } => self.any(value, false),
                _ => self.wrong(value, "a map"),
            },
            Shape::Text => {
                self.string(value);
            }
            Shape::Name => self.name(value),
            Shape::Template => match value.as_text() {
                Some(text) => self.keep(text),
                None => self.wrong(value, "a string"),
            },
            Shape::Bool => {
                if value.bool().is_none() {
                    self.wrong(value, "true or false");
                }
            }
            Shape::Flag => self.flag(value),
            Shape::Chance => {
                let share = value
                    .number()
                    .is_some_and(|share| (0.0..=1.0).contains(&share));
                if value.bool().is_none() && !share {
                    self.wrong(value, "true, false, or a number from 0 to 1");
                }
            }
            Shape::Whole(least, most) => self.whole(value, *least, *most),
            Shape::Share => {
                if !value
                    .number()
                    .is_some_and(|share| (0.0..=1.0).contains(&share))
                {
                    self.wrong(value, "a number from 0 to 1");
                }
            }
            Shape::Positive => {
                if !value.number().is_some_and(|number| number > 0.0) {
                    self.wrong(value, "a number above 0");
                }
            }
            Shape::Duration { zero } => self.duration(value, *zero, false),
            Shape::DurationOrOff => self.duration(value, false, true),
            Shape::Choice(choices) => self.choice(value, choices),
            Shape::Url => self.url(value),
            Shape::File => self.name(value),
            Shape::Glob => self.name(value),
            Shape::Pattern => self.pattern(value),
            Shape::List(shape) => match value.node.data {
                Data::List(_) => self.each(value, shape),
                _ => self.wrong(value, "a list"),
            },
            Shape::OneOrMany(shape) => self.each(value, shape),
            Shape::Map(shape) => match value.node.data {
                Data::Map { .. } => {
                    for (_, _, value) in value.entries() {
                        self.check(&value, shape);
                    }
                }
                _ => self.wrong(value, "a map"),
            },
            Shape::Fields(table) => self.fields(value, table),
        }
    }

    fn each(&self, value: &Value<'_>, shape: &Shape) {
        for item in value.items() {
            self.check(&item, shape);
        }
    }

    /// A map with fixed keys: unknown ones, missing ones, and the values of the others.
    fn fields(&self, value: &Value<'_>, table: &Table) {
        let Data::Map { .. } = value.node.data else {
            return self.wrong(value, "a map");
        };
        for (key, place, value) in value.entries() {
            match table.field(key) {
                Some(field) => self.check(&value, &field.shape),
                None => self.unknown_key(key, place, &value.path, table.keys()),
            }
        }
        for field in table.fields {
            if field.required && !value.has(field.key) {
                self.error(value, format!("`{}` is missing", field.key));
            }
        }
    }

    /// Reports an unknown key with the nearest known one.
    pub fn unknown_key<'n>(
        &self,
        key: &str,
        place: Place,
        path: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) {
        self.unknown(place, path, format!("unknown key `{key}`"), key, known);
    }

    /// Anything is allowed, but a template only where it says so; strings in it are settings.
    fn any(&self, value: &Value<'_>, templates: bool) {
        match &value.node.data {
            Data::Text(text) if text.template && !templates => self.template(value),
            Data::Text(text) => self.keep(text),
            Data::List(_) => {
                for item in value.items() {
                    self.any(&item, templates);
                }
            }
            Data::Map { .. } => {
                for (_, _, value) in value.entries() {
                    self.any(&value, templates);
                }
            }
            _ => {}
        }
    }

    /// A string setting: what expansion put into it is secret from here on (rule 10.3).
    fn keep(&self, text: &Text) {
        for secret in &text.secrets {
            self.secrets().add(secret);
        }
    }

    fn string<'v>(&self, value: &Value<'v>) -> Option<&'v Text> {
        match value.as_text() {
            Some(text) if text.template => {
                self.template(value);
                None
            }
            Some(text) => {
                self.keep(text);
                Some(text)
            }
            None => {
                self.wrong(value, "a string");
                None
            }
        }
    }

    fn template(&self, value: &Value<'_>) {
        self.error(
            value,
            format!("`{}` cannot be a template; put it in quotes", value.label()),
        );
    }

    fn name(&self, value: &Value<'_>) {
        if self.string(value).is_some_and(|text| text.value.is_empty()) {
            self.error(value, format!("`{}` must not be empty", value.label()));
        }
    }

    fn flag(&self, value: &Value<'_>) {
        let fits = match &value.node.data {
            Data::Null => true,
            Data::Map { entries, repeated } => entries.is_empty() && repeated.is_empty(),
            _ => value.bool() == Some(true),
        };
        if !fits {
            self.wrong(value, "`{}`");
        }
    }

    fn whole(&self, value: &Value<'_>, least: i64, most: i64) {
        let range = match (least, most) {
            (0, i64::MAX) => "a whole number, not negative".to_owned(),
            (least, i64::MAX) => format!("a whole number, {least} or more"),
            (least, most) => format!("a whole number from {least} to {most}"),
        };
        if !value
            .whole()
            .is_some_and(|number| (least..=most).contains(&number))
        {
            self.wrong(value, &range);
        }
    }

    fn duration(&self, value: &Value<'_>, zero: bool, off: bool) {
        let written = match &value.node.data {
            Data::Number(_, written) => written,
            Data::Text(text) => text.value.trim(),
            _ => {
                let or_off = if off { " or `off`" } else { "" };
                return self.wrong(value, &format!("a duration such as `30s`{or_off}"));
            }
        };
        if off && written == "off" {
            return;
        }
        let label = value.label();
        match parse_duration(written) {
            Ok(duration) if duration.is_zero() && !zero => {
                let or_off = if off { "; `off` turns it off" } else { "" };
                self.error(value, format!("`{label}` must be longer than 0{or_off}"));
            }
            Ok(_) => {}
            // What came from a variable is not shown.
            Err(_) if value.expanded().is_some() => {
                self.wrong(value, "a duration such as `30s`");
            }
            Err(error) => {
                let or_off = match (&error, off) {
                    (DurationError::Malformed(_), true) => ", or `off`",
                    _ => "",
                };
                self.error(value, format!("`{label}`: {error}{or_off}"));
            }
        }
    }

    fn choice(&self, value: &Value<'_>, choices: &'static [&'static str]) {
        let listed = match choices {
            [only] => format!("`{only}`"),
            [others @ .., last] => {
                let others: Vec<_> = others.iter().map(|name| format!("`{name}`")).collect();
                format!("{} or `{last}`", others.join(", "))
            }
            [] => String::new(),
        };
        match value.as_text() {
            Some(text) if choices.contains(&text.value.as_str()) => {}
            Some(text) => self.unknown(
                value.place(),
                &value.path,
                format!(
                    "`{}` must be {listed}, not `{}`",
                    value.label(),
                    text.shown()
                ),
                &text.value,
                choices.iter().copied(),
            ),
            None => self.wrong(value, &listed),
        }
    }

    fn url(&self, value: &Value<'_>) {
        let Some(text) = self.string(value) else {
            return;
        };
        let label = value.label();
        let shown = text.shown();
        match url::Url::parse(&text.value) {
            Ok(url) if !matches!(url.scheme(), "http" | "https") => self.error(
                value,
                format!("`{label}` must start with `http://` or `https://`, not `{shown}`"),
            ),
            Ok(url) if url.host_str().is_none_or(str::is_empty) => {
                self.error(value, format!("`{label}` has no host: `{shown}`"));
            }
            Ok(_) => {}
            Err(url::ParseError::RelativeUrlWithoutBase) => self.error(
                value,
                format!("`{label}` must start with `http://` or `https://`, not `{shown}`"),
            ),
            Err(error) => self.error(
                value,
                format!("`{label}` is no address: {error}: `{shown}`"),
            ),
        }
    }

    fn pattern(&self, value: &Value<'_>) {
        let Some(text) = self.string(value) else {
            return;
        };
        let label = value.label();
        if let Err(error) = regex::Regex::new(&text.value) {
            // The library draws a picture of the pattern; its last line says what is wrong.
            let error = error.to_string();
            let last = error.lines().last().unwrap_or_default();
            let reason = last.strip_prefix("error: ").unwrap_or(last);
            self.error(
                value,
                format!("`{label}` is no regular expression: {reason}"),
            );
        }
    }

    /// Reports a value of the wrong type, with what would help where that is known.
    fn wrong(&self, value: &Value<'_>, wanted: &str) {
        let label = value.label();
        let message = match &value.node.data {
            Data::Broken => return,
            Data::Null => format!("`{label}` has no value; it must be {wanted}"),
            Data::Number(_, written) | Data::Bool(_, written) if wanted == "a string" => {
                format!(
                    "`{label}` must be a string, not {}; write \"{written}\"",
                    value.node.describe()
                )
            }
            Data::Text(text) if text.value.is_empty() && text.expanded() => {
                format!(
                    "`{label}` must be {wanted}, but `{}` is empty",
                    text.shown()
                )
            }
            _ => format!("`{label}` must be {wanted}, not {}", value.node.describe()),
        };
        self.error(value, message);
    }
}
