//! Words that say nothing about a capability.

/// English function words, what is left of their contractions, and the filler of polite requests,
/// in lower case.
pub(super) const STOP: [&str; 150] = [
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are",
    "aren", "as", "at", "be", "been", "being", "both", "but", "by", "can", "could", "couldn", "d",
    "did", "didn", "do", "does", "doesn", "doing", "don", "each", "either", "else", "ever",
    "every", "few", "for", "from", "further", "had", "has", "hasn", "have", "haven", "having",
    "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "isn", "it",
    "its", "itself", "just", "let", "ll", "m", "may", "me", "might", "more", "most", "must", "my",
    "myself", "need", "no", "nor", "not", "now", "of", "off", "on", "once", "only", "onto", "or",
    "other", "our", "ours", "out", "over", "own", "per", "please", "re", "s", "same", "shall",
    "she", "should", "so", "some", "such", "t", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "through", "thus", "to", "too", "under", "until",
    "up", "upon", "us", "ve", "very", "was", "wasn", "we", "were", "weren", "what", "when",
    "where", "which", "while", "who", "whom", "why", "will", "with", "within", "without", "won",
    "would", "wouldn", "you", "your", "yours",
];
