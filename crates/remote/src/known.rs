//! What a server was told before, and may therefore have in a cache.
//!
//! Kept as hashes of the beginnings of conversations, a bounded number of them. What is
//! not known here was told for the first time, as far as this process can say.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use bowline_models::{Request, Said};

use crate::least::Least;

/// Beginnings are remembered in steps of so many bytes.
const BLOCK: usize = 512;
/// Most beginnings that are remembered; the oldest go first.
const BLOCKS_MAX: usize = 1 << 14;

/// What of a request is new to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unheard {
    /// Its bytes.
    pub(crate) bytes: usize,
    /// Its tokens, at the least.
    pub(crate) least: u64,
}

/// The beginnings of conversations that were sent.
#[derive(Debug, Default)]
pub(crate) struct Known {
    blocks: BTreeSet<u64>,
    order: VecDeque<u64>,
}

impl Known {
    /// What of this is new; it is known from now on.
    ///
    /// Standing instructions are never new: other runs begin with the same. Neither is
    /// what stands before the model's last words, since they answer it.
    pub(crate) fn hear(&mut self, request: &Request) -> Unheard {
        let (text, answered) = told(request);
        let known = self.learn(&text).max(answered);
        let new = text.get(text.floor_char_boundary(known)..).unwrap_or_default();
        Unheard { bytes: new.len(), least: Least::of(new).tokens() }
    }

    /// Remembers a text; tells how much of its beginning was known.
    fn learn(&mut self, text: &str) -> usize {
        let mut hasher = DefaultHasher::new();
        let (mut known, mut is_known) = (0, true);
        for block in text.as_bytes().chunks(BLOCK) {
            block.hash(&mut hasher);
            let hash = hasher.finish();
            is_known &= self.blocks.contains(&hash);
            if is_known {
                known += block.len();
            } else if self.blocks.insert(hash) {
                self.order.push_back(hash);
            }
        }
        while self.order.len() > BLOCKS_MAX {
            let Some(oldest) = self.order.pop_front() else { break };
            self.blocks.remove(&oldest);
        }
        known
    }
}

/// Everything said but standing instructions, and where what was answered ends.
fn told(request: &Request) -> (String, usize) {
    let (mut text, mut answered) = (String::new(), 0);
    for said in request.messages.iter() {
        match said {
            Said::System(_) => continue,
            Said::User(words) | Said::ToolResult { output: words, .. } => text.push_str(words),
            Said::Assistant { text: words, calls } => {
                text.push_str(words);
                calls.iter().for_each(|call| text.push_str(&call.args));
                answered = text.len();
            }
        }
        text.push('\n');
    }
    (text, answered)
}

#[cfg(test)]
mod tests {
    use bowline_core::append_list::AppendList;

    use super::*;
    use crate::format::tests::request;

    fn asking(said: Vec<Said>) -> Request {
        let mut messages = AppendList::default();
        said.into_iter().for_each(|said| messages.push(said));
        Request { messages, ..request() }
    }

    fn words(seed: u32) -> String {
        (0..600).map(|word| format!("{} ", word * 7919 + seed)).collect()
    }

    #[test]
    fn what_was_sent_before_is_not_new_and_what_follows_it_is() {
        let mut known = Known::default();
        let first = asking(vec![Said::System("rules".into()), Said::User(words(1))]);
        assert_eq!(known.hear(&first).bytes, words(1).len() + 1);
        assert_eq!(known.hear(&first), Unheard::default(), "the very same again");
        let longer = asking(vec![Said::User(format!("{}{}", words(1), words(2)))]);
        let new = known.hear(&longer).bytes;
        assert!(new >= words(2).len() && new <= words(2).len() + BLOCK, "{new}");
        assert_eq!(known.hear(&asking(vec![Said::User(words(3))])).bytes, words(3).len() + 1);
    }

    #[test]
    fn what_the_model_has_answered_is_not_new_to_a_process_that_begins_again() {
        let answered = Said::Assistant { text: "I see".into(), calls: Vec::new() };
        let resumed = asking(vec![Said::User(words(1)), answered, Said::User("Go on".into())]);
        assert_eq!(Known::default().hear(&resumed).bytes, "\nGo on\n".len());
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut known = Known::default();
        for seed in 0..4000 {
            known.hear(&asking(vec![Said::User(words(seed))]));
        }
        assert!(known.order.len() <= BLOCKS_MAX && known.blocks.len() == known.order.len());
    }
}
