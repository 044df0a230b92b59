//! The pages of a small made-up site.

pub(super) struct Page {
    pub path: &'static str,
    pub title: &'static str,
    pub text: &'static str,
}

pub(super) const PAGES: [Page; 10] = [
    Page {
        path: "/",
        title: "Saltmere harbour office",
        text: "Welcome to the harbour of Saltmere. Ferries, tides, berths and the market on the quay.\n\nSee /ferries, /tides, /berths, /market, /rules and /news.",
    },
    Page {
        path: "/ferries",
        title: "Ferries",
        text: "To Nordhollow: daily at 07:15, 11:40 and 17:05, 50 minutes, 14 crowns. To Kiyokawa: Fridays at 22:00, arriving on Sunday. Bicycles travel free of charge; dogs need a ticket.",
    },
    Page {
        path: "/ferries/delays",
        title: "Delays today",
        text: "The 11:40 to Nordhollow leaves 20 minutes late because of fog on the bar. All other sailings are on time.",
    },
    Page {
        path: "/tides",
        title: "Tides and water level",
        text: "High water stands 3.2 m above chart datum at springs and 2.6 m at neaps. With a strong westerly add 20 cm. The gauge on the old quay is read every 30 seconds.",
    },
    Page {
        path: "/berths",
        title: "Berths for visitors",
        text: "Berths 1 to 24 on the outer pontoon take boats up to 14 m. A night costs 2.50 crowns per metre, water and showers included. Call the office on channel 12 before you enter.",
    },
    Page {
        path: "/market",
        title: "Market on the quay",
        text: "Wednesdays and Saturdays from 6 to 13 o'clock: fish, samphire, bread and cheese. In winter the market moves into the old rope works.",
    },
    Page {
        path: "/rules",
        title: "Rules of the harbour",
        text: "Three knots inside the moles. No swimming in the fairway. Whoever spills oil reports it at once; the harbour office lends booms free of charge.",
    },
    Page {
        path: "/news",
        title: "News",
        text: "The new light on the pier head burns since Monday: white, two flashes every ten seconds. The lock is closed for repairs from 3 to 9 December.",
    },
    Page {
        path: "/café",
        title: "Café am Kai · 波止場カフェ",
        text: "Kaffee, Kuchen und Fischbrötchen. 営業時間 7:00–18:00。☕ The menu is in three languages because the crews are.",
    },
    Page {
        path: "/contact",
        title: "Contact",
        text: "The office is open from 8 to 16 o'clock, VHF channel 12 at any hour. In an emergency call channel 16.",
    },
];

/// The page at a path or address.
pub(super) fn page(address: &str) -> Result<&'static Page, String> {
    let address = address.trim();
    let path = match address.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
        None => address,
    };
    let path = if path.len() > 1 {
        path.trim_end_matches('/')
    } else {
        path
    };
    let found = PAGES
        .iter()
        .find(|page| page.path == path || page.path.trim_start_matches('/') == path);
    found.ok_or_else(|| {
        let paths = PAGES.iter().map(|page| page.path);
        match toolcrib::registry::nearest_one(path, paths) {
            Some(known) => format!("404: there is no page `{path}`; did you mean `{known}`?"),
            None => format!("404: there is no page `{path}`; `/` lists what there is"),
        }
    })
}

/// Pages by how many of the words they contain, the title counting double.
pub(super) fn search(query: &str, limit: usize) -> Vec<(&'static Page, usize)> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<(&Page, usize)> = PAGES
        .iter()
        .map(|page| {
            let (title, text) = (page.title.to_lowercase(), page.text.to_lowercase());
            let score = words
                .iter()
                .map(|word| {
                    2 * usize::from(title.contains(word)) + usize::from(text.contains(word))
                })
                .sum();
            (page, score)
        })
        .filter(|(_, score)| *score > 0)
        .collect();
    found.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.path.cmp(b.0.path)));
    found.truncate(limit);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_by_path_and_by_address() {
        for (address, expected) in [
            ("/tides", "/tides"),
            ("tides", "/tides"),
            ("/ferries/", "/ferries"),
            ("https://saltmere.example/ferries/delays", "/ferries/delays"),
            ("https://saltmere.example", "/"),
            ("/café", "/café"),
        ] {
            assert_eq!(
                page(address).map(|page| page.path),
                Ok(expected),
                "{address}"
            );
        }
        let error = page("/feries").err().unwrap();
        assert_eq!(
            error,
            "404: there is no page `/feries`; did you mean `/ferries`?"
        );
    }

    #[test]
    fn a_title_counts_more_than_the_text() {
        let paths: Vec<&str> = search("Ferries nordhollow", 9)
            .iter()
            .map(|(page, _)| page.path)
            .collect();
        assert_eq!(paths, ["/ferries", "/", "/ferries/delays"]);
        assert!(search("  ", 9).is_empty());
        assert_eq!(search("the", 2).len(), 2);
    }
}
