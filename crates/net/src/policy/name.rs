//! A host name in the one form everything is compared in: lower-case ASCII,
//! without the dot at the end.
//!
//! What reaches this file has been through the URL parser, which did the IDNA
//! mapping. Names that would leave the DNS, or that show a reader other letters
//! than they hold, do not become a [`Name`] or are called local.

use std::fmt;

use unicode_script::{Script, UnicodeScript};

/// A checked host name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Box<str>);

/// Why a text is no host name we would look up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// Longer than DNS allows.
    #[error("the host name is longer than 253 characters, or a part of it than 63")]
    TooLong,
    /// Two dots in a row, or nothing but a dot.
    #[error("the host name has an empty part")]
    EmptyPart,
    /// Something DNS names do not hold.
    #[error("the host name holds a character that no DNS name has")]
    Character,
    /// An `xn--` part that decodes to nothing, or to what IDNA forbids.
    #[error("the host name has a part that is not valid IDNA")]
    Idna,
    /// Letters of scripts that no language writes together.
    #[error("a part of the host name mixes letters of different scripts")]
    MixedScripts,
}

const NAME_MAX: usize = 253;
const LABEL_MAX: usize = 63;

/// Zones that are answered from the machine, the local network or nowhere in
/// the public DNS, whatever a resolver says.
const LOCAL_ZONES: [&str; 8] =
    ["localhost", "local", "localdomain", "internal", "intranet", "lan", "home.arpa", "onion"];

impl Name {
    /// Reads the ASCII host of a parsed URL or pattern. One dot at the end is
    /// the same name, fully qualified.
    pub fn parse(ascii: &str) -> Result<Self, NameFault> {
        let bare = ascii.strip_suffix('.').unwrap_or(ascii);
        if bare.len() > NAME_MAX {
            return Err(NameFault::TooLong);
        }
        bare.split('.').try_for_each(check_label)?;
        if bare.split('.').any(|label| label.starts_with("xn--")) {
            check_scripts(bare)?;
        }
        Ok(Self(bare.into()))
    }

    /// The name, without a dot at the end.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as a resolver must be asked for it: with the dot that keeps
    /// search domains away.
    #[must_use]
    pub fn absolute(&self) -> String {
        format!("{}.", self.0)
    }

    /// True for names that lead to this machine or its network by convention:
    /// single words (search domains) and the zones set aside for local use.
    #[must_use]
    pub fn is_local(&self) -> bool {
        !self.0.contains('.') || LOCAL_ZONES.iter().any(|zone| self.is_within(zone))
    }

    /// True for `localhost` and everything below it, whatever a resolver says.
    #[must_use]
    pub fn is_this_machine(&self) -> bool {
        self.is_within("localhost")
    }

    /// The zones above this name, nearest first.
    pub(super) fn parents(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(self.0.split_once('.'), |(_, rest)| rest.split_once('.')).map(|(_, zone)| zone)
    }

    fn is_within(&self, zone: &str) -> bool {
        self.0.strip_suffix(zone).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn check_label(label: &str) -> Result<(), NameFault> {
    if label.is_empty() {
        return Err(NameFault::EmptyPart);
    }
    if label.len() > LABEL_MAX {
        return Err(NameFault::TooLong);
    }
    // Upper case cannot come from the parser; taken here, it would compare unequal.
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    if !label.bytes().all(plain) || label.starts_with('-') || label.ends_with('-') {
        return Err(NameFault::Character);
    }
    Ok(())
}

/// Every part, as a reader sees it, keeps to scripts that are written together.
fn check_scripts(ascii: &str) -> Result<(), NameFault> {
    let (shown, outcome) = idna::domain_to_unicode(ascii);
    if outcome.is_err() || shown.chars().any(super::lexical::is_invisible) {
        return Err(NameFault::Idna);
    }
    if shown.split('.').all(is_one_script) { Ok(()) } else { Err(NameFault::MixedScripts) }
}

/// One script; or Latin beside Chinese, Japanese or Korean, which mix in daily use.
fn is_one_script(label: &str) -> bool {
    const TOGETHER: [&[Script]; 3] = [
        &[Script::Latin, Script::Han, Script::Hiragana, Script::Katakana],
        &[Script::Latin, Script::Han, Script::Bopomofo],
        &[Script::Latin, Script::Han, Script::Hangul],
    ];
    let scripts = || {
        let letters = label.chars().map(|letter| letter.script());
        letters.filter(|script| !matches!(script, Script::Common | Script::Inherited))
    };
    let first = scripts().next();
    scripts().all(|script| Some(script) == first)
        || TOGETHER.iter().any(|family| scripts().all(|script| family.contains(&script)))
}

#[cfg(test)]
mod tests;
