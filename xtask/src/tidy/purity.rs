//! `crates/core/src` does nothing but compute: no waiting, no files, no clock,
//! no chance, no environment, no logging, in its tests neither.

use super::RustFile;
use crate::offence::Offence;
use crate::source::{self, Token};

const CORE: &str = "crates/core/src/";
const KEYWORDS: [&str; 2] = ["async", "await"];
const CRATES: [&str; 6] = ["tokio", "futures", "rand", "getrandom", "log", "tracing"];
const STD_MODULES: [&str; 5] = ["fs", "env", "net", "process", "thread"];
const CLOCKS: [&str; 2] = ["SystemTime", "Instant"];

/// Finds what reaches out of core.
pub(super) fn check(files: &[RustFile<'_>]) -> Vec<Offence> {
    files.iter().filter(|rust| rust.file.path.starts_with(CORE)).flat_map(impure).collect()
}

fn impure(rust: &RustFile<'_>) -> Vec<Offence> {
    let offence = |line: usize, what: &str| {
        let message =
            format!("`{what}` in core: what happened arrives as an input, what is wanted is an effect");
        Offence::new("purity", &rust.file.path, message).at(line)
    };
    let keywords = rust.source.tokens.iter().filter(|(_, token)| KEYWORDS.iter().any(|word| token.is(word)));
    let mut offences: Vec<Offence> =
        keywords.map(|(line, token)| offence(*line, token.word().unwrap_or_default())).collect();
    let paths = source::paths(&rust.source);
    offences.extend(
        paths
            .iter()
            .filter(|(_, path)| reaches_out(path))
            .map(|(line, path)| offence(*line, &path.join("::"))),
    );
    offences.extend(whole_crates(rust).map(|(line, name)| offence(line, name)));
    offences
}

fn reaches_out(path: &[String]) -> bool {
    let at = |place: usize| path.get(place).map(String::as_str);
    let foreign = path.len() > 1 && at(0).is_some_and(|root| CRATES.contains(&root));
    let std = at(0) == Some("std") && at(1).is_some_and(|module| STD_MODULES.contains(&module));
    foreign || std || path.iter().any(|part| CLOCKS.contains(&part.as_str()))
}

/// `use log;` and `extern crate log`: a single word that is no field or local.
fn whole_crates<'a>(rust: &'a RustFile<'_>) -> impl Iterator<Item = (usize, &'a str)> {
    let tokens = &rust.source.tokens;
    tokens.iter().zip(tokens.iter().skip(1)).enumerate().filter_map(|(at, ((_, before), (line, token)))| {
        let named = before.is("use") || before.is("crate");
        let whole = rust.source.token(at + 2).is_some_and(|next| next.is_mark(';') || next.is("as"));
        let word = Token::word(token)?;
        (named && whole && CRATES.contains(&word)).then_some((*line, word))
    })
}
