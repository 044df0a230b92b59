//! Globs over tool names: `*` is any run, `?` one character, over the whole name (rule 4.2).

/// Whether `pattern` matches the whole of `name`. Layers ask for every call, so nothing is
/// allocated.
pub fn glob_matches(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    // Where to resume when the last star has to swallow one character more.
    let mut retry = None;
    loop {
        let wanted = pattern.next();
        if wanted == Some('*') {
            retry = Some((pattern.clone(), name.clone()));
            continue;
        }
        match (wanted, name.next()) {
            (None, None) => return true,
            (Some(_), None) => return false,
            (Some(c), Some(found)) if c == '?' || c == found => {}
            _ => match &mut retry {
                Some((after_star, from)) => {
                    from.next();
                    pattern = after_star.clone();
                    name = from.clone();
                }
                None => return false,
            },
        }
    }
}

/// Values by tool name or glob. An exact name beats a glob, a longer glob (counted without `*`)
/// beats a shorter one, then the first in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct GlobMap<T>(Vec<(String, T)>);

impl<T> Default for GlobMap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> GlobMap<T> {
    /// The entries in the order of the file.
    pub fn new(entries: impl IntoIterator<Item = (String, T)>) -> Self {
        Self(entries.into_iter().collect())
    }

    /// The value for a tool.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.entry(name).map(|(_, value)| value)
    }

    /// The pattern that decides for a tool, with its value.
    pub fn entry(&self, name: &str) -> Option<(&str, &T)> {
        let mut best: Option<(usize, &(String, T))> = None;
        for entry in &self.0 {
            if entry.0 == name {
                return Some((&entry.0, &entry.1));
            }
            if !glob_matches(&entry.0, name) {
                continue;
            }
            let length = entry.0.chars().filter(|c| *c != '*').count();
            if best.is_none_or(|(longest, _)| length > longest) {
                best = Some((length, entry));
            }
        }
        best.map(|(_, (pattern, value))| (pattern.as_str(), value))
    }

    /// The entries in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0
            .iter()
            .map(|(pattern, value)| (pattern.as_str(), value))
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_match_over_the_whole_name() {
        for (pattern, name, expected) in [
            ("fs__*", "fs__read", true),
            ("fs__*", "xfs__read", false),
            ("*_delete", "a_b_delete", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*ab", "aab", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("", "", true),
            ("*", "", true),
            ("?", "é", true),
            ("*é?", "aébé漢", true),
            ("a*", "a", true),
            ("a*b", "a", false),
            ("**", "x", true),
            ("*x", "", false),
            ("ab", "abc", false),
            ("*a*a", "aXa_a", true),
            ("*a*ab", "aXa_a", false),
        ] {
            assert_eq!(glob_matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn an_exact_name_beats_a_glob_and_a_longer_glob_a_shorter_then_the_first() {
        let map = GlobMap::new(
            [
                ("*", 0),
                ("fs__*", 1),
                ("*read", 2),
                ("fs__read", 3),
                ("fs_?*", 4),
            ]
            .map(|(pattern, value)| (pattern.to_owned(), value)),
        );
        assert_eq!(map.get("fs__read"), Some(&3));
        assert_eq!(
            map.get("fs__write"),
            Some(&1),
            "four characters each: the first"
        );
        assert_eq!(map.get("other"), Some(&0));
        assert_eq!(GlobMap::<u8>::default().get("x"), None);
    }
}
