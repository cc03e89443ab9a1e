//! An output stream of which head and tail are kept and the rest is counted.

use std::collections::VecDeque;

use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::output::left_out;

/// Bounded memory of a stream.
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    part_max: usize,
    dropped: usize,
}

impl Capture {
    pub(super) fn new(max: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), part_max: max / 2, dropped: 0 }
    }

    /// Reads the stream to its end, whatever its length: a full pipe would stop the program.
    pub(super) async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut buffer = vec![0_u8; 64 * 1024];
        // A stream that breaks is a stream that ends.
        while let Ok(count @ 1..) = stream.read(&mut buffer).await {
            self.push(buffer.get(..count).unwrap_or_default());
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let room = self.part_max.saturating_sub(self.head.len());
        let (head, tail) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(tail);
        let excess = self.tail.len().saturating_sub(self.part_max);
        self.tail.drain(..excess);
        self.dropped += excess;
    }

    /// The text, with a line where something was left out.
    pub(super) fn into_text(self) -> String {
        let (mut head, mut tail) = (self.head, Vec::from(self.tail));
        if self.dropped == 0 {
            head.append(&mut tail);
            return String::from_utf8_lossy(&head).into_owned();
        }
        let after = tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
        let tail = tail.split_off(after);
        let before = cut_character(&head);
        head.truncate(head.len() - before);
        let gap = left_out(self.dropped + before + after);
        format!("{}{gap}{}", String::from_utf8_lossy(&head), String::from_utf8_lossy(&tail))
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// How many bytes at the end belong to a character that is not whole.
fn cut_character(bytes: &[u8]) -> usize {
    let is_cut = |count: &usize| {
        let end = bytes.get(bytes.len().saturating_sub(*count)..).unwrap_or_default();
        matches!(std::str::from_utf8(end), Err(error) if error.error_len().is_none() && error.valid_up_to() == 0)
    };
    (1..=3).find(is_cut).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(text: &str, max: usize, chunk: usize) -> String {
        let mut capture = Capture::new(max);
        for bytes in text.as_bytes().chunks(chunk) {
            capture.push(bytes);
        }
        capture.into_text()
    }

    #[test]
    fn what_fits_is_kept_whole_however_it_arrives() {
        let text = "äöü€𝄞x".repeat(10);
        for chunk in 1..9 {
            assert_eq!(captured(&text, text.len() + 1, chunk), text);
        }
    }

    #[test]
    fn of_what_does_not_fit_head_and_tail_are_kept_between_characters() {
        for text in ["ä", "€", "𝄞", "x", "aä€𝄞"].map(|text| text.repeat(100)) {
            for max in 20..40 {
                let kept = captured(&text, max, 7);
                let (head, rest) = kept.split_once("\n[... ").unwrap();
                let (count, tail) = rest.split_once(" bytes left out ...]\n").unwrap();
                assert!(text.starts_with(head) && text.ends_with(tail), "{max}: {kept}");
                assert_eq!(head.len() + tail.len() + count.parse::<usize>().unwrap(), text.len());
            }
        }
    }
}
