//! Which arguments of a call came from untrusted text and from nowhere else.
//!
//! The index remembers, as hashes, the words of every text a run has seen. Before
//! a call that changes something, each argument is looked up: what the user or
//! another trusted text said is fine; a value that only untrusted text has named,
//! in a sentence that asks for something to be done or in a text that is
//! suspicious, goes to a person, with the source named.
//!
//! Records are full of values that belong there (a payee in a list of payments),
//! and tasks are about them; so a value that merely stands in a record is not
//! asked about. What never happens: a value gains trust by looking like a trusted
//! one. Trust compares the bytes, suspicion the canonical copy.
//!
//! Invariants
//! - The index is bounded by [`WORDS_MAX`]; past it, what it does not know about
//!   an address or an identifier counts as forgotten, and is asked about.
//! - It is made from texts alone, so it can be made again from a journal.

mod argument;
mod prose;
#[cfg(test)]
mod tests;
mod word;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use self::argument::{Part, Scalar};
use self::word::{REACH_BACK, Word, words};
use super::suspicion::{decoded, suspicion};
use crate::tool::Touch;

/// Most words and pairs of words that are remembered, of trusted and of
/// untrusted text each: about 20 MiB together.
pub const WORDS_MAX: usize = 1 << 18;
/// Most sources that are told apart; later ones share the last name.
pub const SOURCES_MAX: usize = 4096;
/// Most values one call is asked about; one is enough to ask.
pub const TAINTED_MAX: usize = 16;
/// Longest value that is looked at in disguise, in bytes.
const DISGUISED_MAX: usize = 512;
/// Shortest text, in bytes, that is read out of another notation.
const DECODED_MIN: usize = 8;
/// Longest name of a source and longest value shown, in characters.
const SHOWN_MAX: usize = 120;

/// Does anybody vouch for a text?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// The user, the task, the system, a source the manifest names.
    Trusted,
    /// Everything else: results of tools, pages, files, memories.
    Untrusted,
}

/// Why a value is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Untrusted text named it while asking for something to be done.
    Directed,
    /// It stands in a text that looks like an attack.
    Suspicious,
    /// The index was full: nobody can say any more where it came from.
    Forgotten,
}

/// A value in a call's arguments that no trusted text has named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Tainted {
    /// Where in the arguments, as a JSON pointer; empty for arguments that are no JSON.
    pub pointer: String,
    /// The value, or the part of it.
    pub value: String,
    /// The text it came from, as it was called when seen.
    pub source: String,
    /// Why it is asked about.
    pub reason: Reason,
}

/// What is known of a word of untrusted text.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    directed: Option<u16>,
    suspicious: Option<u16>,
}

/// The words of everything a run has seen.
#[derive(Clone, Debug, Default)]
pub struct Index {
    trusted: BTreeSet<u64>,
    untrusted: BTreeMap<u64, Known>,
    sources: Vec<Box<str>>,
    is_full: bool,
}

impl Index {
    /// An index that has seen nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a text, under the name a person would know its source by.
    pub fn saw(&mut self, source: &str, trust: Trust, text: &str) {
        match trust {
            Trust::Trusted => self.saw_trusted(text),
            Trust::Untrusted => self.saw_untrusted(source, text),
        }
    }

    fn saw_trusted(&mut self, text: &str) {
        let mut before = Vec::new();
        for word in words(text) {
            let forms = forms(&word, |word| word.raw());
            for hash in hashes(&before, &forms) {
                if self.trusted.len() < WORDS_MAX {
                    self.trusted.insert(hash);
                }
            }
            before = forms;
        }
    }

    fn saw_untrusted(&mut self, source: &str, text: &str) {
        let source = self.source(source);
        let is_suspicious = suspicion(text).flagged;
        prose::destinations(text, |word| self.learn(hash(&[word.plain()]), true, is_suspicious, source));
        // Nobody writes data for a model in Base64: what is said in it was meant to be followed.
        decoded(text, DECODED_MIN, |inner| {
            for word in words(&inner.text).filter(|word| argument::is_identifier(word.written)) {
                self.learn(hash(&[word.plain()]), true, is_suspicious, source);
            }
        });
        let mut before = Vec::new();
        // Identifiers of this field that no verb has reached yet, with their distance.
        let mut waiting: VecDeque<(usize, Vec<String>)> = VecDeque::new();
        for (at, word) in words(text).enumerate() {
            let forms = forms(&word, |word| word.plain());
            for hash in hashes(&before, &forms) {
                self.learn(hash, word.is_directed, is_suspicious, source);
            }
            while waiting.front().is_some_and(|(seen, _)| word.is_field || at - seen > REACH_BACK) {
                waiting.pop_front();
            }
            if word.asks {
                for form in waiting.drain(..).flat_map(|(_, forms)| forms) {
                    self.learn(hash(&[form]), true, is_suspicious, source);
                }
            } else if !word.is_directed && argument::is_identifier(word.written) {
                waiting.push_back((at, forms.clone()));
            }
            before = forms;
        }
    }

    fn learn(&mut self, hash: u64, is_directed: bool, is_suspicious: bool, source: u16) {
        if self.untrusted.len() >= WORDS_MAX && !self.untrusted.contains_key(&hash) {
            self.is_full = true;
            return;
        }
        let known = self.untrusted.entry(hash).or_default();
        if is_directed {
            known.directed.get_or_insert(source);
        }
        if is_suspicious {
            known.suspicious.get_or_insert(source);
        }
    }

