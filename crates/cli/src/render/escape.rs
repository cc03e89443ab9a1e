//! Texts from elsewhere, made safe to look at: what a person reads is what is
//! there, not what a terminal makes of it.

use std::fmt::Write as _;

/// One line: every control and invisible character is escaped.
pub(crate) fn line(text: &str) -> String {
    escaped(text, &[])
}

/// Several lines: line ends and tabs stay, everything else as in [`line`].
pub(crate) fn multiline(text: &str) -> String {
    escaped(text, &['\n', '\t'])
}

fn escaped(text: &str, kept: &[char]) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if kept.contains(&c) || !deceives(c) {
            safe.push(c);
        } else if matches!(c, '\n' | '\r' | '\t') {
            safe.extend(c.escape_default());
        } else {
            // Writing to a String cannot fail.
            let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
        }
    }
    safe
}

/// Characters that move the cursor, reverse the text, or cannot be seen.
fn deceives(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// At most `max` characters.
pub(crate) fn cut(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.into();
    }
    text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_terminal_obeys_gets_through() {
        assert_eq!(line("a\u{1b}[2Jb\r\nc\u{7}"), "a\\u{1b}[2Jb\\r\\nc\\u{7}");
        assert_eq!(multiline("a\tb\n\u{202e}txt.exe\u{9b}"), "a\tb\n\\u{202e}txt.exe\\u{9b}");
        assert_eq!(line("naïve “text” 日本 🎣"), "naïve “text” 日本 🎣");
    }

    #[test]
    fn a_cut_text_is_as_long_as_asked() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
