//! An answer cut into the pieces that stand or fall together: sentences, list
//! items, table rows, and whole blocks of code.

use super::fold;
use super::function_words::TURNS;

/// How many pieces are told apart; what follows belongs to the last.
pub(super) const SEGMENTS_MAX: usize = 512;

/// How far into a sentence a turn of subject is looked for, in characters.
const TURN_WITHIN: usize = 24;

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A sentence, a list item, a row.
    Prose,
    /// A fenced block.
    Code,
}

/// One piece of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment<'a> {
    /// Its text.
    pub(super) text: &'a str,
    /// What it is.
    pub(super) form: Form,
}

impl Segment<'_> {
    /// True when it announces that the subject changes or widens.
    pub(super) fn turns(&self) -> bool {
        let open: String = self.text.trim_start().chars().take(TURN_WITHIN).collect();
        let open = fold::folded(&open);
        self.form == Form::Prose && TURNS.iter().any(|turn| open.contains(turn))
    }
}

/// The pieces of a text, in order.
pub(super) fn segments(text: &str) -> Vec<Segment<'_>> {
    let mut found: Vec<Segment<'_>> = Vec::new();
    let mut rest = text;
    while found.len() + 1 < SEGMENTS_MAX && !rest.is_empty() {
        let (segment, after) = first(rest);
        if !segment.text.trim().is_empty() {
            found.push(segment);
        }
        rest = after;
    }
    if !rest.trim().is_empty() {
        found.push(Segment { text: rest, form: Form::Prose });
    }
    found
}

const FENCE: &str = "```";

fn first(text: &str) -> (Segment<'_>, &str) {
    if let Some(body) = text.trim_start().strip_prefix(FENCE) {
        let (code, after) = body.split_once(FENCE).unwrap_or((body, ""));
        return (Segment { text: code, form: Form::Code }, after);
    }
    let end = sentence_end(text);
    let (head, after) = text.split_at_checked(end).unwrap_or((text, ""));
    (Segment { text: head, form: Form::Prose }, after)
}

/// Where the first sentence, line or row of a text ends, in bytes.
fn sentence_end(text: &str) -> usize {
    let mut word_chars = 0_usize;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let after = at + letter.len_utf8();
        let next = letters.peek().map(|(_, next)| *next);
        let ends = match letter {
            '\n' | '。' | '！' | '？' | '；' => true,
            '!' | '?' | ';' => next.is_none_or(char::is_whitespace),
            // `e.g.`, `Dr.` and `2.` are no ends.
            '.' => next.is_none_or(char::is_whitespace) && word_chars > 2,
            _ => false,
        };
        if ends || text.get(after..).is_some_and(|rest| rest.starts_with(FENCE)) {
            return after;
        }
        word_chars = if letter.is_alphanumeric() || matches!(letter, '`' | ')' | '"' | '\'' | '»' | '”' | '%')
        {
            word_chars + 1
        } else {
            0
        };
    }
    text.len()
}
