//! What a call is booked as: the larger of what the server counts and what it must have
//! been at the least (ADR 0031).
//!
//! Nothing here believes a count that cannot be true: no input at all, no output for a
//! long answer, more cached than was ever sent, thinking that is larger than all that was
//! written. A count that is too large is believed: a limit that ends a run too early can
//! be raised, money that was spent cannot be had back.

use bowline_core::budget::Price;
use bowline_core::message::{Claim, Usage};

use crate::known::Unheard;
use crate::least::Least;

/// Bytes of text a token stands for, cautiously, where a server does not count.
const BYTES_A_TOKEN: u64 = 3;

/// Tokens as the server counts them; cached is part of input, reasoning of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) cached: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    /// Input and output, where that is told besides.
    pub(crate) total: Option<u64>,
}

impl Tally {
    /// Counts rise while an answer comes: the largest that was told counts.
    pub(crate) fn update(&mut self, later: Self) {
        self.input = self.input.max(later.input);
        self.output = self.output.max(later.output);
        self.cached = self.cached.max(later.cached);
        self.reasoning = self.reasoning.max(later.reasoning);
        self.total = self.total.max(later.total);
    }

    fn claim(&self) -> Claim {
        Claim { input: self.input, output: self.output, cached: self.cached, reasoning: self.reasoning }
    }
}

/// What went over the wire, by our own measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    /// Bytes of the request.
    pub(crate) sent_bytes: usize,
    /// Tokens of what it says, at the least.
    pub(crate) sent_least: u64,
    /// The part of it that no cache can hold.
    pub(crate) unheard: Unheard,
    /// Bytes of what was answered.
    pub(crate) said_bytes: usize,
    /// What was answered.
    pub(crate) said: Least,
    /// What was told of the thinking before it.
    pub(crate) thought: Least,
}

/// What is booked, and what the server said where that is something else.
pub(crate) fn booked(tally: &Tally, measured: &Measured, price: &Price) -> (Usage, Option<Claim>) {
    let claim = tally.claim();
    let (mut input, mut output) = (claim.input.unwrap_or(0), claim.output.unwrap_or(0));
    // Whoever counts these apart says so by a part that is larger than the whole.
    let (cached, reasoning) = (claim.cached.unwrap_or(0), claim.reasoning.unwrap_or(0));
    if cached > input {
        input = input.saturating_add(cached);
    }
    if reasoning > output {
        output = output.saturating_add(reasoning);
    }
    if input > 0 {
        output = output.max(tally.total.unwrap_or(0).saturating_sub(input));
    }
    let said_least = measured.said.tokens();
    // Nobody is asked nothing: who counts no input does not count.
    input = if input == 0 { cautious(measured.sent_bytes) } else { input.max(measured.sent_least) };
    output = match output {
        0 if claim.output.is_none() || said_least > 0 => cautious(measured.said_bytes),
        counted => counted.max(said_least.saturating_add(measured.thought.tokens())),
    };
    let usage = Usage {
        input,
        output,
        cached: believed(cached, input, price.cached.is_some_and(|cached| cached < price.input), measured),
        reasoning: match price.reasoning {
            Some(cheap) if cheap < price.output => reasoning.min(output.saturating_sub(said_least)),
            Some(_) | None => reasoning.min(output),
        },
    };
    let same = claim
        == Claim {
            input: Some(usage.input),
            output: Some(usage.output),
            cached: claim.cached.map(|_| usage.cached),
            reasoning: claim.reasoning.map(|_| usage.reasoning),
        };
    (usage, (!same).then_some(claim))
}

/// How much of the input is believed to come from a cache: not what was never sent
/// before, if that is cheaper. Who claims that is believed nothing about it.
fn believed(cached: u64, input: u64, is_cheaper: bool, measured: &Measured) -> u64 {
    if is_cheaper && cached > input.saturating_sub(measured.unheard.least) {
        cached.min(input.saturating_sub(cautious(measured.unheard.bytes)))
    } else {
        cached.min(input)
    }
}

