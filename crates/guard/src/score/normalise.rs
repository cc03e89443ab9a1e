//! When two outputs count as equal, for scoring and only for scoring.
//!
//! Published figures rest on exactly these five replacements, in this order. A
//! guard has a normalisation of its own; changing that one must not move the
//! yardstick, so nothing is shared between the two.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Pattern and what takes its place.
const RULES: [(&str, &str); 5] = [
    (r"0x[0-9a-fA-F]+", "0x"),
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z?", "<ts>"),
    (r"[0-9]+\.[0-9]+\s*(?:seconds|sec|s)\b", "<dur>"),
    (r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?", "<t>"),
    (r"/tmp/\S+", "/tmp/x"),
];

// A pattern that does not compile is left out; a test compiles all of them.
static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    RULES.iter().filter_map(|(pattern, to)| Some((Regex::new(pattern).ok()?, *to))).collect()
});

/// The output without what changes from run to run.
#[must_use]
pub fn normalised(output: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(output);
    for (pattern, to) in PATTERNS.iter() {
        if let Cow::Owned(changed) = pattern.replace_all(&text, *to) {
            text = Cow::Owned(changed);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: &str) {
        assert_eq!(normalised(output), expected);
    }

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(PATTERNS.len(), RULES.len());
    }

    #[test]
    fn an_address_loses_its_digits() {
        check("<object at 0x7f3A9>, 0xg", "<object at 0x>, 0xg");
    }

    #[test]
    fn a_date_with_a_time_is_a_timestamp() {
        check("2024-01-02T03:04:05.678Z and 2024-01-02 03:04:05", "<ts> and <ts>");
        check("2024-01-02 alone, 2024-01-02  03:04:05", "2024-01-02 alone, 2024-01-02  <t>");
    }

    #[test]
    fn only_a_number_with_a_fraction_is_a_duration() {
        check("0.12s 3.4 sec 5.6seconds", "<dur> <dur> <dur>");
        check("12s 0.12 0.12start 1.5secs", "12s 0.12 0.12start 1.5secs");
    }

    #[test]
    fn a_time_of_day_may_have_a_fraction() {
        check("at 03:04:05.6 and 23:59:59", "at <t> and <t>");
    }

    #[test]
    fn a_path_below_tmp_is_one_path() {
        check("in /tmp/a1/b.py now, /tmp/ and /var/tmp", "in /tmp/x now, /tmp/ and /var/tmp");
    }

    #[test]
    fn what_changes_nothing_is_not_copied() {
        assert!(matches!(normalised("all tests passed"), Cow::Borrowed(_)));
    }
}
