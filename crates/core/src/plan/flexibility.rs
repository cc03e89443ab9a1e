//! In how many orders the sub-tasks could be done one after the other: how much
//! freedom an order leaves for doing things at once, and for doing them differently
//! after a failure.
//!
//! Parts that have nothing to do with each other are counted one by one. A part of at
//! most [`TABLE_MAX`] sub-tasks, or a larger one with few ways to have begun it, is
//! counted exactly. Another is estimated: orders are drawn one sub-task at a time,
//! each with a chance in proportion to how much waits for it, and weighed by how
//! likely they were (sequential importance sampling; exact for forests, where all
//! weights are equal). The draws come from a generator with a fixed seed, so the same
//! order gives the same figure everywhere.

use std::collections::BTreeMap;

use serde::Serialize;

use super::graph::{Graph, Reach, at, set};

/// Parts of at most so many sub-tasks are always counted exactly.
pub const TABLE_MAX: usize = 20;
/// Larger parts are counted exactly up to this size, if they have few beginnings.
const MASK_MAX: usize = 128;
/// Steps from one beginning to the next that counting may look at, over all parts.
const STEPS_MAX: usize = 100_000;
/// Draws of one sub-task that an estimate may take, and how many orders that makes.
const DRAWS_MAX: usize = 400_000;
const SAMPLES_MIN: usize = 32;
const SAMPLES_MAX: usize = 4096;
/// From here on fewer than one draw in so many counts.
const OUTWEIGHED: f64 = 4.0;

/// How many orders there are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flexibility {
    /// The number, where it is exact and fits.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "as_text")]
    pub orders: Option<u128>,
    /// Its decimal logarithm.
    pub log10: f64,
    /// The standard error of the logarithm: 0 where nothing was estimated. Where few of
    /// the orders drawn outweigh the others it is their whole spread, and the estimate
    /// is more likely too low than too high.
    pub error: f64,
}

/// A number of more than 64 bits is a text in JSON, or readers would round it.
#[expect(clippy::ref_option, reason = "the signature is serde's")]
fn as_text<S: serde::Serializer>(orders: &Option<u128>, to: S) -> Result<S::Ok, S::Error> {
    match orders {
        Some(orders) => to.collect_str(orders),
        None => to.serialize_none(),
    }
}

impl Flexibility {
    const ONE: Self = Self { orders: Some(1), log10: 0.0, error: 0.0 };

    /// Whether nothing was estimated.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.error == 0.0
    }

    fn exact(orders: u128) -> Self {
        Self { orders: Some(orders), log10: log10_of(orders), error: 0.0 }
    }
}

/// The orders of the counted vertices that follow every path of the graph, which has
/// no circle.
pub(crate) fn flexibility(graph: &Graph, counted: &[usize]) -> Flexibility {
    let logs = ln_factorials(counted.len());
    let mut whole = Flexibility::ONE;
    let mut done = 0;
    let mut steps = STEPS_MAX;
    for part in parts(graph, counted) {
        let size = part.counted.len();
        let of_part = of_part(&part, &logs, &mut steps);
        let orders = whole.orders.zip(of_part.orders).and_then(|(a, b)| a.checked_mul(b));
        let shuffles = orders.and_then(|_| choose(done + size, size));
        let ln_shuffles = at(&logs, done + size) - at(&logs, size) - at(&logs, done);
        done += size;
        let log10 = whole.log10 + of_part.log10 + ln_shuffles / std::f64::consts::LN_10;
        let error = (whole.error.powi(2) + of_part.error.powi(2)).sqrt();
        whole = match orders.zip(shuffles).and_then(|(orders, shuffles)| orders.checked_mul(shuffles)) {
            Some(orders) => Flexibility { error, ..Flexibility::exact(orders) },
            None => Flexibility { orders: None, log10, error },
        };
    }
    whole
}

/// A piece of the graph that no path joins to the rest, with numbers of its own, so that
/// looking at all pieces costs no more than looking at the whole.
struct Part {
    graph: Graph,
    order: Vec<usize>,
    counted: Vec<usize>,
}

fn of_part(part: &Part, logs: &[f64], steps: &mut usize) -> Flexibility {
    let exact = match part.counted.len() {
        0 | 1 => Some(1),
        2..=TABLE_MAX => by_table(&masks(&part.graph, &part.order, &part.counted)),
        _ if part.counted.len() <= MASK_MAX => {
            by_beginnings(&masks(&part.graph, &part.order, &part.counted), steps)
        }
        _ => None,
    };
    exact.map_or_else(|| estimate(part, logs), Flexibility::exact)
}

