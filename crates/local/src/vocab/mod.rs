//! The vocabulary of a model: text to tokens and back.
//!
//! Byte-level BPE as its file describes it. Text of strangers never becomes a control
//! token: [`Vocabulary::encode`] knows which parts of a prompt are the template's own.
//!
//! Invariants
//! - Any bytes can be encoded as far as the vocabulary has their single bytes; decoding
//!   gives them back.
//! - Encoding takes time in proportion to n log n, whatever the text.

mod bpe;
mod letters;
mod split;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use regex::Regex;
use toktrie::{TokEnv, TokRxInfo, TokTrie, TokenizerEnv};

use crate::error::LoadError;
use crate::gguf::{Gguf, Value};
use bpe::Merges;
use split::Split;

/// Longest token, in bytes; the trie of the grammar has one byte for it.
const TOKEN_BYTES_MAX: usize = 255;

/// What stands in a prompt for the text of a control token that somebody wrote: so many
/// private characters, one for each control token, from here on.
const STAND_IN: u32 = 0xF_0000;

/// Endings of a turn that files do not always name.
const ENDINGS: [&str; 6] =
    ["<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>", "</s>"];

/// Tokens and their texts.
#[derive(Debug)]
pub struct Vocabulary {
    bytes: Vec<Vec<u8>>,
    is_control: Vec<bool>,
    /// Control tokens with their texts, longest text first.
    controls: Vec<(String, u32)>,
    /// Finds the next of them, the longest at a place.
    control_pattern: Option<Regex>,
    ends: Vec<u32>,
    begin: Option<u32>,
    merges: Merges,
    split: Split,
}

impl Vocabulary {
    /// Reads it from a file whose header has been read.
    pub fn read(file: &Gguf) -> Result<Self, LoadError> {
        let model = file.text("tokenizer.ggml.model")?.to_owned();
        let pre = file.get("tokenizer.ggml.pre").and_then(Value::as_text).unwrap_or("default").to_owned();
        let split = (model == "gpt2").then(|| Split::named(&pre)).flatten().ok_or_else(|| {
            LoadError::Vocabulary { path: file.path().to_owned(), model: model.clone(), split: pre.clone() }
        })?;
        let list = |key: &str| file.get(key).and_then(Value::as_texts);
        let texts = list("tokenizer.ggml.tokens").ok_or_else(|| file.corrupt("it has no tokens"))?;
        let kinds = file.get("tokenizer.ggml.token_type").and_then(Value::as_integers).unwrap_or_default();
        // Kinds of GGUF: 3 is control, 4 a text of its own, the rest ordinary.
        let is_control: Vec<bool> = (0..texts.len()).map(|at| kinds.get(at) == Some(&3)).collect();
        let bytes: Vec<Vec<u8>> = (0..)
            .zip(texts)
            .map(|(at, text)| match kinds.get::<usize>(at) {
                Some(3 | 4) => text.as_bytes().to_vec(),
                _ => letters::to_bytes(text).unwrap_or_else(|| text.as_bytes().to_vec()),
            })
            .collect();
        if let Some(long) = bytes.iter().find(|bytes| bytes.len() > TOKEN_BYTES_MAX) {
            return Err(file.corrupt(format!("a token of {} bytes", long.len())));
        }
        let ids = by_bytes(&bytes, &is_control);
        let merges = Merges::read(list("tokenizer.ggml.merges").unwrap_or_default(), &ids);
        let mut vocabulary = Self {
            bytes,
            is_control,
            controls: Vec::new(),
            control_pattern: None,
            ends: Vec::new(),
            begin: None,
            merges,
            split,
        };
        vocabulary.find_controls(file, texts);
        if vocabulary.ends.is_empty() {
            return Err(file.corrupt("it has no token that ends a text"));
        }
        Ok(vocabulary)
    }

    fn find_controls(&mut self, file: &Gguf, texts: &[String]) {
        let control = |(id, (text, is_control)): (u32, (&String, &bool))| {
            (*is_control && !text.is_empty()).then(|| (text.clone(), id))
        };
        self.controls = (0..).zip(texts.iter().zip(&self.is_control)).filter_map(control).collect();
        self.controls.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let escaped: Vec<String> = self.controls.iter().map(|(text, _)| regex::escape(text)).collect();
        self.control_pattern = Regex::new(&escaped.join("|")).ok().filter(|_| !escaped.is_empty());
        let id = |key: &str| {
            let id = file.get(key).and_then(Value::as_count).and_then(|id| u32::try_from(id).ok());
            id.filter(|id| self.index(*id) < self.bytes.len())
        };
        let named = [id("tokenizer.ggml.eos_token_id"), id("tokenizer.ggml.eot_token_id")];
        let known =
            self.controls.iter().filter(|(text, _)| ENDINGS.contains(&text.as_str())).map(|(_, id)| *id);
        let mut ends: Vec<u32> = named.into_iter().flatten().collect();
        for id in known {
            if !ends.contains(&id) {
                ends.push(id);
            }
        }
        let add_begin = file.get("tokenizer.ggml.add_bos_token").and_then(Value::as_flag) == Some(true);
        self.begin = id("tokenizer.ggml.bos_token_id").filter(|_| add_begin);
        for end in &ends {
            let at = self.index(*end);
            if let Some(is_control) = self.is_control.get_mut(at) {
                *is_control = true;
            }
        }
        self.ends = ends;
    }

    fn index(&self, id: u32) -> usize {
        usize::try_from(id).unwrap_or(usize::MAX)
    }

