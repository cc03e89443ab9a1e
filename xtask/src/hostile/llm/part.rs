//! Parts of a body: what they are, and the bytes, pauses and endings they stand for.
//!
//! Nothing is held whole: a body of 200 MB goes out in pieces.

use anyhow::{Result, bail, ensure};
use serde::Deserialize;

/// Longest piece that goes out at once.
pub(crate) const PIECE: usize = 65_536;
/// What is repeated is held once where it is shorter than this.
const HELD: u64 = 1 << 20;

/// A part of a body.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) enum Part {
    Data { bytes: Data, every_byte: bool },
    Seq(Vec<Part>, Times),
    SleepMs(u64),
    Ending(Ending),
}

/// Bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Data {
    Plain(Vec<u8>, u64),
    Nth,
    Join(Vec<Data>, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    Of(u64),
    Forever,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    End,
    Close,
    Reset,
    Hang,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Repeat {
    Count(u64),
    Word(String),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    text: Option<String>,
    base64: Option<String>,
    join: Option<Vec<Part>>,
    nth: Option<bool>,
    seq: Option<Vec<Part>>,
    sleep_ms: Option<u64>,
    end: Option<bool>,
    close: Option<bool>,
    reset: Option<bool>,
    hang: Option<bool>,
    repeat: Option<Repeat>,
    every_byte: Option<bool>,
}

impl TryFrom<Written> for Part {
    type Error = anyhow::Error;

    fn try_from(written: Written) -> Result<Self> {
        let Written { text, base64, join, nth, seq, sleep_ms, end, close, reset, hang, repeat, every_byte } =
            written;
        ensure!(every_byte != Some(false), "every_byte is true");
        let every_byte = every_byte.is_some();
        let endings =
            [(end, Ending::End), (close, Ending::Close), (reset, Ending::Reset), (hang, Ending::Hang)];
        let kinds = [text.is_some(), base64.is_some(), join.is_some(), nth.is_some(), seq.is_some()];
        let ends = endings.iter().filter(|(told, _)| told.is_some()).count();
        let count = kinds.iter().filter(|is| **is).count() + usize::from(sleep_ms.is_some()) + ends;
        ensure!(count == 1, "a part has one kind, not {count}");
        let times = match repeat {
            None => Times::Of(1),
            Some(Repeat::Count(count)) => Times::Of(count),
            Some(Repeat::Word(word)) if word == "forever" && seq.is_some() => Times::Forever,
            Some(Repeat::Word(word)) => bail!("repeat {word:?}"),
        };
        let once = matches!(times, Times::Of(1));
        let Times::Of(number) = times else {
            ensure!(!every_byte, "every_byte is for bytes");
            return Ok(Self::Seq(seq.unwrap_or_default(), times));
        };
        let data = match (text, base64, join) {
            (Some(text), _, _) => Some(Data::Plain(text.into_bytes(), number)),
            (_, Some(text), _) => Some(Data::Plain(decode(&text)?, number)),
            (_, _, Some(parts)) => Some(Data::Join(joined(parts)?, number)),
            (None, None, None) => None,
        };
        if let Some(bytes) = data {
            return Ok(Self::Data { bytes, every_byte });
        }
        ensure!(!every_byte, "every_byte is for bytes");
        if let Some(parts) = seq {
            ensure!(!parts.is_empty() && parts.iter().all(|part| !matches!(part, Self::Ending(_))), "seq");
            return Ok(Self::Seq(parts, times));
        }
        ensure!(once, "repeat is for bytes and seq");
        if let Some(told) = nth {
            ensure!(told, "nth is true");
            return Ok(Self::Data { bytes: Data::Nth, every_byte: false });
        }
        if let Some(ms) = sleep_ms {
            return Ok(Self::SleepMs(ms));
        }
        let ending = endings.iter().find(|(told, _)| *told == Some(true));
        ending.map_or_else(|| bail!("an ending is true"), |(_, ending)| Ok(Self::Ending(*ending)))
    }
}

fn joined(parts: Vec<Part>) -> Result<Vec<Data>> {
    ensure!(!parts.is_empty(), "join is a list");
    let data = parts.into_iter().map(|part| match part {
        Part::Data { bytes, every_byte: false } => Ok(bytes),
        _ => bail!("only bytes in a join"),
    });
    data.collect()
}

fn decode(text: &str) -> Result<Vec<u8>> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    ensure!(text.len().is_multiple_of(4), "base64 has a length of fours");
    let (mut out, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let Some(value) = LETTERS.iter().position(|known| *known == letter) else { bail!("no base64") };
        held = (held << 6) | u32::try_from(value)?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from((held >> bits) & 0xff)?);
        }
    }
    Ok(out)
}

