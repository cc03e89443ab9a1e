//! Untrusted text for people: what they read is what is there, not what a
//! terminal or a text engine makes of it.

use std::fmt::Write as _;

use super::fold::{is_invisible, is_tag, is_variation};

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

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        if stays(c) || !deceives(c, before) {
            safe.push(c);
        } else if matches!(c, '\n' | '\r' | '\t') {
            safe.extend(c.escape_default());
        } else {
            // Writing to a String cannot fail.
            let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
        }
        before = Some(c);
    }
    safe
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
}
