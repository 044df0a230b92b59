//! Cuts text into words: runs of letters and digits, also split at camelCase, and CJK text into
//! single characters and pairs. The same for documents and queries.

/// Calls `emit` with every word of the text, in order, in lower case: the parts of an identifier
/// and, where there are several, the whole run as well. `getHTTPUser` gives `get`, `http`, `user`
/// and `gethttpuser`.
pub fn tokens(text: &str, emit: &mut dyn FnMut(&str)) {
    let mut buffer = String::new();
    if text.is_ascii() {
        ascii_runs(text, &mut buffer, emit);
        return;
    }
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        rest = &rest[start..];
        let cjk = rest.chars().next().is_some_and(is_cjk);
        let end = rest
            .find(|c| !is_word(c) || is_cjk(c) != cjk)
            .unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        if cjk {
            characters_and_pairs(run, emit);
        } else {
            identifier(run, &mut buffer, emit);
        }
        rest = after;
    }
}

/// The same for ASCII, byte by byte: a catalog is made of little else, and most words in it are
/// small letters, which nobody has to copy.
fn ascii_runs(text: &str, buffer: &mut String, emit: &mut dyn FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        let start = at;
        let mut capitals = 0;
        while at < bytes.len() && bytes[at].is_ascii_alphanumeric() {
            capitals += usize::from(bytes[at].is_ascii_uppercase());
            at += 1;
        }
        let run = &text[start..at];
        match capitals {
            0 => emit(run),
            1 if bytes[start].is_ascii_uppercase() => lower(run, buffer, emit),
            _ => identifier(run, buffer, emit),
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || (!c.is_ascii() && c.is_alphanumeric())
}

/// Scripts that are written without spaces: Han, kana, Hangul.
fn is_cjk(c: char) -> bool {
    matches!(
        u32::from(c),
        0x3040..=0x30FF
            | 0x3400..=0x4DBF
            | 0x4E00..=0x9FFF
            | 0xAC00..=0xD7AF
            | 0xF900..=0xFAFF
            | 0xFF66..=0xFF9D
            | 0x20000..=0x3134F
    )
}

fn characters_and_pairs(run: &str, emit: &mut dyn FnMut(&str)) {
    let mut before: Option<usize> = None;
    for (at, c) in run.char_indices() {
        let end = at + c.len_utf8();
        emit(&run[at..end]);
        if let Some(start) = before.replace(at) {
            emit(&run[start..end]);
        }
    }
}

/// Emits the camelCase parts of a run, then the whole run if there are several.
fn identifier(run: &str, buffer: &mut String, emit: &mut dyn FnMut(&str)) {
    let mut parts = 0;
    let mut start = 0;
    for end in boundaries(run).chain(std::iter::once(run.len())) {
        lower(&run[start..end], buffer, emit);
        start = end;
        parts += 1;
    }
    if parts > 1 {
        lower(run, buffer, emit);
    }
}

fn lower(part: &str, buffer: &mut String, emit: &mut dyn FnMut(&str)) {
    buffer.clear();
    if part.is_ascii() {
        buffer.push_str(part);
        buffer.make_ascii_lowercase();
    } else {
        buffer.extend(part.chars().flat_map(char::to_lowercase));
    }
    emit(buffer);
}

/// Where a part begins: a capital after a letter or digit that is none (`getUser`), or the last
/// capital of several before a small letter (`HTTPUser`).
fn boundaries(run: &str) -> impl Iterator<Item = usize> {
    let mut before: Option<char> = None;
    let mut chars = run.char_indices().peekable();
    std::iter::from_fn(move || {
        loop {
            let (at, c) = chars.next()?;
            let previous = before.replace(c);
            let next_is_small = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
            let begins = match previous {
                Some(previous) if c.is_uppercase() => !previous.is_uppercase() || next_is_small,
                _ => false,
            };
            if begins {
                return Some(at);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        tokens(text, &mut |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn identifiers_are_split_and_kept_whole() {
        for (text, expected) in [
            ("getHTTPUser_by-id", "get http user gethttpuser by id"),
            ("fs__read_file", "fs read file"),
            ("listV1Pods", "list v1 pods listv1pods"),
            ("AI2sql", "ai2sql"),
            ("a.b/c", "a b c"),
            ("HTML", "html"),
            ("iPhone15Pro", "i phone15 pro iphone15pro"),
            ("Straße ÉCOLE", "straße école"),
            ("", ""),
            ("  ,;", ""),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn cjk_text_gives_characters_and_pairs_and_is_parted_from_other_text() {
        assert_eq!(
            words("查询12306余票"),
            ["查", "询", "查询", "12306", "余", "票", "余票"]
        );
        assert_eq!(words("天"), ["天"]);
    }
}