fn cautious(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(BYTES_A_TOKEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price =
        Price { input: 1_000_000, output: 2_000_000, cached: Some(100_000), reasoning: None };

    fn sent() -> Measured {
        Measured {
            sent_bytes: 30_000,
            sent_least: 1800,
            unheard: Unheard { bytes: 3000, least: 180 },
            said_bytes: 3000,
            said: Least::of(&"these are words ".repeat(187)),
            thought: Least::default(),
        }
    }

    fn tally(input: u64, output: u64) -> Tally {
        Tally { input: Some(input), output: Some(output), ..Tally::default() }
    }

    fn check(tally: Tally, input: u64, output: u64, cached: u64, reasoning: u64) {
        let (usage, claim) = booked(&tally, &sent(), &PRICE);
        assert_eq!(usage, Usage { input, output, cached, reasoning }, "{tally:?}");
        assert_eq!(claim, Some(tally.claim()), "{tally:?}");
    }

    #[test]
    fn an_honest_count_is_booked_as_it_is_told() {
        for told in [
            tally(7500, 700),
            Tally { cached: Some(6400), reasoning: Some(300), ..tally(7500, 1000) },
            Tally { total: Some(8200), ..tally(7500, 700) },
            tally(1800, 187),
        ] {
            let (usage, claim) = booked(&told, &sent(), &PRICE);
            assert_eq!((Some(usage.input), Some(usage.output)), (told.input, told.output));
            assert_eq!(
                (usage.cached, usage.reasoning),
                (told.cached.unwrap_or(0), told.reasoning.unwrap_or(0))
            );
            assert_eq!(claim, None, "{told:?}");
        }
    }

    #[test]
    fn who_counts_nothing_gets_an_estimate() {
        check(tally(0, 0), 10_000, 1000, 0, 0);
        check(Tally::default(), 10_000, 1000, 0, 0);
        check(tally(7500, 0), 7500, 1000, 0, 0);
        check(tally(0, 700), 10_000, 700, 0, 0);
        check(Tally { input: Some(7500), ..Tally::default() }, 7500, 1000, 0, 0);
    }

    #[test]
    fn who_counts_too_little_gets_the_least_it_can_have_been() {
        check(tally(1, 1), 1800, 187, 0, 0);
    }

    #[test]
    fn a_short_answer_without_a_count_is_not_held_against_anybody() {
        let short = Measured { said: Least::of("done"), said_bytes: 4, ..sent() };
        assert_eq!(booked(&tally(7500, 0), &short, &PRICE).1, None);
    }

    #[test]
    fn what_was_never_sent_before_is_not_cached() {
        // All of it: what is new is paid in full.
        check(Tally { cached: Some(7500), ..tally(7500, 700) }, 7500, 700, 6500, 0);
        let first = Measured { unheard: Unheard { bytes: 30_000, least: 1800 }, ..sent() };
        let all = Tally { cached: Some(7500), ..tally(7500, 700) };
        assert_eq!(booked(&all, &first, &PRICE).0.cached, 0);
        let again = Measured { unheard: Unheard::default(), ..sent() };
        assert_eq!(booked(&all, &again, &PRICE).1, None, "the same request once more may be");
        let flat = Price { cached: None, ..PRICE };
        assert_eq!(booked(&all, &first, &flat).1, None, "where it costs the same nobody gains by it");
    }

    #[test]
    fn parts_that_are_larger_than_the_whole_were_counted_apart() {
        check(Tally { reasoning: Some(5000), ..tally(7500, 700) }, 7500, 5700, 0, 5000);
        check(Tally { cached: Some(7400), ..tally(200, 700) }, 7600, 700, 7400, 0);
        check(Tally { total: Some(9000), ..tally(7500, 700) }, 7500, 1500, 0, 0);
    }

    #[test]
    fn what_was_read_was_not_thought() {
        let price = Price { reasoning: Some(1), ..PRICE };
        let (usage, _) = booked(&Tally { reasoning: Some(700), ..tally(7500, 700) }, &sent(), &price);
        assert_eq!(usage.reasoning, 700 - 187);
    }

    #[test]
    fn counts_that_are_too_large_are_booked_and_never_wrap() {
        let most = Tally {
            cached: Some(u64::MAX),
            reasoning: Some(u64::MAX),
            total: Some(u64::MAX),
            ..tally(u64::MAX, u64::MAX)
        };
        let (usage, _) = booked(&most, &sent(), &PRICE);
        assert_eq!((usage.input, usage.output), (u64::MAX, u64::MAX));
        assert_eq!(usage.total(), u64::MAX);
        assert_eq!(PRICE.of(&usage), u64::MAX);
    }

    #[test]
    fn of_several_counts_the_largest_holds() {
        let mut told = tally(7500, 300);
        told.update(tally(0, 700));
        told.update(Tally { cached: Some(5), ..Tally::default() });
        assert_eq!(told, Tally { cached: Some(5), ..tally(7500, 700) });
    }
}