/// The pieces of the graph that hold counted vertices.
fn parts(graph: &Graph, counted: &[usize]) -> Vec<Part> {
    let mut is_counted = vec![false; graph.len()];
    counted.iter().for_each(|&vertex| set(&mut is_counted, vertex, true));
    let mut is_seen = vec![false; graph.len()];
    let mut number = vec![0; graph.len()];
    let mut parts = Vec::new();
    for &first in counted {
        if at(&is_seen, first) {
            continue;
        }
        let members = joined(graph, first, &mut is_seen);
        members.iter().enumerate().for_each(|(place, &vertex)| set(&mut number, vertex, place));
        let edges: Vec<(usize, usize)> = members
            .iter()
            .flat_map(|&from| graph.after(from).iter().map(move |&to| (from, to)))
            .map(|(from, to)| (at(&number, from), at(&number, to)))
            .collect();
        let graph = Graph::new(members.len(), &edges);
        let order = graph.order().unwrap_or_default();
        let counted = (0..members.len()).filter(|&place| at(&is_counted, at(&members, place))).collect();
        parts.push(Part { graph, order, counted });
    }
    parts
}

/// All vertices that paths of any direction join to this one, ascending.
fn joined(graph: &Graph, first: usize, is_seen: &mut [bool]) -> Vec<usize> {
    let mut members = vec![first];
    let mut next = 0;
    set(is_seen, first, true);
    while let Some(&vertex) = members.get(next) {
        next += 1;
        for &other in graph.after(vertex).iter().chain(graph.before(vertex)) {
            if !at(is_seen, other) {
                set(is_seen, other, true);
                members.push(other);
            }
        }
    }
    members.sort_unstable();
    members
}

/// For each vertex of the part, which others of it come before, as bits.
fn masks(graph: &Graph, order: &[usize], part: &[usize]) -> Vec<u128> {
    let reach = Reach::of(graph, order, part);
    let mut before = vec![0_u128; part.len()];
    for (bit, &vertex) in part.iter().enumerate() {
        let Some(row) = reach.rows.get(vertex) else { continue };
        for (later, mask) in before.iter_mut().enumerate() {
            let word = row.get(later / 64).copied().unwrap_or_default();
            if word >> (later % 64) & 1 == 1 {
                *mask |= 1 << bit;
            }
        }
    }
    before
}

/// Counts by what is done so far, all of which fits in a table.
fn by_table(before: &[u128]) -> Option<u128> {
    let mut ways = vec![0_u128; 1 << before.len()];
    set(&mut ways, 0, 1);
    for done in 0..ways.len() {
        let so_far = at(&ways, done);
        if so_far == 0 {
            continue;
        }
        for (bit, &needed) in before.iter().enumerate() {
            let next = done | 1 << bit;
            if next != done && needed & !(done as u128) == 0 {
                let more = ways.get_mut(next)?;
                *more = more.checked_add(so_far)?;
            }
        }
    }
    ways.last().copied()
}

/// The same with only the beginnings that can happen; `None` if there are too many.
fn by_beginnings(before: &[u128], steps: &mut usize) -> Option<u128> {
    let mut layer = BTreeMap::from([(0_u128, 1_u128)]);
    for _ in before {
        let mut next: BTreeMap<u128, u128> = BTreeMap::new();
        for (&done, &ways) in &layer {
            for (bit, &needed) in before.iter().enumerate() {
                if done >> bit & 1 == 0 && needed & !done == 0 {
                    let more = next.entry(done | 1 << bit).or_default();
                    *more = more.checked_add(ways)?;
                }
            }
            *steps = steps.checked_sub(before.len())?;
        }
        layer = next;
    }
    layer.into_values().next()
}

fn estimate(part: &Part, logs: &[f64]) -> Flexibility {
    let hooks = hooks(part);
    // All parts together make as many draws as one of their size would.
    let samples = (DRAWS_MAX / logs.len().max(1)).clamp(SAMPLES_MIN, SAMPLES_MAX);
    let mut draws = Draws(0x0B0B_11E5);
    let weights: Vec<f64> = (0..samples).map(|_| sample(part, &hooks, &mut draws)).collect();
    let most = weights.iter().copied().fold(f64::MIN, f64::max);
    let count = float(samples);
    let mean = weights.iter().map(|weight| (weight - most).exp()).sum::<f64>() / count;
    let square = weights.iter().map(|weight| (2.0 * (weight - most)).exp()).sum::<f64>() / count;
    let variance = (square / (mean * mean) - 1.0).max(0.0);
    // No order has fewer continuations than a forest with the same numbers after each
    // vertex, so the estimate is never allowed below that.
    let floor = at(logs, part.counted.len())
        - part.counted.iter().map(|&vertex| float(at(&hooks, vertex)).ln()).sum::<f64>();
    let ln = (most + mean.ln()).max(floor);
    let error = if variance < 1e-12 { 0.0 } else { log10_error(&weights, variance) };
    Flexibility { orders: None, log10: ln / std::f64::consts::LN_10, error }
}