    fn source(&mut self, name: &str) -> u16 {
        let known = self.sources.iter().position(|source| **source == *name);
        let at = known.unwrap_or_else(|| {
            if self.sources.len() < SOURCES_MAX {
                self.sources.push(shown(name).into());
            }
            self.sources.len().saturating_sub(1)
        });
        u16::try_from(at).unwrap_or(u16::MAX)
    }

    /// The values of a call that a person should see before it runs, none for a
    /// tool that only looks. The arguments are what the model sent.
    #[must_use]
    pub fn judge(&self, touch: Touch, args: &str) -> Vec<Tainted> {
        match touch {
            Touch::Read => Vec::new(),
            Touch::Write | Touch::Exec => self.judge_where(args, |_| true),
        }
    }

    /// The same for the places that matter alone, by their JSON pointers: what stands
    /// elsewhere, however much, hides nothing there.
    #[must_use]
    pub fn judge_where(&self, args: &str, matters: impl Fn(&str) -> bool) -> Vec<Tainted> {
        let mut found = Vec::new();
        argument::each(args, |scalar| {
            if found.len() < TAINTED_MAX && matters(&scalar.pointer()) {
                found.extend(self.scalar(scalar));
            }
        });
        found.truncate(TAINTED_MAX);
        found
    }

    fn scalar(&self, scalar: &Scalar<'_>) -> Vec<Tainted> {
        let tainted = |part: &Part<'_>, (reason, source): (Reason, Option<u16>)| Tainted {
            pointer: scalar.pointer(),
            value: shown(part.written),
            source: source
                .and_then(|at| self.sources.get(usize::from(at)))
                .map_or_else(String::new, |name| name.to_string()),
            reason,
        };
        let mut found: Vec<Tainted> = Vec::new();
        for part in scalar.parts() {
            if found.len() == TAINTED_MAX {
                break;
            }
            let Some(why) = self.part(&part).or_else(|| self.disguised(&part)) else { continue };
            let tainted = tainted(&part, why);
            if found.iter().all(|known| known.value != tainted.value) {
                found.push(tainted);
            }
        }
        found
    }

    fn part(&self, part: &Part<'_>) -> Option<(Reason, Option<u16>)> {
        let trusted = part.words.raw().filter(|hash| self.trusted.contains(hash)).count();
        // A phrase may be completed by a word of the model's own.
        if trusted * 2 > part.words.len() || trusted == part.words.len() {
            return None;
        }
        let known: Vec<Option<Known>> =
            part.words.plain().map(|hash| self.untrusted.get(&hash).copied()).collect();
        let all = |of: fn(&Known) -> Option<u16>| {
            let mut sources = known.iter().map(|known| known.as_ref().and_then(of));
            let first = sources.next().flatten();
            first.filter(|_| sources.all(|source| source.is_some()))
        };
        // First the reason that rests on no judgement about the text.
        if let Some(source) = all(|known| known.directed).filter(|_| part.is_telling) {
            return Some((Reason::Directed, Some(source)));
        }
        if let Some(source) = all(|known| known.suspicious) {
            return Some((Reason::Suspicious, Some(source)));
        }
        let is_lost = self.is_full && part.is_identifier && known.iter().any(Option::is_none);
        is_lost.then_some((Reason::Forgotten, None))
    }
}

impl Index {
    /// A value that untrusted text has named, backwards or encoded.
    fn disguised(&self, part: &Part<'_>) -> Option<(Reason, Option<u16>)> {
        let known = |written: &str| {
            let word = words(written).next().filter(|word| argument::is_identifier(word.written))?;
            let is_ours = self.trusted.contains(&hash(&[word.raw()]));
            self.untrusted.get(&hash(&[word.plain()])).filter(|_| !is_ours).copied()
        };
        let is_ours = part.words.raw().any(|hash| self.trusted.contains(&hash));
        if is_ours || part.words.len() > 1 || part.written.len() > DISGUISED_MAX {
            return None;
        }
        if part.is_identifier && prose::is_destination(part.written) {
            let backwards: String = part.written.chars().rev().collect();
            let is_named =
                words(part.written).any(|word| self.untrusted.contains_key(&hash(&[word.plain()])));
            if let Some(Known { directed, suspicious }) = known(&backwards).filter(|_| !is_named) {
                return Some((Reason::Directed, directed.or(suspicious)));
            }
        }
        let mut found = None;
        decoded(part.written, DECODED_MIN, |inner| {
            let named = words(&inner.text).find_map(|word| known(word.written)?.directed);
            found = found.or(named);
        });
        found.map(|source| (Reason::Directed, Some(source)))
    }
}

/// A word, and what is left of it without a label it is glued to.
fn forms(word: &Word<'_>, form: impl Fn(&Word<'_>) -> String) -> Vec<String> {
    std::iter::once(form(word)).chain(word.unlabelled().map(|rest| form(&rest))).collect()
}

/// Of each form of a word, alone and after each form of the one before.
fn hashes(before: &[String], forms: &[String]) -> Vec<u64> {
    let alone = forms.iter().map(|form| hash(&[form]));
    let pairs = before.iter().flat_map(|before| forms.iter().map(move |form| hash(&[before, form])));
    alone.chain(pairs).collect()
}

/// SipHash: nobody can write a word that shares the hash of a trusted one.
fn hash<W: AsRef<str>>(words: &[W]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for word in words {
        word.as_ref().hash(&mut hasher);
    }
    hasher.finish()
}

fn shown(text: &str) -> String {
    if text.chars().nth(SHOWN_MAX).is_none() {
        return text.into();
    }
    text.chars().take(SHOWN_MAX - 1).chain(['…']).collect()
}