    /// How many tokens there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there is none; a vocabulary that was read has some.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether a token ends the turn.
    #[must_use]
    pub fn is_end(&self, id: u32) -> bool {
        self.ends.contains(&id)
    }

    /// The tokens that end the turn.
    #[must_use]
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// Whether a token is one of the template's, not text.
    #[must_use]
    pub fn is_control(&self, id: u32) -> bool {
        self.is_control.get(self.index(id)).copied().unwrap_or(true)
    }

    /// The bytes of a token; none for one that does not exist.
    #[must_use]
    pub fn bytes(&self, id: u32) -> &[u8] {
        self.bytes.get(self.index(id)).map_or(&[], Vec::as_slice)
    }

    /// Whether a token says the next piece of a text; where nothing is left of it, whether
    /// the token ends the turn.
    pub(crate) fn goes_on(&self, id: u32, ahead: &[u8]) -> bool {
        let piece = self.bytes(id);
        let says = !piece.is_empty() && !self.is_control(id) && ahead.starts_with(piece);
        if ahead.is_empty() { self.is_end(id) } else { says }
    }

    /// The bytes of several tokens.
    #[must_use]
    pub fn decode(&self, ids: &[u32]) -> Vec<u8> {
        ids.iter().flat_map(|id| self.bytes(*id)).copied().collect()
    }

    /// Encodes a whole prompt: control tokens are seen, except where [`Self::disarm`]
    /// has put something in their place, which becomes plain text again.
    #[must_use]
    pub fn encode_prompt(&self, text: &str) -> Vec<u32> {
        let mut ids: Vec<u32> = self.begin.into_iter().collect();
        let mut rest = text;
        while let Some((before, id, after)) = self.next_control(rest) {
            ids.extend(self.encode(&self.rearm(before)));
            ids.push(id);
            rest = after;
        }
        ids.extend(self.encode(&self.rearm(rest)));
        if let (Some(begin), [first, second, ..]) = (self.begin, ids.as_slice())
            && *first == begin
            && *second == begin
        {
            // The template has written it too.
            ids.remove(0);
        }
        ids
    }

    /// Encodes text that is nothing but text.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut ids = Vec::new();
        self.split.each(text, |piece| self.merges.encode(piece.as_bytes(), &mut ids));
        ids
    }

    fn next_control<'a>(&self, text: &'a str) -> Option<(&'a str, u32, &'a str)> {
        let found = self.control_pattern.as_ref()?.find(text)?;
        let (_, id) = self.controls.iter().find(|(control, _)| control == found.as_str())?;
        Some((text.get(..found.start())?, *id, text.get(found.end()..)?))
    }

    /// Puts a private character in the place of every control token that a text spells
    /// out, so that the text can go through a template without being taken for one.
    #[must_use]
    pub fn disarm(&self, text: &str) -> String {
        let mut safe: String = text
            .chars()
            .map(|letter| if self.stands_for(letter).is_some() { '\u{fffd}' } else { letter })
            .collect();
        for ((control, _), stand_in) in self.controls.iter().zip(STAND_IN..) {
            if let Some(stand_in) = char::from_u32(stand_in)
                && safe.contains(control.as_str())
            {
                safe = safe.replace(control.as_str(), stand_in.encode_utf8(&mut [0; 4]));
            }
        }
        safe
    }

    fn rearm(&self, text: &str) -> String {
        let mut plain = String::with_capacity(text.len());
        for letter in text.chars() {
            match self.stands_for(letter) {
                Some(control) => plain.push_str(control),
                None => plain.push(letter),
            }
        }
        plain
    }

    fn stands_for(&self, letter: char) -> Option<&str> {
        let at = u32::from(letter).checked_sub(STAND_IN)?;
        self.controls.get(self.index(at)).map(|(text, _)| text.as_str())
    }

    /// The vocabulary as grammars see it.
    pub(crate) fn environment(self: &Arc<Self>) -> TokEnv {
        let words: Vec<Vec<u8>> = (0..)
            .zip(&self.bytes)
            .map(|(id, bytes)| {
                if !self.is_control(id) {
                    return bytes.clone();
                }
                // A control token is no text: the marker keeps grammars from it.
                let mut marked = vec![TokTrie::SPECIAL_TOKEN_MARKER];
                marked.extend_from_slice(bytes.get(..TOKEN_BYTES_MAX - 1).unwrap_or(bytes));
                marked
            })
            .collect();
        let size = u32::try_from(words.len()).unwrap_or(u32::MAX);
        let info = TokRxInfo::new(size, self.ends.first().copied().unwrap_or(0));
        let trie = TokTrie::from(&info, &words).with_eos_tokens(&self.ends);
        Arc::new(Environment { vocabulary: Arc::clone(self), trie })
    }
}

struct Environment {
    vocabulary: Arc<Vocabulary>,
    trie: TokTrie,
}

impl TokenizerEnv for Environment {
    fn tok_trie(&self) -> &TokTrie {
        &self.trie
    }

    fn tokenize_bytes(&self, bytes: &[u8]) -> Vec<u32> {
        self.trie.tokenize_with_greedy_fallback(bytes, |text| self.vocabulary.encode(text))
    }
}

/// Ordinary tokens by their bytes; the first of equals, as the file counts.
fn by_bytes(bytes: &[Vec<u8>], is_control: &[bool]) -> HashMap<Vec<u8>, u32> {
    let mut ids = HashMap::with_capacity(bytes.len());
    for ((id, bytes), is_control) in (0..).zip(bytes).zip(is_control) {
        if !is_control {
            ids.entry(bytes.clone()).or_insert(id);
        }
    }
    ids
}
