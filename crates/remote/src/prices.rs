//! The price list that is shipped: what models cost at their own providers, as of a date.
//!
//! It is a help, not an authority: a task's own price counts before it, and a model that
//! is not in it has no price here, which is not the same as none.

use std::sync::OnceLock;

use bowline_core::budget::Price;
use bowline_core::task::Format;
use serde::Deserialize;

const FILE: &str = include_str!("prices.json");

/// Micro-dollars of a dollar.
const MICROS: f64 = 1_000_000.0;

/// The whole list.
#[derive(Debug, Deserialize)]
pub struct Listing {
    /// The day it was made, as year-month-day.
    pub as_of: String,
    /// Where its figures come from.
    pub source: String,
    models: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    provider: String,
    name: String,
    input: f64,
    cached: f64,
    output: f64,
}

/// A model of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What it costs.
    pub price: Price,
    /// As of which day.
    pub as_of: &'static str,
}

/// The list; empty if the file of this build cannot be read, which a test rules out.
pub fn listing() -> &'static Listing {
    static LISTING: OnceLock<Listing> = OnceLock::new();
    LISTING.get_or_init(|| {
        let none = |_| Listing { as_of: String::new(), source: String::new(), models: Vec::new() };
        serde_json::from_str(FILE).unwrap_or_else(none)
    })
}

/// What a model costs at the format's own provider. A name with a date at its end is the
/// model without it.
#[must_use]
pub fn listed(format: Format, name: &str) -> Option<Listed> {
    let provider = match format {
        Format::Openai | Format::OpenaiResponses => "openai",
        Format::Anthropic => "anthropic",
        Format::Gemini => "gemini",
        Format::Ollama => return None,
    };
    let listing = listing();
    let name = undated(name);
    let row = listing.models.iter().find(|row| row.provider == provider && row.name == name)?;
    let price = Price {
        input: micros(row.input)?,
        output: micros(row.output)?,
        cached: Some(micros(row.cached)?),
        reasoning: None,
    };
    Some(Listed { price, as_of: &listing.as_of })
}

/// `gpt-5-2026-04-01`, `claude-sonnet-4-5-20250929` and `gpt-5-latest` without their ends.
fn undated(name: &str) -> &str {
    if let Some(plain) = name.strip_suffix("-latest") {
        return plain;
    }
    let is_date = |end: &str| end.starts_with("20") && end.bytes().filter(u8::is_ascii_digit).count() == 8;
    let is_made_of = |end: &str| end.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let cut = |len: usize| {
        let at = name.len().checked_sub(len)?;
        let (plain, end) = (name.get(..at)?, name.get(at..)?);
        let end = end.strip_prefix('-')?;
        (is_date(end) && is_made_of(end)).then_some(plain)
    };
    cut(9).or_else(|| cut(11)).unwrap_or(name)
}

/// Dollars as micro-dollars, rounded up.
fn micros(dollars: f64) -> Option<u64> {
    let sound = dollars.is_finite() && (0.0..1_000_000.0).contains(&dollars);
    // A price of the list has few decimals: this removes what binary fractions add.
    sound.then(|| format!("{:.0}", (dollars * MICROS).round()).parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_dated_and_every_row_is_a_price() {
        let listing = listing();
        assert_eq!(listing.as_of.len(), 10);
        assert!(listing.models.len() > 30 && !listing.source.is_empty());
        for row in &listing.models {
            let format = Format::ALL.into_iter().find(|format| format.word() == row.provider).unwrap();
            let price = listed(format, &row.name).unwrap().price;
            assert!(price.input > 0 && price.output > price.input, "{}", row.name);
            assert!(price.cached.unwrap() < price.input, "{}", row.name);
        }
    }

    #[test]
    fn a_price_is_exact_and_a_dated_name_is_the_model() {
        let price = listed(Format::Openai, "gpt-5").unwrap().price;
        assert_eq!((price.input, price.cached, price.output), (1_250_000, Some(125_000), 10_000_000));
        for name in ["gpt-5-2026-04-01", "gpt-5-latest"] {
            assert_eq!(listed(Format::OpenaiResponses, name).unwrap().price, price, "{name}");
        }
        assert!(listed(Format::Anthropic, "claude-sonnet-4-5-20250929").is_some());
        for name in ["gpt-5-pro", "gpt-55", "gpt-5-12345678", "claude-sonnet-4-5"] {
            assert_eq!(listed(Format::Openai, name), None, "{name}");
        }
    }
}
