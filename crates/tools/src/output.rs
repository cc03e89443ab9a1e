//! How much of an output a model reads.

use std::borrow::Cow;

/// Room for the line that says what was left out.
const NOTE_MAX: usize = 64;

/// Keeps head and tail of a long text, cut between characters, and says in the
/// middle how many bytes were left out. A text that fits is returned as it is.
#[must_use]
pub fn cap_output(text: &str, max: usize) -> Cow<'_, str> {
    if text.len() <= max {
        return Cow::Borrowed(text);
    }
    let room = max.saturating_sub(NOTE_MAX);
    let (head, rest) = text.split_at(text.floor_char_boundary(room / 2));
    let tail_len = room.saturating_sub(head.len());
    let (gap, tail) = rest.split_at(rest.ceil_char_boundary(rest.len().saturating_sub(tail_len)));
    Cow::Owned(format!("{head}{}{tail}", left_out(gap.len())))
}

/// The line in the middle of a text of which something was left out.
pub(crate) fn left_out(bytes: usize) -> String {
    format!("\n[... {bytes} bytes left out ...]\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_fits_is_left_alone() {
        let text = "x".repeat(4096);
        assert!(matches!(cap_output(&text, 4096), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn head_and_tail_are_kept_and_the_gap_is_counted() {
        let text = format!("HEAD{}TAIL", "x".repeat(50_000));
        let capped = cap_output(&text, 1000);
        assert!(capped.starts_with("HEADx") && capped.ends_with("xTAIL") && capped.len() <= 1000);
        let kept = capped.matches('x').count();
        assert!(capped.contains(&format!("\n[... {} bytes left out ...]\n", 50_000 - kept)), "{capped}");
    }

    #[test]
    fn no_cut_falls_into_a_character_and_nothing_is_lost_uncounted() {
        for width in ["ä", "€", "𝄞", "xä€𝄞"] {
            let text = width.repeat(2000);
            for max in 300..330 {
                let capped = cap_output(&text, max);
                assert!(capped.len() <= max, "{width} {max}");
                let (head, rest) = capped.split_once("\n[... ").unwrap();
                let (count, tail) = rest.split_once(" bytes left out ...]\n").unwrap();
                assert!(text.starts_with(head) && text.ends_with(tail));
                assert_eq!(head.len() + tail.len() + count.parse::<usize>().unwrap(), text.len());
            }
        }
    }

    #[test]
    fn a_cap_smaller_than_the_note_leaves_only_the_note() {
        assert_eq!(cap_output("äöüäöü", 5), "\n[... 12 bytes left out ...]\n");
    }
}
