//! The names under which the tools of one server are known (rules 8.9 and 8.10).

use std::collections::HashSet;

use sha2::{Digest, Sha256};

/// The longest name that providers take.
const LONGEST: usize = 64;

/// What is left of a name before its hash.
const STEM: usize = 55;

/// What became of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// It is known as this; `mapped` when that is not the prefix and the name as they stand.
    Named { name: String, mapped: bool },
    /// An earlier tool of the server has the same name already.
    Repeated,
}

fn is_legal(name: &str) -> bool {
    name.len() <= LONGEST && name.chars().all(is_legal_char)
}

fn is_legal_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Gives every tool of one server its name, in their order. Names that are legal as they stand
/// keep it, whatever an illegal one before them would be mapped to.
pub(super) fn assign(prefix: &str, originals: &[&str]) -> Vec<Naming> {
    let mut seen = HashSet::new();
    let fresh: Vec<bool> = originals.iter().map(|name| seen.insert(*name)).collect();
    let full: Vec<String> = originals
        .iter()
        .map(|name| format!("{prefix}{name}"))
        .collect();
    let mut taken: HashSet<String> = full.iter().filter(|name| is_legal(name)).cloned().collect();
    full.iter()
        .zip(originals)
        .zip(fresh)
        .map(|((full, original), fresh)| {
            if !fresh {
                return Naming::Repeated;
            }
            if is_legal(full) {
                return Naming::Named {
                    name: full.clone(),
                    mapped: false,
                };
            }
            let plain: String = full
                .chars()
                .map(|c| if is_legal_char(c) { c } else { '_' })
                .collect();
            let name = if plain.len() <= LONGEST && !taken.contains(&plain) {
                plain
            } else {
                hashed(&plain, original)
            };
            taken.insert(name.clone());
            Naming::Named { name, mapped: true }
        })
        .collect()
}

/// The beginning of the plain name and the hash of the name that the server knows.
fn hashed(plain: &str, original: &str) -> String {
    let digest = Sha256::digest(original.as_bytes());
    let hash: String = digest[..4]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    // Plain names are ASCII, so bytes are characters.
    let stem = &plain[..plain.len().min(STEM)];
    format!("{stem}_{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(prefix: &str, originals: &[&str]) -> Vec<String> {
        assign(prefix, originals)
            .into_iter()
            .map(|naming| match naming {
                Naming::Named { name, mapped } => {
                    format!("{name}{}", if mapped { " (mapped)" } else { "" })
                }
                Naming::Repeated => "repeated".to_owned(),
            })
            .collect()
    }

    #[test]
    fn legal_names_stay_and_illegal_characters_become_underscores() {
        assert_eq!(
            names("fs__", &["read-file", "read.file", "größe"]),
            [
                "fs__read-file",
                "fs__read_file (mapped)",
                "fs__gr__e (mapped)"
            ]
        );
    }

    #[test]
    fn of_two_equal_names_the_first_wins() {
        assert_eq!(names("", &["a", "b", "a"]), ["a", "b", "repeated"]);
    }

    #[test]
    fn a_collision_gets_the_hash_of_the_original_and_the_legal_name_keeps_its_own() {
        let got = names("", &["a.b", "a_b", "a/b"]);
        let hash = |text: &str| {
            let digest = Sha256::digest(text.as_bytes());
            digest[..4]
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect::<String>()
        };
        assert_eq!(
            got,
            [
                format!("a_b_{} (mapped)", hash("a.b")),
                "a_b".to_owned(),
                format!("a_b_{} (mapped)", hash("a/b")),
            ]
        );
    }

    #[test]
    fn a_long_name_is_cut_to_fifty_five_characters_and_eight_digits() {
        let long = "x".repeat(70);
        let [Naming::Named { name, mapped: true }] = &assign("p__", &[&long])[..] else {
            panic!("not mapped");
        };
        assert_eq!(name.len(), 64);
        assert!(name.starts_with(&format!("p__{}_", "x".repeat(52))));
        let exactly = "x".repeat(61);
        assert_eq!(names("p__", &[&exactly]), [format!("p__{exactly}")]);
    }
}
