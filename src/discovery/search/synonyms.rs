//! Words that people use for the same thing. General vocabulary of tools and everyday tasks; no
//! product names, nothing read off a particular catalog.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::stem;

/// Groups of words. A word of the query also matches the others of its groups, weakly.
const GROUPS: &[&str] = &[
    "create add new make insert",
    "delete remove erase drop",
    "update modify edit change alter",
    "get fetch retrieve obtain",
    "list show display enumerate",
    "search find lookup query",
    "send deliver dispatch",
    "email mail inbox",
    "message chat sms",
    "image picture photo",
    "video clip movie film",
    "audio sound music song",
    "file document",
    "folder directory",
    "buy purchase order",
    "price cost fee",
    "pay payment invoice billing",
    "stock share equity",
    "currency money forex",
    "weather forecast temperature",
    "location place address",
    "map route direction navigation",
    "trip travel vacation itinerary",
    "flight airline airport plane",
    "hotel accommodation lodging",
    "restaurant dining",
    "recipe cooking meal dish",
    "food nutrition diet calorie",
    "job career employment",
    "resume cv",
    "company business organization firm",
    "customer client",
    "employee staff worker",
    "person people individual",
    "user account profile",
    "article news headline",
    "paper publication journal",
    "website webpage site url link",
    "web internet online",
    "translate translation language",
    "summary summarize abstract",
    "convert transform",
    "compute calculate",
    "analyze analysis evaluate",
    "compare difference",
    "generate produce",
    "run execute",
    "stop halt terminate end",
    "schedule calendar appointment meeting event",
    "reminder alarm todo task",
    "ticket issue bug",
    "repository repo",
    "commit changeset",
    "database db sql",
    "table spreadsheet sheet",
    "chart graph plot diagram visualization",
    "house home property",
    "rent lease rental",
    "car vehicle automobile",
    "health medical",
    "doctor physician",
    "medicine drug medication",
    "disease illness condition",
    "exercise workout fitness",
    "sport game match",
    "teacher instructor tutor",
    "student learner pupil",
    "course class lesson",
    "learn study education",
    "lawyer attorney legal law",
    "tax taxation",
    "loan mortgage credit",
    "joke humor funny",
    "quiz trivia question",
    "horoscope astrology zodiac",
    "random dice",
    "password credential",
    "upload import",
    "download export",
    "copy duplicate clone",
    "move transfer",
    "compress zip archive",
    "log history",
    "error exception failure",
    "verify validate",
    "recommend suggest",
    "discount coupon deal promotion",
    "product item goods",
    "shop store shopping",
    "delivery shipping shipment",
    "phone telephone mobile",
    "crypto cryptocurrency bitcoin",
    "pet animal",
    "child kid baby",
    "cloth clothing fashion outfit",
    "color colour",
    "town city",
    "country nation",
    "nearby near",
    "latest recent newest",
    "biggest largest",
];

/// The groups by the stems of their words.
static BY_STEM: LazyLock<HashMap<String, Vec<&'static str>>> = LazyLock::new(|| {
    let mut by_stem: HashMap<String, Vec<&'static str>> = HashMap::new();
    for group in GROUPS {
        for word in group.split(' ') {
            let others = group.split(' ').filter(|other| *other != word);
            by_stem.entry(stem(word)).or_default().extend(others);
        }
    }
    by_stem
});

/// The other words for a stem.
pub(super) fn synonyms(stem: &str) -> &'static [&'static str] {
    BY_STEM.get(stem).map_or(&[], Vec::as_slice)
}
