//! Text that a model reads and a person cannot see, and orders to terminals.

use std::ops::Range;

use super::super::fold::{is_invisible, is_tag, is_variation};
use super::{Family, Finding, Weight};

/// From this many on, invisible characters in a row are a message.
const INVISIBLE_RUN: usize = 12;
/// From this many on, selectors in a row carry bytes and choose no shape.
const SELECTOR_RUN: usize = 3;
/// Flags of regions are the one honest use of tag characters: a flag, up to six
/// letters and digits, and the end.
const FLAG: char = '\u{1f3f4}';
const FLAG_TAGS_MAX: usize = 7;
const FLAG_END: char = '\u{e007f}';

/// Reports every hidden text and every dangerous terminal sequence.
pub(super) fn find(text: &str, mut report: impl FnMut(Finding)) {
    for span in spans(text) {
        report(Finding { family: Family::Hidden, weight: Weight::Strong, rule: "hidden-text", span });
    }
    for (at, _) in text.match_indices('\u{1b}') {
        let rest = text.as_bytes().get(at + 1..).unwrap_or_default();
        // Hyperlinks, the clipboard, and strings a terminal keeps for itself.
        let orders = [&b"]8;"[..], b"]52;", b"P", b"_", b"^"].iter().any(|start| rest.starts_with(start));
        if orders {
            let end =
                text.get(at..).and_then(|rest| rest.chars().nth(1)).map_or(at + 1, |c| at + 1 + c.len_utf8());
            report(Finding {
                family: Family::Terminal,
                weight: Weight::Strong,
                rule: "terminal-order",
                span: at..end,
            });
        }
    }
}

/// Runs of characters that carry a text nobody sees; in order.
pub(in super::super) fn spans(text: &str) -> Vec<Range<usize>> {
    if text.is_ascii() {
        return Vec::new();
    }
    let mut spans = Vec::new();
    let mut run = Run::default();
    for (at, c) in text.char_indices() {
        let class = Class::of(c);
        if class != run.class {
            spans.extend(run.take(at));
            run = Run { class, start: at, count: 0, after_flag: run.last == Some(FLAG), last: None };
        }
        run.count += 1;
        run.last = Some(c);
    }
    spans.extend(run.take(text.len()));
    spans
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Class {
    #[default]
    Seen,
    Tag,
    Selector,
    Invisible,
}

impl Class {
    fn of(c: char) -> Self {
        if c.is_ascii() {
            Self::Seen
        } else if is_tag(c) {
            Self::Tag
        } else if is_variation(c) {
            Self::Selector
        } else if is_invisible(c) {
            Self::Invisible
        } else {
            Self::Seen
        }
    }
}

#[derive(Debug, Default)]
struct Run {
    class: Class,
    start: usize,
    count: usize,
    after_flag: bool,
    last: Option<char>,
}

impl Run {
    fn is_flag(&self) -> bool {
        self.after_flag && self.count <= FLAG_TAGS_MAX && self.last == Some(FLAG_END)
    }

    fn take(&self, end: usize) -> Option<Range<usize>> {
        let carries = match self.class {
            Class::Seen => false,
            Class::Tag => !self.is_flag(),
            Class::Selector => self.count >= SELECTOR_RUN,
            Class::Invisible => self.count >= INVISIBLE_RUN,
        };
        carries.then_some(self.start..end)
    }
}
