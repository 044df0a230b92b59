//! The files that every `files` server starts with: a made-up project with plain text, tables, code,
//! logs and several scripts.

macro_rules! seed {
    ($($path:literal),+ $(,)?) => {
        [$(($path, include_str!(concat!("project/", $path)))),+]
    };
}

/// Paths and texts.
pub(super) const FILES: [(&str, &str); 23] = seed![
    "CHANGELOG.md",
    "README.md",
    "config/settings.toml",
    "config/thresholds.yaml",
    "data/readings.csv",
    "data/stations.json",
    "data/tides-november.csv",
    "docs/api.md",
    "docs/faq.md",
    "docs/setup.md",
    "docs/観測手順.md",
    "i18n/messages.ar.json",
    "i18n/messages.ja.json",
    "i18n/messages.zh.json",
    "logs/alerts.log",
    "logs/gauge.log",
    "notes/größen.md",
    "notes/ideas.md",
    "notes/todo.txt",
    "src/__main__.py",
    "src/alerts.py",
    "src/gauge.py",
    "tests/test_gauge.py",
];