impl Part {
    /// Whether these may stand there; an ending is the last of a body.
    pub(crate) fn check_all(parts: &[Self], endings: bool) -> Result<()> {
        let last = parts.len().saturating_sub(1);
        for (at, part) in parts.iter().enumerate() {
            ensure!(
                !matches!(part, Self::Ending(_)) || (endings && at == last),
                "an ending is the last part of a body"
            );
        }
        Ok(())
    }

    /// Only bytes.
    pub(crate) fn check_bytes(parts: &[Self]) -> Result<()> {
        let only = parts.iter().all(|part| matches!(part, Self::Data { every_byte: false, .. }));
        ensure!(only, "only bytes here");
        Ok(())
    }

    pub(crate) fn is_endless(&self) -> bool {
        match self {
            Self::Seq(parts, times) => *times == Times::Forever || parts.iter().any(Self::is_endless),
            Self::Data { .. } | Self::SleepMs(_) | Self::Ending(_) => false,
        }
    }

    /// How many bytes it stands for.
    pub(crate) fn size(&self, nth: usize) -> u64 {
        match self {
            Self::Data { bytes, .. } => bytes.size(nth),
            Self::Seq(parts, Times::Of(times)) => {
                parts.iter().map(|part| part.size(nth)).sum::<u64>() * times
            }
            Self::Seq(_, Times::Forever) => u64::MAX,
            Self::SleepMs(_) | Self::Ending(_) => 0,
        }
    }
}

impl Data {
    fn size(&self, nth: usize) -> u64 {
        match self {
            Self::Plain(bytes, times) => bytes.len() as u64 * times,
            Self::Nth => nth.to_string().len() as u64,
            Self::Join(inner, times) => inner.iter().map(|data| data.size(nth)).sum::<u64>() * times,
        }
    }

    /// As runs of bytes, each so many times.
    fn runs(&self, nth: usize, out: &mut Vec<(Vec<u8>, u64)>) {
        match self {
            Self::Plain(bytes, times) => out.push((bytes.clone(), *times)),
            Self::Nth => out.push((nth.to_string().into_bytes(), 1)),
            Self::Join(inner, times) => {
                let mut once = Vec::new();
                inner.iter().for_each(|data| data.runs(nth, &mut once));
                if once.iter().map(|(bytes, times)| bytes.len() as u64 * times).sum::<u64>() <= HELD {
                    let flat = once.iter().flat_map(|(bytes, times)| bytes.repeat(*times as usize));
                    out.push((flat.collect(), *times));
                } else {
                    (0..*times).for_each(|_| out.extend(once.iter().cloned()));
                }
            }
        }
    }

    /// All of it, for what is held anyway.
    pub(crate) fn bytes(&self, nth: usize) -> Vec<u8> {
        Blocks::new(self, nth).flatten().collect()
    }
}

/// What the server does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Send(Vec<u8>),
    SleepMs(u64),
    Ending(Ending),
}

/// The bytes of a part in pieces.
struct Blocks {
    runs: std::collections::VecDeque<(Vec<u8>, u64)>,
    held: Vec<u8>,
}

impl Blocks {
    fn new(data: &Data, nth: usize) -> Self {
        let mut runs = Vec::new();
        data.runs(nth, &mut runs);
        runs.retain(|(bytes, times)| !bytes.is_empty() && *times > 0);
        Self { runs: runs.into(), held: Vec::new() }
    }
}

impl Iterator for Blocks {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        while self.held.len() < PIECE {
            let Some((bytes, times)) = self.runs.front_mut() else { break };
            let some = (*times).min((PIECE / bytes.len()).max(1) as u64);
            self.held.extend_from_slice(&bytes.repeat(some as usize));
            *times -= some;
            if *times == 0 {
                self.runs.pop_front();
            }
        }
        let rest = self.held.split_off(self.held.len().min(PIECE));
        let piece = std::mem::replace(&mut self.held, rest);
        (!piece.is_empty()).then_some(piece)
    }
}

/// Parts as actions, one at a time.
pub(crate) struct Actions<'a> {
    nth: usize,
    stack: Vec<Level<'a>>,
}

enum Level<'a> {
    Parts { parts: &'a [Part], at: usize, left: Times },
    Blocks(Blocks),
    Bytes(Blocks, std::vec::IntoIter<u8>),
}

impl<'a> Actions<'a> {
    pub(crate) fn new(parts: &'a [Part], nth: usize) -> Self {
        Self { nth, stack: vec![Level::Parts { parts, at: 0, left: Times::Of(1) }] }
    }