/// The standard error of the logarithm of the mean weight. Where a few orders outweigh
/// all others, the spread among the weights drawn says nothing of those that were not;
/// then the whole spread of the logarithms is the error.
fn log10_error(weights: &[f64], variance: f64) -> f64 {
    let count = float(weights.len());
    // One over this is the share of the draws that count.
    if 1.0 + variance < OUTWEIGHED {
        return (variance / count).sqrt().ln_1p() / std::f64::consts::LN_10;
    }
    let middle = weights.iter().sum::<f64>() / count;
    let spread = weights.iter().map(|weight| (weight - middle).powi(2)).sum::<f64>() / count;
    spread.sqrt() / std::f64::consts::LN_10
}

/// How many of the part each vertex stands for: itself and what comes after it.
fn hooks(part: &Part) -> Vec<usize> {
    let mut hooks = part.graph.downstream(&part.order, &part.counted);
    for &vertex in &part.counted {
        if let Some(hook) = hooks.get_mut(vertex) {
            *hook += 1;
        }
    }
    hooks
}

/// Draws one order; the natural logarithm of one over its chance.
fn sample(part: &Part, hooks: &[usize], draws: &mut Draws) -> f64 {
    let graph = &part.graph;
    let mut missing: Vec<usize> = (0..graph.len()).map(|vertex| graph.before(vertex).len()).collect();
    let mut free = Weights::new(part.counted.len());
    let mut ready: Vec<usize> = (0..graph.len()).filter(|&vertex| at(&missing, vertex) == 0).collect();
    let mut weight = 0.0;
    for _ in &part.counted {
        // What is not counted is passed over: it only carries order.
        while let Some(vertex) = ready.pop() {
            match part.counted.binary_search(&vertex) {
                Ok(place) => free.add(place, at(hooks, vertex)),
                Err(_) => release(graph, vertex, &mut missing, &mut ready),
            }
        }
        let place = free.find(draws.below(free.total));
        let vertex = at(&part.counted, place);
        let hook = at(hooks, vertex);
        weight += (float(free.total) / float(hook)).ln();
        free.remove(place, hook);
        release(graph, vertex, &mut missing, &mut ready);
    }
    weight
}

fn release(graph: &Graph, vertex: usize, missing: &mut [usize], ready: &mut Vec<usize>) {
    for &next in graph.after(vertex) {
        if let Some(missing) = missing.get_mut(next) {
            *missing -= 1;
            if *missing == 0 {
                ready.push(next);
            }
        }
    }
}

/// Weights from which one is drawn in proportion (a Fenwick tree).
struct Weights {
    sums: Vec<usize>,
    total: usize,
}

impl Weights {
    fn new(count: usize) -> Self {
        Self { sums: vec![0; count + 1], total: 0 }
    }

    fn add(&mut self, place: usize, weight: usize) {
        self.change(place, |sum| *sum += weight);
        self.total += weight;
    }

    fn remove(&mut self, place: usize, weight: usize) {
        self.change(place, |sum| *sum = sum.saturating_sub(weight));
        self.total = self.total.saturating_sub(weight);
    }

    fn change(&mut self, place: usize, by: impl Fn(&mut usize)) {
        let mut node = place + 1;
        while let Some(sum) = self.sums.get_mut(node) {
            by(sum);
            node += node & node.wrapping_neg();
        }
    }

    /// The place in whose share of the total the number falls.
    fn find(&self, mut number: usize) -> usize {
        let mut place = 0;
        let mut stride = self.sums.len().next_power_of_two();
        while stride > 0 {
            if let Some(&sum) = self.sums.get(place + stride)
                && sum <= number
            {
                number -= sum;
                place += stride;
            }
            stride /= 2;
        }
        place
    }
}

/// A small seeded generator (SplitMix64).
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        let share = (u128::from(mixed) * end as u128) >> 64;
        usize::try_from(share).unwrap_or_default()
    }
}

/// How many ways there are to pick so many of so many; `None` if they do not fit.
fn choose(of: usize, picked: usize) -> Option<u128> {
    let picked = picked.min(of - picked);
    let mut ways = 1_u128;
    for step in 1..=picked {
        ways = ways.checked_mul((of - picked + step) as u128)? / step as u128;
    }
    Some(ways)
}

/// The natural logarithms of the factorials up to that of a number.
fn ln_factorials(most: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let step = |factor: usize| {
        sum += float(factor.max(1)).ln();
        sum
    };
    (0..=most).map(step).collect()
}

