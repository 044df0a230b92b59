//! An in-memory file tree. Directories exist as long as a file is in them.

use std::collections::{BTreeMap, BTreeSet};

/// A demo must not grow without end: past these bounds a write is refused.
const MOST_FILES: usize = 500;
const MOST_BYTES: usize = 256 * 1024;

/// Files by path. Paths are relative, with `/` between their parts.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    files: BTreeMap<String, String>,
}

/// One line of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    Directory { path: String, files: usize },
    File { path: String, bytes: usize },
}

/// A line that contains what was searched for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub path: String,
    pub line: usize,
    pub text: String,
}

impl Tree {
    pub(super) fn new(files: impl IntoIterator<Item = (&'static str, &'static str)>) -> Self {
        let files = files.into_iter();
        Self {
            files: files
                .map(|(path, text)| (path.into(), text.into()))
                .collect(),
        }
    }

    pub(super) fn files(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (&**path, &**text))
    }

    /// The text of a file.
    pub(super) fn read(&self, path: &str) -> Result<&str, String> {
        let path = normal(path)?;
        match self.files.get(&path) {
            Some(text) => Ok(text),
            None if self.is_directory(&path) => {
                Err(format!("`{path}` is a directory; list it instead"))
            }
            None => Err(self.missing(&path)),
        }
    }

    /// What a directory holds, directories first.
    pub(super) fn list(&self, path: &str, recursive: bool) -> Result<Vec<Listed>, String> {
        let path = normal(path)?;
        if self.files.contains_key(&path) {
            return Err(format!("`{path}` is a file; read it instead"));
        }
        if !path.is_empty() && !self.is_directory(&path) {
            return Err(self.missing(&path));
        }
        let prefix = prefix_of(&path);
        let (mut directories, mut files) = (BTreeMap::<String, usize>::new(), Vec::new());
        for (file, text) in &self.files {
            let Some(rest) = file.strip_prefix(&prefix) else {
                continue;
            };
            match rest.split_once('/') {
                Some((directory, _)) if !recursive => {
                    *directories
                        .entry(format!("{prefix}{directory}"))
                        .or_default() += 1;
                }
                _ => files.push(Listed::File {
                    path: file.clone(),
                    bytes: text.len(),
                }),
            }
        }
        let directories = directories
            .into_iter()
            .map(|(path, files)| Listed::Directory { path, files });
        Ok(directories.chain(files).collect())
    }

    /// Replaces or creates a file; whether it was there before.
    pub(super) fn write(&mut self, path: &str, text: &str) -> Result<bool, String> {
        let path = self.place(path)?;
        let there = self.files.contains_key(&path);
        if text.len() > MOST_BYTES {
            return Err(format!("a file here holds at most {MOST_BYTES} bytes"));
        }
        if !there && self.files.len() >= MOST_FILES {
            return Err(format!(
                "there are {MOST_FILES} files already; delete one first"
            ));
        }
        self.files.insert(path, text.to_owned());
        Ok(there)
    }

    /// Replaces the one place where `old` stands by `new`.
    pub(super) fn edit(&mut self, path: &str, old: &str, new: &str) -> Result<(), String> {
        if old.is_empty() {
            return Err("`old_text` must not be empty".into());
        }
        let text = self.read(path)?;
        match text.matches(old).count() {
            0 => Err(format!(
                "`{path}` does not contain that text; read it again"
            )),
            1 => {
                let changed = text.replacen(old, new, 1);
                self.write(path, &changed).map(|_| ())
            }
            more => Err(format!(
                "`{path}` contains that text {more} times; give more of what stands around it"
            )),
        }
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> Result<(), String> {
        let text = self.read(from)?.to_owned();
        let (from, to) = (normal(from)?, self.place(to)?);
        if self.files.contains_key(&to) {
            return Err(format!("`{to}` is there already"));
        }
        self.files.remove(&from);
        self.files.insert(to, text);
        Ok(())
    }

    pub(super) fn delete(&mut self, path: &str) -> Result<(), String> {
        self.read(path)?;
        self.files.remove(&normal(path)?);
        Ok(())
    }

    /// Lines that contain `words`, whatever their case; at most `limit`.
    pub(super) fn search(
        &self,
        words: &str,
        below: &str,
        limit: usize,
    ) -> Result<Vec<Hit>, String> {
        let (prefix, wanted) = (prefix_of(&normal(below)?), words.to_lowercase());
        if wanted.trim().is_empty() {
            return Err("`query` must not be blank".into());
        }
        let lines = self
            .files
            .iter()
            .filter(|(path, _)| path.starts_with(&prefix))
            .flat_map(|(path, text)| text.lines().enumerate().map(move |line| (path, line)));
        Ok(lines
            .filter(|(_, (_, line))| line.to_lowercase().contains(&wanted))
            .take(limit)
            .map(|(path, (index, line))| Hit {
                path: path.clone(),
                line: index + 1,
                text: line.trim().to_owned(),
            })
            .collect())
    }

    fn is_directory(&self, path: &str) -> bool {
        let prefix = prefix_of(path);
        self.files.keys().any(|file| file.starts_with(&prefix))
    }

    /// A path that a file may have: no directory stands there, and no file above it.
    fn place(&self, path: &str) -> Result<String, String> {
        let path = normal(path)?;
        if path.is_empty() || self.is_directory(&path) {
            return Err(format!("`{path}` is a directory"));
        }
        let mut above = path.as_str();
        while let Some((parent, _)) = above.rsplit_once('/') {
            if self.files.contains_key(parent) {
                return Err(format!("`{parent}` is a file and cannot hold `{path}`"));
            }
            above = parent;
        }
        Ok(path)
    }

    fn missing(&self, path: &str) -> String {
        let name = path.rsplit('/').next().unwrap_or(path);
        let alike: BTreeSet<&str> = self
            .files
            .keys()
            .filter(|file| file.rsplit('/').next() == Some(name))
            .map(String::as_str)
            .collect();
        match alike.first() {
            Some(other) => format!("there is no `{path}`; did you mean `{other}`?"),
            None => format!("there is no `{path}`; list its directory to see what there is"),
        }
    }
}