    fn begin(&mut self, part: &'a Part) -> Option<Action> {
        match part {
            Part::Data { bytes, every_byte: false } => {
                self.stack.push(Level::Blocks(Blocks::new(bytes, self.nth)));
            }
            Part::Data { bytes, every_byte: true } => {
                self.stack.push(Level::Bytes(Blocks::new(bytes, self.nth), Vec::new().into_iter()));
            }
            Part::Seq(parts, left) => self.stack.push(Level::Parts { parts, at: 0, left: *left }),
            Part::SleepMs(ms) => return Some(Action::SleepMs(*ms)),
            Part::Ending(ending) => return Some(Action::Ending(*ending)),
        }
        None
    }
}

impl Iterator for Actions<'_> {
    type Item = Action;

    fn next(&mut self) -> Option<Action> {
        loop {
            let part = match self.stack.last_mut()? {
                Level::Parts { left: Times::Of(0), .. } => None,
                Level::Parts { parts, at, left } => match parts.get(*at) {
                    Some(part) => {
                        *at += 1;
                        Some(part)
                    }
                    None => {
                        *at = 0;
                        if let Times::Of(times) = left {
                            *times -= 1;
                        }
                        continue;
                    }
                },
                Level::Blocks(blocks) => match blocks.next() {
                    Some(piece) => return Some(Action::Send(piece)),
                    None => None,
                },
                Level::Bytes(blocks, bytes) => match bytes.next() {
                    Some(byte) => return Some(Action::Send(vec![byte])),
                    None => match blocks.next() {
                        Some(piece) => {
                            *bytes = piece.into_iter();
                            continue;
                        }
                        None => None,
                    },
                },
            };
            match part {
                Some(part) => {
                    if let Some(action) = self.begin(part) {
                        return Some(action);
                    }
                }
                None => drop(self.stack.pop()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str) -> Part {
        serde_json::from_str(text).unwrap()
    }

    fn sent(text: &str) -> Vec<Action> {
        Actions::new(&[part(text)], 7).take(50).collect()
    }

    fn send(text: &str) -> Action {
        Action::Send(text.as_bytes().to_vec())
    }

    #[test]
    fn every_kind_of_part_is_what_the_form_says() {
        assert_eq!(sent(r#"{"text": "ab", "repeat": 2}"#), [send("abab")]);
        assert_eq!(sent(r#"{"base64": "aGk="}"#), [send("hi")]);
        assert_eq!(sent(r#"{"nth": true}"#), [send("7")]);
        let join = r#"{"join": [{"text": "n"}, {"nth": true}], "repeat": 2}"#;
        assert_eq!(sent(join), [send("n7n7")]);
        let each = r#"{"join": [{"text": "n"}, {"nth": true}], "every_byte": true}"#;
        assert_eq!(sent(each), [send("n"), send("7")]);
        let seq = r#"{"seq": [{"text": "a"}, {"sleep_ms": 5}], "repeat": 2}"#;
        let pause = Action::SleepMs(5);
        assert_eq!(sent(seq), [send("a"), pause.clone(), send("a"), pause]);
        assert_eq!(sent(r#"{"seq": [{"text": "a"}], "repeat": "forever"}"#).len(), 50);
        assert_eq!(sent(r#"{"text": "a", "repeat": 0}"#), []);
        for (word, ending) in [("end", Ending::End), ("close", Ending::Close), ("reset", Ending::Reset)] {
            assert_eq!(sent(&format!("{{\"{word}\": true}}")), [Action::Ending(ending)]);
        }
    }

    #[test]
    fn what_is_long_goes_out_in_pieces() {
        let sizes: Vec<usize> = sent(r#"{"text": "abc", "repeat": 50000}"#)
            .iter()
            .map(|action| if let Action::Send(bytes) = action { bytes.len() } else { 0 })
            .collect();
        assert_eq!(sizes, [PIECE, PIECE, 150_000 - 2 * PIECE]);
        assert_eq!(part(r#"{"text": "abc", "repeat": 50000}"#).size(1), 150_000);
    }

    #[test]
    fn what_is_not_of_the_form_is_an_error() {
        for bad in [
            r#"{"text": "a", "nth": true}"#,
            r#"{"text": "a", "often": 2}"#,
            r#"{"text": "a", "repeat": "forever"}"#,
            r#"{"nth": true, "repeat": 2}"#,
            r#"{"join": [{"sleep_ms": 1}]}"#,
            r#"{"join": [{"text": "a", "every_byte": true}]}"#,
            r#"{"seq": [{"hang": true}]}"#,
            r#"{"hang": false}"#,
            r#"{"base64": "a"}"#,
            r#"{}"#,
        ] {
            assert!(serde_json::from_str::<Part>(bad).is_err(), "{bad}");
        }
    }
}
