//! Untrusted text for people: what they read is what is there, not what a
//! terminal or a text engine makes of it.

use std::fmt::Write as _;

use super::fold::{is_combining, is_invisible, is_tag, is_variation};

/// One line: every control and invisible character is escaped, line ends too.
#[must_use]
pub fn escape_line(text: &str) -> String {
    escaped(text, |_| false)
}

/// Several lines: line ends and tabs stay, everything else as in [`escape_line`].
#[must_use]
pub fn escape_page(text: &str) -> String {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// A value whose exact characters matter, on one line: besides, every blank but a single
/// space is escaped, runs of them are counted, and so is anything that sits on a letter
/// and what margins are drawn with.
#[must_use]
pub fn escape_exact(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut marks = 0;
    while let Some(c) = chars.next() {
        marks = if is_combining(c) { marks + 1 } else { 0 };
        let drawn = matches!(c, '\u{2500}'..='\u{257f}' | '\u{23a0}'..='\u{23af}' | '\u{ffe8}');
        let blank = c.is_whitespace() && c != ' ';
        if c == ' ' {
            let mut run = 1_usize;
            while chars.next_if_eq(&' ').is_some() {
                run += 1;
            }
            if run <= BLANKS_MAX {
                safe.extend(std::iter::repeat_n(' ', run));
            } else {
                // Writing to a String cannot fail.
                let _ = write!(safe, "\\u{{20}}×{run}");
            }
        } else if deceives(c, None) || is_variation(c) || drawn || blank || marks > MARKS_MAX {
            push_escaped(&mut safe, c);
        } else {
            safe.push(c);
        }
    }
    safe
}

/// A line of JSON whose strings hold nothing that a terminal or a reader of lines
/// obeys: the same value, in other escapes.
#[must_use]
pub fn escape_json(line: &str) -> String {
    let mut safe = String::with_capacity(line.len());
    let mut before = None;
    for c in line.chars() {
        if deceives(c, before) && !c.is_ascii() || c == '\u{7f}' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(c);
        }
        before = Some(c);
    }
    safe
}

/// Most spaces in a row that are shown as they are.
const BLANKS_MAX: usize = 2;
/// Most marks on one letter.
const MARKS_MAX: usize = 2;

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = None;
    let mut marks = 0;
    for c in text.chars() {
        marks = if is_combining(c) { marks + 1 } else { 0 };
        if stays(c) || !(deceives(c, before) || marks > MARKS_MAX) {
            safe.push(c);
        } else {
            push_escaped(&mut safe, c);
        }
        before = Some(c);
    }
    safe
}

fn push_escaped(safe: &mut String, c: char) {
    if matches!(c, '\n' | '\r' | '\t') {
        safe.extend(c.escape_default());
    } else {
        // Writing to a String cannot fail.
        let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
    }
}

/// Characters that move the cursor, reverse the text, or cannot be seen.
fn deceives(c: char, before: Option<char>) -> bool {
    let alters = c.is_control()
        || is_invisible(c)
        || is_tag(c)
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{2800}' | '\u{3164}');
    // One selector after a visible character chooses its shape; more carry bytes.
    let smuggles =
        is_variation(c) && before.is_none_or(|before| is_variation(before) || before.is_whitespace());
    alters || smuggles || matches!(c, '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_terminal_obeys_gets_through() {
        assert_eq!(escape_line("a\u{1b}[2Jb\r\nc\u{7}"), "a\\u{1b}[2Jb\\r\\nc\\u{7}");
        assert_eq!(escape_page("a\tb\n\u{202e}txt.exe\u{9b}"), "a\tb\n\\u{202e}txt.exe\\u{9b}");
        assert_eq!(
            escape_page("\u{1b}]8;;https://evil.test\u{7}click"),
            "\\u{1b}]8;;https://evil.test\\u{7}click"
        );
    }

    #[test]
    fn what_can_be_seen_stays() {
        let text = "naïve “text” 日本 🎣 שלום ❤\u{fe0f}";
        assert_eq!(escape_line(text), text);
    }

    #[test]
    fn text_nobody_sees_is_shown() {
        assert_eq!(escape_line("a\u{e0073}\u{e0065}"), "a\\u{e0073}\\u{e0065}");
        assert_eq!(escape_line("x\u{fe00}\u{fe01}\u{fe02}"), "x\u{fe00}\\u{fe01}\\u{fe02}");
        assert_eq!(escape_line("pay\u{200b}pal\u{ad}"), "pay\\u{200b}pal\\u{ad}");
    }

    #[test]
    fn a_value_that_matters_has_no_blanks_marks_or_margins_of_its_own() {
        assert_eq!(escape_exact("a b  c"), "a b  c");
        assert_eq!(escape_exact(&format!("ok{}--force", " ".repeat(300))), "ok\\u{20}×300--force");
        assert_eq!(escape_exact("a\u{a0}b\u{3000}c\u{2003}"), "a\\u{a0}b\\u{3000}c\\u{2003}");
        assert_eq!(escape_exact("x\n  │ /to"), "x\\n  \\u{2502} /to");
        for filler in
            ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}', '\u{2800}', '\u{fe0f}', '\u{202e}', '\u{2066}']
        {
            assert!(!escape_exact(&format!("a{filler}b")).contains(filler), "{filler:?}");
        }
        let stack = format!("e{}", "\u{301}".repeat(40));
        assert_eq!(escape_exact(&stack).matches('\u{301}').count(), 2);
        assert_eq!(escape_line(&stack).matches('\u{301}').count(), 2);
    }

    #[test]
    fn a_line_of_json_stays_one_line_and_the_same_value() {
        let value = serde_json::json!({"t": "a\n\u{85}\u{9b}2J\u{2028}\u{202e}\u{7f}\u{1b}\u{e0041}\u{0}é 日本 ❤\u{fe0f}"});
        let line = escape_json(&value.to_string());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), value);
        assert!(!line.chars().any(|c| c.is_control() || "\u{2028}\u{202e}\u{e0041}".contains(c)), "{line}");
        assert!(line.contains("é 日本 ❤\u{fe0f}"));
    }
}
