//! Outputs against their sources.

use std::collections::BTreeSet;

use serde_json::Value;

use super::text::{Number, Sentence, citation, number, sentences};
use super::{Cause, RootCause, Rule, Source, json};

/// Shortest quotation that has to be somewhere, in words.
const QUOTE_WORDS_MIN: usize = 3;

/// Citations, quotations, addresses and figures of a text. Nothing without sources.
pub(super) fn of_text(text: &str, sources: &[Source]) -> Option<RootCause> {
    if sources.is_empty() {
        return None;
    }
    let said: Vec<Vec<Sentence<'_>>> = sources.iter().map(|source| sentences(&source.text)).collect();
    let said: Vec<&Sentence<'_>> = said.iter().flatten().collect();
    let figures: Vec<RootCause> =
        sentences(text).iter().filter_map(|sentence| figure(sentence, &said)).collect();
    let differs = figures.iter().find(|found| found.cause == Cause::FactualError).cloned();
    differs.or_else(|| uncited(text, sources)).or_else(|| figures.into_iter().next())
}

/// A number no source has: the source's own number was changed, or nothing speaks of it.
fn figure(sentence: &Sentence<'_>, said: &[&Sentence<'_>]) -> Option<RootCause> {
    let known: BTreeSet<&str> =
        said.iter().flat_map(|other| &other.numbers).map(|number| number.value.as_str()).collect();
    let strange = sentence.numbers.iter().find(|number| !known.contains(number.value.as_str()))?;
    let shared = |other: &&&Sentence<'_>| sentence.words.intersection(&other.words).count();
    let nearest = said.iter().max_by_key(shared)?;
    let common = shared(&nearest);
    let same_kind = |number: &&Number| number.is_year() == strange.is_year();
    let own = |number: &&Number| sentence.numbers.iter().any(|mine| mine.value == number.value);
    let other = nearest.numbers.iter().filter(same_kind).find(|number| !own(number));
    if common >= 2
        && common * 5 >= sentence.words.len() * 2
        && let Some(other) = other
    {
        let why = format!("{} is {} in the source", strange.value, other.value);
        return Some(RootCause::likely(Cause::FactualError, Rule::DiffersFromSource, why));
    }
    Some(invented(&strange.value))
}

fn invented(what: &str) -> RootCause {
    RootCause::likely(Cause::Hallucination, Rule::InNoSource, format!("no source has {what}"))
}

/// Citations of nothing, quotations of nobody, addresses of nowhere.
fn uncited(text: &str, sources: &[Source]) -> Option<RootCause> {
    let cited = text.split_whitespace().filter_map(citation);
    if let Some(id) = cited.into_iter().find(|id| sources.iter().all(|source| source.id != *id)) {
        return Some(RootCause::sure(
            Cause::Hallucination,
            Rule::InNoSource,
            format!("there is no source {id}"),
        ));
    }
    let known: Vec<String> = sources.iter().map(|source| flat(&source.text)).collect();
    let unknown = |part: &str| known.iter().all(|text| !text.contains(&flat(part)));
    let quotes = text.split(['"', '“', '”']).skip(1).step_by(2);
    let long = |quote: &&str| quote.split_whitespace().count() >= QUOTE_WORDS_MIN;
    if let Some(quote) = quotes.filter(long).find(|quote| unknown(quote)) {
        return Some(invented(quote));
    }
    text.split_whitespace()
        .filter(|token| is_address(token))
        .find(|token| unknown(address(token)))
        .map(invented)
}

fn is_address(token: &str) -> bool {
    token.contains("://") || (token.contains('@') && token.contains('.'))
}

fn address(token: &str) -> &str {
    token.trim_matches(|letter: char| !letter.is_alphanumeric())
}

/// Small letters, single blanks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Fields of an object whose values no source has. Nothing without sources.
pub(super) fn of_json(value: &Value, sources: &[Source]) -> Option<RootCause> {
    if sources.is_empty() {
        return None;
    }
    let texts: Vec<String> = sources.iter().map(|source| flat(&source.text)).collect();
    let tokens = || texts.iter().flat_map(|text| text.split_whitespace());
    let numbers: BTreeSet<String> = tokens().filter_map(number).collect();
    let words: BTreeSet<String> = tokens().map(|token| address(token).to_owned()).collect();
    let mut strange = None;
    for (name, leaf) in json::leaves(value) {
        let checkable = leaf.contains(|letter: char| letter.is_ascii_digit()) || is_address(&leaf);
        let known = texts.iter().any(|text| text.contains(&flat(&leaf)));
        if !checkable || known || number(&leaf).is_some_and(|number| numbers.contains(&number)) {
            continue;
        }
        let named = json::words(&name);
        // A source that speaks of this field by its name has another value for it.
        if !named.is_empty() && named.iter().all(|word| words.contains(word)) {
            let why = format!("{name} is {leaf}, and no source says so");
            return Some(RootCause::likely(Cause::FactualError, Rule::DiffersFromSource, why));
        }
        strange = strange.or_else(|| Some(invented(&format!("{name} {leaf}"))));
    }
    strange
}
