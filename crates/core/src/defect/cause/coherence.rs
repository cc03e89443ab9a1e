//! Outputs that contradict themselves.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::text::{Sentence, sentences};
use super::{Cause, RootCause, Rule};

/// Two places of a text that cannot both be true.
pub(super) fn of_text(text: &str) -> Option<RootCause> {
    let sentences = sentences(text);
    for (at, one) in sentences.iter().enumerate() {
        for other in sentences.iter().skip(at + 1) {
            if opposite(one.text, other.text) || two_values(one, other) {
                return Some(said_twice(format!("{} / {}", one.text, other.text)));
            }
        }
    }
    miscounted(text)
}

fn said_twice(why: String) -> RootCause {
    RootCause::likely(Cause::CoherenceFailure, Rule::SaysTwoThings, why)
}

/// One of them is the other with a `not`.
fn opposite(one: &str, other: &str) -> bool {
    let split = |text: &str| {
        let words = text
            .split_whitespace()
            .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase());
        let (no, rest): (Vec<_>, Vec<_>) =
            words.partition(|word| ["not", "never", "no"].contains(&word.as_str()));
        (no.len() % 2, rest)
    };
    let ((no_one, one), (no_other, other)) = (split(one), split(other));
    no_one != no_other && one.len() >= 3 && one == other
}

/// The same is said of the same thing, with another number.
fn two_values(one: &Sentence<'_>, other: &Sentence<'_>) -> bool {
    let ([a], [b]) = (one.numbers.as_slice(), other.numbers.as_slice()) else { return false };
    let shared = one.words.intersection(&other.words).count();
    let fewest = one.words.len().min(other.words.len());
    let same_kind = if a.is_year() || b.is_year() { a.is_year() && b.is_year() } else { a.unit == b.unit };
    a.value != b.value && same_kind && shared >= 2 && shared * 2 >= fewest
}

const COUNTS: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// A list that is announced with another number of items than it has.
fn miscounted(text: &str) -> Option<RootCause> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let numbered =
        |line: &str| line.trim_start().split_once(['.', ')']).and_then(|(n, _)| n.parse::<usize>().ok());
    let first = lines.iter().position(|line| numbered(line) == Some(1))?;
    let items = lines
        .get(first..)?
        .iter()
        .filter_map(|line| numbered(line))
        .zip(1..)
        .take_while(|(n, at)| n == at)
        .count();
    let announced = lines.get(first.checked_sub(1)?)?.to_lowercase();
    let known = |word: &str| COUNTS.iter().position(|count| *count == word).map(|at| at + 1);
    let count = announced.split_whitespace().find_map(|word| known(word).or_else(|| word.parse().ok()))?;
    (count != items && items > 1).then(|| said_twice(format!("{} is followed by {items}", announced.trim())))
}

/// Fields of an object that cannot all be true.
pub(super) fn of_json(value: &Value) -> Option<RootCause> {
    let fields = value.as_object()?;
    let lists: Vec<&Vec<Value>> = fields.values().filter_map(Value::as_array).collect();
    if let [list] = lists.as_slice()
        && let Some(why) = wrong_total(fields, list).or_else(|| wrong_count(fields, list))
    {
        return Some(said_twice(why));
    }
    wrong_order(fields).map(said_twice)
}

fn wrong_count(fields: &Map<String, Value>, list: &[Value]) -> Option<String> {
    let is_count = |name: &str| name == "count" || name.ends_with("_count") || name.starts_with("number_of_");
    let (name, count) =
        fields.iter().find_map(|(name, value)| Some((name, value.as_u64()?)).filter(|_| is_count(name)))?;
    let is = u64::try_from(list.len()).unwrap_or(u64::MAX);
    (count != is).then(|| format!("{name} is {count}, and there are {is}"))
}

/// The items have prices, and the total is not their sum.
fn wrong_total(fields: &Map<String, Value>, list: &[Value]) -> Option<String> {
    let total =
        ["total", "sum", "grand_total", "total_amount"].iter().find_map(|name| cents(fields.get(*name)?))?;
    let mut sum = 0_i128;
    for item in list {
        let item = item.as_object()?;
        let price =
            ["price", "amount", "cost", "subtotal"].iter().find_map(|name| cents(item.get(*name)?))?;
        let times = ["quantity", "count"].iter().find_map(|name| item.get(*name)?.as_i64()).unwrap_or(1);
        sum = sum.checked_add(price.checked_mul(times.into())?)?;
    }
    (!list.is_empty() && sum != total)
        .then(|| format!("the items add up to {sum} hundredths, the total is {total}"))
}

fn cents(value: &Value) -> Option<i128> {
    let text = value.as_number()?.to_string();
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let digits: String = part.chars().chain("00".chars()).take(2).collect();
    let sign = if whole.starts_with('-') { -1 } else { 1 };
    Some(whole.parse::<i128>().ok()?.checked_mul(100)? + sign * digits.parse::<i128>().ok()?)
}

/// Something ends before it begins.
fn wrong_order(fields: &Map<String, Value>) -> Option<String> {
    let date = |starts: &[&str]| {
        fields.iter().find_map(|(name, value)| {
            let named = starts.iter().any(|start| name.split('_').next() == Some(start));
            value.as_str().filter(|text| named && is_date(text))
        })
    };
    let (start, end) = (date(&["start", "begin", "from"])?, date(&["end", "until", "to"])?);
    (end < start).then(|| format!("it begins {start} and ends {end}"))
}

/// `2024-06-01`, which sorts as it should.
fn is_date(text: &str) -> bool {
    let kinds: BTreeSet<(usize, char)> =
        text.char_indices().filter(|(_, letter)| !letter.is_ascii_digit()).collect();
    text.len() == 10 && kinds == BTreeSet::from([(4, '-'), (7, '-')])
}
