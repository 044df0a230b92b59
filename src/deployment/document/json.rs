//! JSON into a tree with places; with comments and trailing commas where other programs allow them
//! in their files.

use serde_json::Number;

use super::node::{Data, Entry, Node, Style, Text};
use super::{Budget, SyntaxError};
use crate::deployment::Place;

pub(super) fn parse(
    text: &str,
    comments: bool,
    budget: Budget,
) -> Result<Option<Node>, SyntaxError> {
    let mut reader = Reader {
        rest: text.strip_prefix('\u{feff}').unwrap_or(text),
        at: Place::START,
        comments,
        budget,
        nodes: 0,
    };
    reader.blank()?;
    if reader.rest.is_empty() {
        return Ok(None);
    }
    let node = reader.value(0)?;
    reader.blank()?;
    if reader.rest.is_empty() {
        Ok(Some(node))
    } else {
        Err(reader.fault("the file goes on after its one value"))
    }
}

struct Reader<'t> {
    rest: &'t str,
    at: Place,
    comments: bool,
    budget: Budget,
    nodes: usize,
}

impl Reader<'_> {
    fn fault(&self, message: &str) -> SyntaxError {
        SyntaxError::new(self.at, format!("not valid JSON: {message}"))
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.at.line = self.at.line.saturating_add(1);
            self.at.column = 1;
        } else {
            self.at.column = self.at.column.saturating_add(1);
        }
        Some(c)
    }

    fn skip(&mut self, text: &str) -> bool {
        let there = self.rest.starts_with(text);
        if there {
            for _ in text.chars() {
                self.next();
            }
        }
        there
    }

    /// White space, and comments where they are allowed.
    fn blank(&mut self) -> Result<(), SyntaxError> {
        loop {
            match self.peek() {
                Some(' ' | '\t' | '\n' | '\r') => {
                    self.next();
                }
                Some('/') if self.comments => {
                    let begin = self.fault("this comment is not closed");
                    if self.skip("//") {
                        while self.peek().is_some_and(|c| c != '\n') {
                            self.next();
                        }
                    } else if self.skip("/*") {
                        while !self.skip("*/") {
                            self.next().ok_or_else(|| begin.clone())?;
                        }
                    } else {
                        return Err(self.fault("`/` starts nothing here"));
                    }
                }
                Some('/') => return Err(self.fault("comments are not allowed here")),
                _ => return Ok(()),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, SyntaxError> {
        let place = self.at;
        self.nodes += 1;
        if self.nodes > self.budget.nodes {
            let most = self.budget.nodes;
            return Err(SyntaxError::new(place, format!("more than {most} values")));
        }
        if depth > self.budget.depth {
            let most = self.budget.depth;
            return Err(SyntaxError::new(
                place,
                format!("nested more than {most} levels deep"),
            ));
        }
        let data = match self.peek() {
            Some('{') => self.map(depth)?,
            Some('[') => self.list(depth)?,
            Some('"') => Data::Text(Text::new(self.string()?, Style::Double)),
            Some('-' | '0'..='9') => self.number()?,
            Some(_) if self.skip("null") => Data::Null,
            Some(_) if self.skip("true") => Data::Bool(true, "true".into()),
            Some(_) if self.skip("false") => Data::Bool(false, "false".into()),
            Some(_) => return Err(self.fault("a value was expected")),
            None => return Err(self.fault("the file ends where a value was expected")),
        };
        Ok(Node { place, data })
    }

    fn map(&mut self, depth: usize) -> Result<Data, SyntaxError> {
        let unclosed = self.fault("this `{` is not closed");
        self.next();
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = std::collections::HashMap::new();
        let mut repeated = Vec::new();
        loop {
            self.blank()?;
            match self.peek() {
                None => return Err(unclosed),
                Some('}') if entries.is_empty() || self.comments => break,
                Some('"') => {}
                Some(_) => return Err(self.fault("a key in double quotes was expected")),
            }
            let place = self.at;
            let key = self.string()?;
            self.blank()?;
            if !self.skip(":") {
                return Err(self.fault("`:` was expected after the key"));
            }
            self.blank()?;
            let value = self.value(depth + 1)?;
            match seen.get(&key) {
                Some(first) => repeated.push((key, place, *first)),
                None => {
                    seen.insert(key.clone(), place);
                    entries.push(Entry { key, place, value });
                }
            }
            self.blank()?;
            if !self.skip(",") {
                break;
            }
        }
        if self.skip("}") {
            Ok(Data::Map { entries, repeated })
        } else if self.rest.is_empty() {
            Err(unclosed)
        } else {
            Err(self.fault("`,` or `}` was expected"))
        }
    }

    fn list(&mut self, depth: usize) -> Result<Data, SyntaxError> {
        let unclosed = self.fault("this `[` is not closed");
        self.next();
        let mut items = Vec::new();
        loop {
            self.blank()?;
            match self.peek() {
                None => return Err(unclosed),
                Some(']') if items.is_empty() || self.comments => break,
                Some(_) => items.push(self.value(depth + 1)?),
            }
            self.blank()?;
            if !self.skip(",") {
                break;
            }
        }
        if self.skip("]") {
            Ok(Data::List(items))
        } else if self.rest.is_empty() {
            Err(unclosed)
        } else {
            Err(self.fault("`,` or `]` was expected"))
        }
    }

    fn number(&mut self) -> Result<Data, SyntaxError> {
        let length = self
            .rest
            .find(|c: char| !matches!(c, '-' | '+' | '.' | 'e' | 'E' | '0'..='9'))
            .unwrap_or(self.rest.len());
        let written = &self.rest[..length];
        let number: Number = serde_json::from_str(written)
            .map_err(|_| self.fault(&format!("`{written}` is no number")))?;
        let written: Box<str> = written.into();
        self.skip(&written);
        Ok(Data::Number(number, written))
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let unclosed = self.fault("this string is not closed");
        self.next();
        let mut value = String::new();
        loop {
            let here = self.at;
            match self.next() {
                None | Some('\n') => return Err(unclosed),
                Some('"') => return Ok(value),
                Some('\\') => value.push(self.escape(here)?),
                Some(c) if c < ' ' => {
                    let message = "not valid JSON: a control character needs an escape";
                    return Err(SyntaxError::new(here, message));
                }
                Some(c) => value.push(c),
            }
        }
    }

    fn escape(&mut self, place: Place) -> Result<char, SyntaxError> {
        let fault = |message: &str| SyntaxError::new(place, format!("not valid JSON: {message}"));
        match self.next() {
            Some(c @ ('"' | '\\' | '/')) => Ok(c),
            Some('b') => Ok('\u{8}'),
            Some('f') => Ok('\u{c}'),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('u') => {
                let broken = || fault("`\\u` needs four hex digits of a character");
                let first = self.hex().ok_or_else(broken)?;
                let code = if (0xD800..0xDC00).contains(&first) {
                    if !self.skip("\\u") {
                        return Err(broken());
                    }
                    let second = self.hex().ok_or_else(broken)?;
                    if !(0xDC00..0xE000).contains(&second) {
                        return Err(broken());
                    }
                    0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
                } else {
                    first
                };
                char::from_u32(code).ok_or_else(broken)
            }
            _ => Err(fault("unknown escape; a backslash is written `\\\\`")),
        }
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.rest.get(..4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let code = u32::from_str_radix(digits, 16).ok()?;
        for _ in 0..4 {
            self.next();
        }
        Some(code)
    }
}
