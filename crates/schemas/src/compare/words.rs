//! Words that bound a value, and words that say what it means.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use super::{Walk, What};

/// Told to people only.
const REMARKS: [&str; 12] = [
    "title",
    "description",
    "examples",
    "$comment",
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "deprecated",
    "readOnly",
    "writeOnly",
    super::super::published::WORD,
];
/// Judged where they have a place of their own.
const ELSEWHERE: [&str; 12] = [
    "patternProperties",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "unevaluatedProperties",
    "items",
    "prefixItems",
    "oneOf",
    "anyOf",
    "enum",
    "$ref",
];
/// A greater one allows less; none at all allows everything.
const LEAST: [&str; 5] = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
/// A greater one allows more; none at all allows everything.
const MOST: [&str; 5] = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];

impl Walk<'_> {
    /// Every word that is not judged elsewhere.
    pub(super) fn words(&mut self, at: &str, old: &Map<String, Value>, new: &Map<String, Value>) {
        let mut words: Vec<&String> = old.keys().chain(new.keys()).collect();
        words.sort();
        words.dedup();
        for word in words {
            if REMARKS.contains(&word.as_str()) || ELSEWHERE.contains(&word.as_str()) {
                continue;
            }
            let (was, is) = (old.get(word), new.get(word));
            if LEAST.contains(&word.as_str()) {
                self.range(at, word, bound(was, is));
            } else if MOST.contains(&word.as_str()) {
                self.range(at, word, bound(was, is).reverse());
            } else if was != is {
                self.changed(at, word, was, is);
            }
        }
    }

    /// `Less`: it allows more than before.
    pub(super) fn range(&mut self, at: &str, word: &str, order: Ordering) {
        match order {
            Ordering::Less if !self.direction.may_widen() => self.tell(at, What::Wider(word.into())),
            Ordering::Greater if !self.direction.may_narrow() => self.tell(at, What::Narrower(word.into())),
            _ => {}
        }
    }

    /// A word that is there or not, or is another one.
    fn changed(&mut self, at: &str, word: &str, was: Option<&Value>, is: Option<&Value>) {
        let only_bounds = matches!(word, "pattern" | "uniqueItems" | "propertyNames" | "multipleOf");
        match (was, is) {
            (None, Some(_)) if only_bounds => self.range(at, word, Ordering::Greater),
            (Some(_), None) if only_bounds => self.range(at, word, Ordering::Less),
            _ => self.tell(at, What::Meaning(word.into())),
        }
    }
}

/// How the new least value stands to the old one.
fn bound(was: Option<&Value>, is: Option<&Value>) -> Ordering {
    match (was.and_then(exact), is.and_then(exact)) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(was), Some(is)) => is.partial_cmp(&was).unwrap_or(Ordering::Equal),
    }
}

/// A number that keeps the differences that whole numbers of 64 bits have.
fn exact(value: &Value) -> Option<Number> {
    let whole = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    whole.map(Number::Whole).or_else(|| value.as_f64().map(Number::Broken))
}

#[derive(Clone, Copy, PartialEq)]
enum Number {
    Whole(i128),
    Broken(f64),
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        #[expect(clippy::cast_precision_loss, reason = "beside a fraction nothing more exact can be said")]
        let float = |number: &Self| match number {
            Self::Whole(whole) => *whole as f64,
            Self::Broken(broken) => *broken,
        };
        match (self, other) {
            (Self::Whole(one), Self::Whole(two)) => Some(one.cmp(two)),
            _ => float(self).partial_cmp(&float(other)),
        }
    }
}
