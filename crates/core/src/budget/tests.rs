//! Amounts: exact, rounded up, and never short.

use proptest::prelude::*;

use super::*;
use crate::message::Usage;

fn usage(input: u64, cached: u64, output: u64, reasoning: u64) -> Usage {
    Usage { input, output, cached, reasoning }
}

#[test]
fn tokens_are_paid_by_kind_and_rounded_up_once() {
    let price = Price { input: 3_000_000, output: 15_000_000, cached: Some(300_000), reasoning: None };
    assert_eq!(price.of(&usage(100, 0, 10, 0)), 300 + 150);
    assert_eq!(price.of(&usage(100, 90, 10, 4)), 30 + 27 + 150);
    assert_eq!(price.of(&usage(1, 1, 0, 0)), 1, "a part of a micro-dollar is a whole one");
    assert_eq!(price.of(&usage(7, 7, 0, 0)), 3);
    assert_eq!(Price { reasoning: Some(1_000_000), ..price }.of(&usage(0, 0, 10, 10)), 10);
    assert_eq!(Price::FREE.of(&usage(u64::MAX, 0, u64::MAX, 0)), 0);
    let dearest = Price { input: u64::MAX, output: u64::MAX, ..Price::FREE };
    assert_eq!(dearest.of(&usage(u64::MAX, 0, u64::MAX, 0)), u64::MAX, "it saturates and does not wrap");
}

#[test]
fn a_price_of_before_there_were_kinds_keeps_its_bytes() {
    let json = "{\"input\":1000000,\"output\":4000000}";
    let price: Price = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_string(&price).unwrap(), json);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_set_aside_covers_any_kind_of_tokens(
        prices in any::<(u32, u32, Option<u32>, Option<u32>)>(),
        (input, cached, output, reasoning) in any::<(u32, u32, u32, u32)>(),
    ) {
        let (plain, written, from_cache, thought) = prices;
        let price = Price {
            input: plain.into(),
            output: written.into(),
            cached: from_cache.map(u64::from),
            reasoning: thought.map(u64::from),
        };
        let usage = usage(input.into(), cached.into(), output.into(), reasoning.into());
        prop_assert!(price.of(&usage) <= price.at_most(usage.input, usage.output));
    }

    #[test]
    fn a_raise_never_lowers_anything(index in 0..12_usize, to in any::<u64>()) {
        let (before, limit) = (Limits::default(), Limit::ALL[index].clone());
        let mut after = before.clone();
        after.raise(&[Raise { limit: limit.clone(), to }]);
        for known in &Limit::ALL {
            prop_assert!(after.allowed(known) >= before.allowed(known));
        }
        let counts = before.allowed(&limit) < u64::from(u32::MAX) && to < u64::from(u32::MAX);
        prop_assert!(!counts || after.allowed(&limit) == before.allowed(&limit).max(to));
    }
}

#[test]
fn a_gauge_is_near_from_80_percent_on_and_never_without_a_bound() {
    let near = |used, allowed| Gauge { limit: Limit::Steps, of: None, used, allowed }.is_near();
    assert!(near(40, 50) && near(50, 50) && near(60, 50) && near(1, 1) && near(4, 5));
    assert!(!near(39, 50) && !near(0, 50) && !near(2, 3) && !near(0, 0));
    assert!(!near(u64::MAX, UNLIMITED) && near(u64::MAX - 1, u64::MAX - 1));
}
