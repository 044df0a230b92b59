//! Names that a model can hardly tell apart: the same words in another writing, or the same words
//! behind two servers with descriptions that are alike.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Finding, MOST};
use crate::discovery::search::{stem, tokens};
use crate::discovery::{ExposedTool, Exposures, Mode};

/// From this share of common words on, in percent, two descriptions are alike.
const ALIKE: usize = 60;

/// Groups of names that are alike, in order of the alphabet. Hidden tools confuse nobody.
pub(super) fn alike(exposures: &Exposures) -> Vec<Finding> {
    let mut tools: Vec<&ExposedTool> = exposures
        .tools()
        .filter(|tool| tool.mode != Mode::Hidden)
        .collect();
    tools.sort_unstable_by_key(|tool| tool.definition.name());
    let mut by_words: BTreeMap<Vec<String>, Vec<&ExposedTool>> = BTreeMap::new();
    let mut by_job: BTreeMap<Vec<String>, Vec<&ExposedTool>> = BTreeMap::new();
    for tool in tools {
        let name = tool.definition.name();
        by_words.entry(words(name)).or_default().push(tool);
        let job = name.split_once("__").map_or(name, |(_, rest)| rest);
        by_job.entry(words(job)).or_default().push(tool);
    }
    let mut findings = Vec::new();
    for group in by_words.values().filter(|group| group.len() > 1) {
        findings.push(finding(group, false));
    }
    for group in by_job.values().filter(|group| group.len() > 1) {
        let same: Vec<&ExposedTool> = same_job(group);
        let known = |f: &Finding| matches!(f, Finding::AlikeNames { names, .. } if *names == names_of(&same));
        if same.len() > 1 && !findings.iter().any(known) {
            findings.push(finding(&same, true));
        }
    }
    findings.truncate(MOST);
    findings
}

/// Those of a group whose descriptions are like that of its first with a description.
fn same_job<'a>(group: &[&'a ExposedTool]) -> Vec<&'a ExposedTool> {
    let texts: Vec<BTreeSet<String>> = group
        .iter()
        .map(|tool| words(tool.definition.description()).into_iter().collect())
        .collect();
    let Some(first) = texts.iter().find(|text| !text.is_empty()) else {
        return Vec::new();
    };
    let like = |text: &BTreeSet<String>| {
        let common = first.intersection(text).count();
        common * 100 >= first.union(text).count() * ALIKE
    };
    let pairs = group.iter().zip(&texts);
    pairs
        .filter(|(_, text)| like(text))
        .map(|(tool, _)| *tool)
        .collect()
}

fn finding(group: &[&ExposedTool], same_job: bool) -> Finding {
    Finding::AlikeNames {
        names: names_of(group),
        same_job,
    }
}

fn names_of(group: &[&ExposedTool]) -> Vec<Arc<str>> {
    group
        .iter()
        .map(|tool| tool.definition.shared_name())
        .collect()
}

/// The stems of a text. A run in camelCase gives its parts; the whole run, which comes after them,
/// is left out, so that `readFile` and `read_file` give the same.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    tokens(text, &mut |word| {
        if !is_made_of(word, &words) {
            words.push(word.to_owned());
        }
    });
    words.iter().map(|word| stem(word)).collect()
}

/// Whether a word is two or more of those just before it, written together.
fn is_made_of(word: &str, before: &[String]) -> bool {
    let mut rest = word;
    for (count, part) in before.iter().rev().enumerate() {
        match rest.strip_suffix(part.as_str()) {
            Some("") => return count > 0,
            Some(left) => rest = left,
            None => return false,
        }
    }
    false
}
