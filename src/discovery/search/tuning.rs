//! The numbers of the ranking, measured on labelled queries of several catalogs. They are flat:
//! most changes move the result by less than a hundredth.

use super::Field;

/// How much a field counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldTuning {
    /// Weight of one occurrence.
    pub weight: f32,
    /// From 0 (length does not matter) to 1 (it matters fully).
    pub length: f32,
}

/// The numbers of the ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// How soon further occurrences stop to matter.
    pub k1: f32,
    /// Per field, in the order of [`Field::ALL`].
    pub fields: [FieldTuning; Field::ALL.len()],
    /// The share of the score that depends on how much of the query matched.
    pub coverage: f32,
    /// Weight of an indexed word that a query word is the start of.
    pub prefix: f32,
    /// Weight of another word for a query word.
    pub synonym: f32,
}

impl Default for Tuning {
    fn default() -> Self {
        let field = |weight, length| FieldTuning { weight, length };
        Self {
            k1: 3.0,
            fields: [
                field(3.0, 0.3),
                field(3.0, 0.3),
                field(1.5, 0.3),
                field(1.0, 0.6),
                field(0.5, 0.75),
                field(0.25, 0.75),
            ],
            coverage: 0.4,
            prefix: 0.3,
            synonym: 0.3,
        }
    }
}