/// The path without `.`, empty parts and a leading `/`.
fn normal(path: &str) -> Result<String, String> {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    if parts.contains(&"..") {
        return Err(format!("`{path}` leaves the tree; `..` is not followed"));
    }
    Ok(parts.join("/"))
}

fn prefix_of(directory: &str) -> String {
    if directory.is_empty() {
        String::new()
    } else {
        format!("{directory}/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        Tree::new([
            ("a.txt", "one\nTwo\none two\n"),
            ("d/b.txt", "ü"),
            ("d/e/c", ""),
        ])
    }

    #[test]
    fn a_listing_shows_directories_first_and_only_one_level() {
        let listed = tree().list("/", false).unwrap();
        let directory = Listed::Directory {
            path: "d".into(),
            files: 2,
        };
        let file = |path: &str, bytes| Listed::File {
            path: path.into(),
            bytes,
        };
        assert_eq!(listed, [directory, file("a.txt", 16)]);
        let all = tree().list("./d", true).unwrap();
        assert_eq!(all, [file("d/b.txt", 2), file("d/e/c", 0)]);
    }

    #[test]
    fn what_cannot_be_done_is_said_with_what_to_do() {
        let mut tree = tree();
        for (name, error, expected) in [
            (
                "missing",
                tree.read("b.txt").unwrap_err(),
                "did you mean `d/b.txt`",
            ),
            ("directory", tree.read("d").unwrap_err(), "is a directory"),
            ("file", tree.list("a.txt", false).unwrap_err(), "is a file"),
            ("outside", tree.read("../x").unwrap_err(), "leaves the tree"),
            (
                "below a file",
                tree.write("a.txt/x", "").unwrap_err(),
                "cannot hold",
            ),
            (
                "onto a directory",
                tree.write("d", "").unwrap_err(),
                "is a directory",
            ),
            (
                "not there",
                tree.edit("a.txt", "x", "y").unwrap_err(),
                "does not contain",
            ),
            (
                "twice",
                tree.edit("a.txt", "one", "y").unwrap_err(),
                "2 times",
            ),
            (
                "onto a file",
                tree.rename("d/e/c", "a.txt").unwrap_err(),
                "there already",
            ),
            (
                "too large",
                tree.write("x", &"x".repeat(MOST_BYTES + 1)).unwrap_err(),
                "at most",
            ),
            ("blank", tree.search(" ", "", 9).unwrap_err(), "blank"),
        ] {
            assert!(error.contains(expected), "{name}: {error}");
        }
        let count = tree.files().len();
        for n in count..MOST_FILES {
            tree.write(&format!("f{n}"), "").unwrap();
        }
        assert!(tree.write("more", "").unwrap_err().contains("delete one"));
        assert_eq!(
            tree.write("a.txt", "new"),
            Ok(true),
            "replacing needs no room"
        );
    }

    #[test]
    fn changes_are_seen_and_empty_directories_vanish() {
        let mut tree = tree();
        tree.edit("a.txt", "Two", "2").unwrap();
        assert_eq!(tree.read("a.txt"), Ok("one\n2\none two\n"));
        tree.rename("d/b.txt", "n/b").unwrap();
        tree.delete("d/e/c").unwrap();
        assert!(tree.list("d", false).is_err());
        assert_eq!(tree.read("n/b"), Ok("ü"));
    }

    #[test]
    fn a_search_ignores_case_and_stops_at_its_limit() {
        let hits = tree().search("TWO", "", 9).unwrap();
        let seen: Vec<_> = hits
            .iter()
            .map(|hit| (hit.line, hit.text.as_str()))
            .collect();
        assert_eq!(seen, [(2, "Two"), (3, "one two")]);
        assert_eq!(tree().search("two", "", 1).unwrap().len(), 1);
        assert_eq!(tree().search("two", "d", 9).unwrap(), []);
    }
}
