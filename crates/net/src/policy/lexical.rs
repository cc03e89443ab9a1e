//! The gate in front of the URL parser: refuses texts that different parsers
//! read differently, before any of them has repaired anything.
//!
//! It cuts the text at its scheme, authority, host and port the way RFC 3986
//! does, so the caller can compare what was written with what the parser made
//! of it. Nothing here decides who may be reached.

/// Longest URL that is read at all.
pub const URL_MAX: usize = 8 * 1024;

/// Why a text is not read as a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Absurdly long.
    #[error("the URL is longer than {URL_MAX} bytes")]
    TooLong,
    /// Space, tab, line break, control character or backslash.
    #[error("the URL holds white space, a control character or a backslash")]
    Character,
    /// No `http://` or the like in front.
    #[error("the URL names no scheme")]
    NoScheme,
    /// Not exactly two slashes behind the scheme.
    #[error("the scheme is not followed by exactly two slashes")]
    Slashes,
    /// Nothing between the slashes and the path.
    #[error("the URL names no host")]
    NoHost,
    /// Something before an `@`.
    #[error("the URL holds a user name or an @ before the host")]
    UserInfo,
    /// `%` in the host.
    #[error("the host is percent-encoded")]
    EncodedHost,
    /// Letters that cannot be seen, or that two IDNA rules map differently.
    #[error("the host holds a letter that is invisible or that parsers map differently")]
    AmbiguousLetter,
    /// Not a plain decimal number up to 65535.
    #[error("the port is not a plain number")]
    Port,
    /// An IPv4 address in other than four plain decimal numbers.
    #[error("the host is an IPv4 address in disguise; write it as four decimal numbers")]
    DisguisedAddress,
    /// What the parser said.
    #[error("the URL cannot be parsed: {0}")]
    Parser(#[from] url::ParseError),
    /// The host is no name we would look up.
    #[error(transparent)]
    Name(#[from] super::name::NameFault),
}

/// A URL, cut but not yet parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written<'a> {
    /// As written, in any case.
    pub(super) scheme: &'a str,
    rest: &'a str,
}

/// Host and port as they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Authority<'a> {
    pub(super) host: &'a str,
    pub(super) port: &'a str,
}

/// Checks the characters and cuts off the scheme.
pub(super) fn read(raw: &str) -> Result<Written<'_>, Malformed> {
    check_characters(raw)?;
    let (scheme, rest) = split_scheme(raw).ok_or(Malformed::NoScheme)?;
    Ok(Written { scheme, rest })
}

/// Characters that no part of a URL may hold, and its length.
pub(super) fn check_characters(raw: &str) -> Result<(), Malformed> {
    if raw.len() > URL_MAX {
        return Err(Malformed::TooLong);
    }
    let bad = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if raw.contains(bad) { Err(Malformed::Character) } else { Ok(()) }
}

/// The scheme and what follows its colon, when there is one.
pub(super) fn split_scheme(raw: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = raw.split_once(':')?;
    let starts = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let plain = scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c));
    (starts && plain).then_some((scheme, rest))
}

impl<'a> Written<'a> {
    /// Cuts host and port out. Only for schemes with an authority.
    pub(super) fn authority(&self) -> Result<Authority<'a>, Malformed> {
        let after = self.rest.strip_prefix("//").ok_or(Malformed::Slashes)?;
        if after.starts_with('/') {
            return Err(Malformed::Slashes);
        }
        let end = after.find(['/', '?', '#']).unwrap_or(after.len());
        let authority = after.get(..end).unwrap_or_default();
        if authority.contains('@') {
            return Err(Malformed::UserInfo);
        }
        if authority.chars().any(|c| is_invisible(c) || is_mapped_by_some(c)) {
            return Err(Malformed::AmbiguousLetter);
        }
        let (host, port) = split_port(authority)?;
        if host.is_empty() {
            return Err(Malformed::NoHost);
        }
        // A hexadecimal number without digits: zero to some parsers, a name to others.
        if host.rsplit('.').next().is_some_and(|last| last.eq_ignore_ascii_case("0x")) {
            return Err(Malformed::DisguisedAddress);
        }
        // An empty port is the default one everywhere; a leading zero is octal to some.
        let plain = port.bytes().all(|b| b.is_ascii_digit()) && port.len() <= 5;
        if !plain || (port.len() > 1 && port.starts_with('0')) {
            return Err(Malformed::Port);
        }
        Ok(Authority { host, port })
    }
}

fn split_port(authority: &str) -> Result<(&str, &str), Malformed> {
    let split = if authority.starts_with('[') {
        let end = authority.find(']').ok_or(Malformed::Parser(url::ParseError::InvalidIpv6Address))?;
        authority.split_at_checked(end + 1)
    } else {
        authority.find(':').and_then(|colon| authority.split_at_checked(colon))
    };
    let (host, tail) = split.unwrap_or((authority, ""));
    match tail.strip_prefix(':') {
        Some(port) => Ok((host, port)),
        None if tail.is_empty() => Ok((host, "")),
        None => Err(Malformed::Port),
    }
}

/// Letters without a shape of their own (Unicode calls them default-ignorable).
/// IDNA drops most of them, so a name with one in it is another name to see.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}')
}

/// Letters that IDNA 2003 replaces and IDNA 2008 keeps: two names from one text.
fn is_mapped_by_some(c: char) -> bool {
    matches!(c, 'ß' | 'ẞ' | 'ς')
}

#[cfg(test)]
mod tests;
