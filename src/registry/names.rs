//! Nearest names, for error messages.

/// How many names are suggested at most.
const SUGGESTIONS: usize = 3;

/// The names closest to `wanted`, best first, at most three; none when nothing is similar.
pub fn nearest<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let folded = wanted.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (similarity(&folded, &name.to_lowercase()), name))
        .filter(|(score, _)| *score >= 0.6)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.truncate(SUGGESTIONS);
    scored
        .into_iter()
        .map(|(_, name)| name.to_owned())
        .collect()
}

/// The closest name, if one is similar.
pub fn nearest_one<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    nearest(wanted, names).into_iter().next()
}

/// From 0 to 1. A name that contains the other (`read_file` in `fs__read_file`) counts as close.
fn similarity(a: &str, b: &str) -> f64 {
    let edit = strsim::normalized_damerau_levenshtein(a, b);
    let long_enough = a.len().min(b.len()) >= 4;
    if long_enough && (a.contains(b) || b.contains(a)) {
        return edit.max(0.75);
    }
    edit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_and_a_missing_prefix_find_the_name_and_a_stranger_finds_nothing() {
        let names = ["fs__read_file", "fs__write_file", "clock__now"];
        assert_eq!(nearest("fs__raed_file", names)[0], "fs__read_file");
        assert_eq!(nearest("read_file", names)[0], "fs__read_file");
        assert!(nearest("zzz", names).is_empty());
    }
}