fn log10_of(orders: u128) -> f64 {
    let high = u64::try_from(orders >> 64).unwrap_or_default();
    let low = u64::try_from(orders & u128::from(u64::MAX)).unwrap_or_default();
    (wide(high) * 2.0_f64.powi(64) + wide(low)).log10()
}

/// The nearest floating-point number; a logarithm does not see the difference.
fn wide(number: u64) -> f64 {
    let half = |bits: u64| f64::from(u32::try_from(bits).unwrap_or(u32::MAX));
    half(number >> 32) * 2.0_f64.powi(32) + half(number & u64::from(u32::MAX))
}

fn float(number: usize) -> f64 {
    wide(number as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(count: usize, edges: &[(usize, usize)]) -> Flexibility {
        let graph = Graph::new(count, edges);
        flexibility(&graph, &(0..count).collect::<Vec<_>>())
    }

    #[test]
    fn a_chain_has_one_order_and_independent_things_have_every_order() {
        assert_eq!(of(4, &[(0, 1), (1, 2), (2, 3)]).orders, Some(1));
        assert_eq!(of(5, &[]).orders, Some(120));
        assert_eq!(of(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]).orders, Some(2));
        assert_eq!(of(0, &[]), Flexibility::ONE);
    }

    #[test]
    fn two_chains_are_shuffled_in_every_way() {
        let edges: Vec<_> = (1..30).filter(|place| place % 15 != 0).map(|place| (place - 1, place)).collect();
        assert_eq!(of(30, &edges).orders, Some(155_117_520));
    }

    #[test]
    fn vertices_that_only_carry_order_are_not_counted() {
        let graph = Graph::new(5, &[(0, 2), (1, 2), (2, 3), (2, 4)]);
        let found = flexibility(&graph, &[0, 1, 3, 4]);
        assert_eq!(found.orders, Some(4));
    }

    #[test]
    fn a_large_forest_is_exact_although_it_is_sampled() {
        // A root with 200 leaves: 200! orders.
        let edges: Vec<_> = (1..=200).map(|leaf| (0, leaf)).collect();
        let found = of(201, &edges);
        assert!(found.is_exact() && found.orders.is_none(), "{found:?}");
        assert!((found.log10 - ln_factorials(200)[200] / std::f64::consts::LN_10).abs() < 1e-6);
    }

    #[test]
    fn an_estimate_comes_as_near_as_it_says() {
        // Ten wide diamonds one after the other: (10!)^10 orders exactly.
        let mut edges = Vec::new();
        for block in 0..14 {
            let first = block * 11;
            for leaf in 1..=10 {
                edges.push((first, first + leaf));
                if block < 13 {
                    edges.push((first + leaf, first + 11));
                }
            }
        }
        let found = of(154, &edges);
        let true_log10 = 14.0 * ln_factorials(10)[10] / std::f64::consts::LN_10;
        assert!((found.log10 - true_log10).abs() <= 4.0 * found.error.max(0.02), "{found:?} {true_log10}");
        assert_eq!(of(154, &edges), found);
    }

    #[test]
    fn an_estimate_that_hangs_on_few_draws_says_how_far_they_are_apart() {
        // Two of ten draws weigh e^20 times as much as the rest.
        let weights = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 20.0, 20.0];
        assert!((log10_error(&weights, 4.0) - 8.0 / std::f64::consts::LN_10).abs() < 1e-9);
        assert!(log10_error(&weights, 0.1) < 0.05);
    }

    #[test]
    fn a_number_that_does_not_fit_has_an_exact_logarithm() {
        let found = of(100, &[]);
        assert!(found.orders.is_none() && found.is_exact());
        assert!((found.log10 - 157.970_003_6).abs() < 1e-5, "{found:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn both_ways_of_counting_agree_and_the_estimate_is_near(
            raw in prop::collection::vec((0_usize..9, 0_usize..9), 0..16),
        ) {
            let edges: Vec<_> = raw.into_iter().filter(|(from, to)| from < to).collect();
            let graph = Graph::new(9, &edges);
            let order = graph.order().unwrap();
            let all: Vec<_> = (0..9).collect();
            let before = masks(&graph, &order, &all);
            let exact = by_table(&before).unwrap();
            let mut steps = STEPS_MAX;
            prop_assert_eq!(by_beginnings(&before, &mut steps), Some(exact));
            prop_assert_eq!(flexibility(&graph, &all).orders, Some(exact));
            let part = Part { graph, order, counted: all };
            let near = estimate(&part, &ln_factorials(9));
            prop_assert!((near.log10 - log10_of(exact)).abs() <= 6.0 * near.error + 1e-9, "{near:?} {exact}");
        }
    }
}
