//! The file of accepted definition hashes (rule 8.1, `pin`): a tool whose definition differs is
//! held back until the operator accepts it.
//!
//! One line per tool, `<hash>  <name>`, sorted by name, so that a change reads well in a diff. A
//! file that does not exist yet is written with what the server offers first; from then on nothing
//! gets in unseen.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::translate::Listing;
use crate::source::HeldTool;
use crate::tool::Definition;

/// The accepted definitions of one server.
#[derive(Debug)]
pub(super) struct Pins {
    file: PathBuf,
    accepted: Accepted,
    /// The newest definition that was accepted under each name, as far as this process saw it.
    seen: BTreeMap<String, Definition>,
}

#[derive(Debug)]
enum Accepted {
    /// There was no file.
    Nothing,
    Known(BTreeMap<String, String>),
    /// The file cannot be read: nothing is accepted, and it is not written over.
    Unreadable(String),
}

impl Pins {
    pub(super) fn open(file: PathBuf) -> Self {
        let accepted = match std::fs::read_to_string(&file) {
            Ok(text) => match parse(&text) {
                Ok(known) => Accepted::Known(known),
                Err(line) => Accepted::Unreadable(format!(
                    "{}:{line}: a line has to be a hash of 64 hex digits, two blanks and a name",
                    file.display()
                )),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Accepted::Nothing,
            Err(error) => Accepted::Unreadable(format!("{}: {error}", file.display())),
        };
        Self {
            file,
            accepted,
            seen: BTreeMap::new(),
        }
    }

    /// Takes out of the listing what is not accepted, with a warning for each, and gives it.
    pub(super) fn sift(&mut self, listing: &mut Listing) -> Vec<HeldTool> {
        if matches!(self.accepted, Accepted::Nothing) {
            let first = hashes(listing);
            match self.write(&first) {
                Ok(()) => listing.warnings.push(format!(
                    "the first {} definitions were accepted into `{}`",
                    first.len(),
                    self.file.display()
                )),
                Err(told) => listing.warnings.push(told),
            }
            // Accepted for this run, even if the file cannot be written.
            self.accepted = Accepted::Known(first);
            self.remember(listing);
            return Vec::new();
        }
        let warnings = &mut listing.warnings;
        let known = match &self.accepted {
            Accepted::Known(known) => Some(known),
            Accepted::Nothing => None,
            Accepted::Unreadable(told) => {
                warnings.push(format!("no tool is accepted: {told}"));
                None
            }
        };
        let mut held = Vec::new();
        let seen = &self.seen;
        listing.tools.retain(|tool| {
            let name = tool.definition.name();
            let pinned = known.and_then(|known| known.get(name));
            let good = pinned.is_some_and(|hash| hash == tool.definition.hash());
            if !good && known.is_some() {
                let what = if pinned.is_some() {
                    "its definition differs from the accepted one"
                } else {
                    "it is not among the accepted ones"
                };
                warnings.push(format!("`{name}` is held back: {what}"));
            }
            if !good {
                held.push(HeldTool {
                    definition: tool.definition.clone(),
                    accepted: seen.get(name).cloned(),
                });
            }
            good
        });
        self.remember(listing);
        held
    }

    fn remember(&mut self, accepted: &Listing) {
        for tool in &accepted.tools {
            let name = tool.definition.name().to_owned();
            self.seen.insert(name, tool.definition.clone());
        }
    }

    /// Accepts what the server offers now under one name, or everything.
    ///
    /// # Errors
    /// In words, when there is no such tool or the file cannot be written.
    pub(super) fn accept(
        &mut self,
        tool: Option<&str>,
        offered: &Listing,
    ) -> Result<String, String> {
        if let Accepted::Unreadable(told) = &self.accepted {
            return Err(format!("nothing can be accepted: {told}"));
        }
        let mut known = match &self.accepted {
            Accepted::Known(known) => known.clone(),
            _ => BTreeMap::new(),
        };
        let offered = hashes(offered);
        let told = match tool {
            None => {
                known.clone_from(&offered);
                format!("{} definitions are accepted", known.len())
            }
            Some(name) => {
                let hash = offered
                    .get(name)
                    .ok_or_else(|| format!("the server offers no tool `{name}`"))?;
                known.insert(name.to_owned(), hash.clone());
                format!("the definition of `{name}` is accepted")
            }
        };
        self.write(&known)?;
        self.accepted = Accepted::Known(known);
        Ok(told)
    }

    fn write(&self, known: &BTreeMap<String, String>) -> Result<(), String> {
        let text: String = known
            .iter()
            .map(|(name, hash)| format!("{hash}  {name}\n"))
            .collect();
        // Beside it and renamed, so that a crash leaves the old file or the new one.
        let mut fresh = self.file.clone().into_os_string();
        fresh.push(".new");
        std::fs::write(&fresh, text)
            .and_then(|()| std::fs::rename(&fresh, &self.file))
            .map_err(|error| format!("cannot write `{}`: {error}", self.file.display()))
    }
}

fn hashes(listing: &Listing) -> BTreeMap<String, String> {
    listing
        .tools
        .iter()
        .map(|tool| {
            (
                tool.definition.name().to_owned(),
                tool.definition.hash().to_owned(),
            )
        })
        .collect()
}

/// The names with their hashes, or the number of the first line that is wrong.
fn parse(text: &str) -> Result<BTreeMap<String, String>, usize> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|(index, line)| {
            let (hash, name) = line.split_once("  ").ok_or(index + 1)?;
            let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_hash && !name.trim().is_empty() {
                Ok((name.trim().to_owned(), hash.to_ascii_lowercase()))
            } else {
                Err(index + 1)
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::source::mcp::translate;

    fn offered(description: &str, names: &[&str]) -> Listing {
        let listed = names
            .iter()
            .map(|name| {
                json!({"name": name, "description": description,
                       "inputSchema": {"type": "object"}})
            })
            .collect();
        translate::listing("", listed, Vec::new())
    }

    fn sifted(pins: &mut Pins, mut listing: Listing) -> (Vec<String>, usize) {
        pins.sift(&mut listing);
        let names = listing
            .tools
            .iter()
            .map(|tool| tool.definition.name().to_owned())
            .collect();
        (names, listing.warnings.len())
    }

    #[test]
    fn the_first_offer_is_accepted_and_written_and_a_changed_tool_is_held_back_until_accepted() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pins");
        let mut pins = Pins::open(file.clone());
        assert_eq!(
            sifted(&mut pins, offered("one", &["a", "b"])),
            (vec!["a".to_owned(), "b".to_owned()], 1)
        );
        let mut pins = Pins::open(file.clone());
        let mut changed = offered("two", &["a"]);
        changed.tools.extend(offered("one", &["b", "c"]).tools);
        assert_eq!(
            sifted(&mut pins, changed.clone()),
            (vec!["b".to_owned()], 2),
            "`a` differs, `c` is new"
        );
        pins.accept(Some("a"), &changed).unwrap();
        assert!(pins.accept(Some("z"), &changed).is_err());
        let mut pins = Pins::open(file);
        assert_eq!(sifted(&mut pins, changed.clone()).0, ["a", "b"]);
        pins.accept(None, &changed).unwrap();
        assert_eq!(sifted(&mut pins, changed).0, ["a", "b", "c"]);
    }

    #[test]
    fn a_broken_file_accepts_nothing_and_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pins");
        std::fs::write(&file, "# mine\n\nnonsense\n").unwrap();
        let mut pins = Pins::open(file.clone());
        let mut listing = offered("one", &["a"]);
        pins.sift(&mut listing);
        assert!(listing.tools.is_empty());
        assert!(
            listing.warnings[0].contains("pins:3:"),
            "{:?}",
            listing.warnings
        );
        assert!(pins.accept(None, &offered("one", &["a"])).is_err());
        assert_eq!(
            std::fs::read_to_string(file).unwrap(),
            "# mine\n\nnonsense\n"
        );
    }
}
