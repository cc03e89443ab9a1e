//! Words of a text, and whether somebody asks for something there.

use super::super::fold::{Kind, is_invisible, is_variation, kind_of};

/// How many words a request reaches.
const REACH: usize = 40;
/// How many words before it a request reaches: "x@y.test is whom to send it to".
pub(super) const REACH_BACK: usize = 8;
/// Longest label that a value may be glued to, in bytes, and how many.
const LABEL_MAX: usize = 32;
const LABELS_MAX: usize = 3;

/// Verbs that ask for a change when they stand in prose.
#[rustfmt::skip]
const ASKS: &[&str] = &[
    "add", "append", "book", "buy", "call", "cancel", "change", "click", "concatenate", "create", "delete",
    "deposit", "download",
    "email", "execute", "forward", "grant", "include", "invite", "mail", "make", "message", "modify", "move",
    "open", "order",
    "pay", "post", "publish", "purchase", "refund", "remove", "rename", "reply", "reserve", "reset", "run", "send",
    "set", "share",
    "submit", "transfer", "update", "upload", "use", "visit", "wire", "write",
];

/// A word where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'t> {
    /// As it is written.
    pub(super) written: &'t str,
    /// Shortly after a verb that asks for something, in the same field.
    pub(super) is_directed: bool,
    /// It is such a verb.
    pub(super) asks: bool,
    /// It names a field, which ends what the one before asked for.
    pub(super) is_field: bool,
}

impl Word<'_> {
    /// In lower case, byte for byte otherwise.
    pub(super) fn raw(&self) -> String {
        self.written.to_lowercase()
    }

    /// What it looks like.
    pub(super) fn plain(&self) -> String {
        let mut plain = String::with_capacity(self.written.len());
        for c in self.written.chars() {
            match kind_of(c) {
                Kind::Symbol(c) => plain.push(c),
                Kind::Ligature(several) => plain.push_str(several.letters()),
                Kind::Soft | Kind::Glue => plain.push('-'),
                Kind::Space | Kind::Break | Kind::Nothing => {}
            }
        }
        plain
    }

    /// What is left without the labels it is glued to, as in `to=x` and `name:x`; `None`
    /// where it has none.
    pub(super) fn unlabelled(&self) -> Option<Self> {
        let mut rest = self.written;
        for _ in 0..LABELS_MAX {
            let Some(shorter) = without_label(rest) else { break };
            rest = shorter;
        }
        (rest.len() < self.written.len()).then_some(Self { written: rest, ..*self })
    }

    fn is_verb(&self) -> bool {
        self.written.len() <= 16 && ASKS.binary_search(&self.written.to_ascii_lowercase().as_str()).is_ok()
    }
}

fn without_label(written: &str) -> Option<&str> {
    let (label, rest) = written.split_once(['=', ':'])?;
    let is_label = (1..=LABEL_MAX).contains(&label.len())
        && label.chars().all(|c| c.is_alphabetic() || c == '_' || c == '-');
    // The scheme of a link is no label.
    (is_label && !rest.is_empty() && !rest.starts_with('/')).then_some(rest)
}

/// The words of a text, in order.
pub(super) fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let mut at = 0;
    let mut starts_line = true;
    let mut since: Option<usize> = None;
    std::iter::from_fn(move || {
        let (start, end, line_end) = next_word(text, at)?;
        starts_line |= line_end;
        at = end;
        let mut word =
            Word { written: text.get(start..end)?, is_directed: false, asks: false, is_field: false };
        if names_field(text.get(end..)?, word.written, starts_line) {
            since = None;
            word.is_field = true;
        } else if word.is_verb() {
            since = Some(0);
            word.asks = true;
        } else {
            since = since.map(|count| count + 1).filter(|count| *count <= REACH);
        }
        word.is_directed = since.is_some_and(|count| count > 0);
        starts_line = false;
        Some(word)
    })
}

/// A new field ends what the one before asked for: `name: …` at the start of a
/// line, `"name": …` anywhere.
fn names_field(after: &str, written: &str, starts_line: bool) -> bool {
    let quoted = after.starts_with("\":") || after.starts_with("':");
    let named = written.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    quoted || (starts_line && named && after.starts_with(": "))
}

/// Start and end of the next word, and whether a line ended before it.
fn next_word(text: &str, from: usize) -> Option<(usize, usize, bool)> {
    let mut line_end = false;
    let mut escaped = false;
    let mut chars = text.get(from..)?.char_indices();
    let start = loop {
        let (offset, c) = chars.next()?;
        // A line end as JSON writes it is one too.
        if c == '\n' || (escaped && c == 'n') {
            line_end = true;
            escaped = false;
        } else if is_letter(c) {
            break from + offset;
        } else {
            escaped = c == '\\';
        }
    };
    let mut end = start;
    let mut before: Option<char> = None;
    for (offset, c) in text.get(start..)?.char_indices() {
        if before.is_some_and(|before| is_unparted(before) != is_unparted(c)) && is_letter(c) {
            break;
        }
        before = Some(c).filter(|c| c.is_alphanumeric()).or(before);
        if is_letter(c) {
            end = start + offset + c.len_utf8();
        } else if !joins(c) {
            break;
        }
    }
    Some((start, end, line_end))
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || is_invisible(c) || is_variation(c)
}

/// A letter of a script that does not part words, or glues endings to foreign ones: what
/// is written in another stands for itself there.
pub(super) fn is_unparted(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{109f}' | '\u{1100}'..='\u{11ff}' | '\u{1780}'..='\u{17ff}' | '\u{3041}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
}

/// A word of running text: names, numbers and what tools write are not.
pub(super) fn is_prose(word: &str) -> bool {
    let is_small = word.chars().next().is_some_and(|c| c.is_alphabetic() && !c.is_uppercase());
    is_small && word.chars().all(char::is_alphabetic)
}

/// Parts of addresses, numbers and names; only between letters.
fn joins(c: char) -> bool {
    matches!(c, '@' | '.' | ':' | '/' | '+' | '%' | '#' | '?' | '&' | '=' | '~' | '\'' | '-')
}

#[cfg(test)]
pub(super) fn verbs() -> &'static [&'static str] {
    ASKS
}
