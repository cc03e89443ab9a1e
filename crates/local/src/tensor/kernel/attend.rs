//! Attention of one query over a stretch of remembered positions.

use super::float::{exp, product};
use crate::tensor::half_to_single;

/// The shape of the heads of one layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heads {
    /// Heads that ask.
    pub(crate) queries: usize,
    /// Heads that are remembered; each answers the same number of asking ones.
    pub(crate) keys: usize,
    /// Numbers in a head.
    pub(crate) size: usize,
}

/// What a stretch of positions says to every asking head, before division: partial
/// answers of several stretches can be joined.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    /// For each asking head its weighted sum, then all greatest scores, then all sums of weights.
    pub(crate) numbers: Vec<f32>,
    scores: Vec<f32>,
    wide: Vec<f32>,
}

/// A query, and the keys and values of the positions it looks at.
pub(crate) struct Look<'a> {
    pub(crate) heads: Heads,
    pub(crate) query: &'a [f32],
    /// Half-precision bits, all key heads of a position together.
    pub(crate) keys: &'a [u16],
    /// The same of values.
    pub(crate) values: &'a [u16],
}

/// Looks; the answer is in `into`.
pub(crate) fn attend(look: &Look<'_>, into: &mut Partial) {
    pulp::Arch::new().dispatch(Run { look, into });
}

struct Run<'a> {
    look: &'a Look<'a>,
    into: &'a mut Partial,
}

impl pulp::NullaryFnOnce for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Heads { queries, keys, size } = self.look.heads;
        let width = keys * size;
        let group = queries / keys.max(1);
        let positions = self.look.keys.len().checked_div(width).unwrap_or(0);
        let Partial { numbers, scores, wide } = self.into;
        numbers.clear();
        numbers.resize(queries * (size + 2), 0.0);
        wide.resize(size, 0.0);
        scores.resize(group * positions, 0.0);
        let (sums, edges) = numbers.split_at_mut(queries * size);
        let (greatest, totals) = edges.split_at_mut(queries);
        let per_head = self.look.query.chunks_exact(group * size).zip(sums.chunks_exact_mut(group * size));
        let edges = greatest.chunks_exact_mut(group).zip(totals.chunks_exact_mut(group));
        for (head, ((query, sums), (greatest, totals))) in per_head.zip(edges).enumerate() {
            let skip = head * size;
            score(Stretch { from: self.look.keys, width, skip, wide }, query, positions, scores);
            let each = scores.chunks_exact_mut(positions.max(1));
            for ((scores, greatest), total) in each.zip(greatest).zip(totals) {
                (*greatest, *total) = soften(scores);
            }
            gather(Stretch { from: self.look.values, width, skip, wide }, scores, positions, sums);
        }
    }
}

/// One head of every position.
struct Stretch<'a> {
    from: &'a [u16],
    width: usize,
    skip: usize,
    wide: &'a mut Vec<f32>,
}

impl Stretch<'_> {
    /// The head at the next position, in single precision.
    #[inline(always)]
    fn widen(&mut self, position: &[u16]) {
        let head = position.get(self.skip..).unwrap_or_default();
        for (wide, half) in self.wide.iter_mut().zip(head) {
            *wide = half_to_single(*half);
        }
    }
}

#[inline(always)]
fn score(mut keys: Stretch<'_>, query: &[f32], positions: usize, scores: &mut [f32]) {
    let size = keys.wide.len();
    let scale = 1.0 / (size as f32).sqrt();
    for (place, position) in keys.from.chunks_exact(keys.width).enumerate() {
        keys.widen(position);
        for (query, scores) in query.chunks_exact(size).zip(scores.chunks_exact_mut(positions)) {
            if let Some(score) = scores.get_mut(place) {
                *score = product(query, keys.wide) * scale;
            }
        }
    }
}

/// Scores become weights; gives the greatest score and the sum of the weights.
#[inline(always)]
fn soften(scores: &mut [f32]) -> (f32, f32) {
    let greatest = scores.iter().fold(f32::MIN, |greatest, score| greatest.max(*score));
    for score in scores.iter_mut() {
        *score = exp(*score - greatest);
    }
    (greatest, scores.iter().sum())
}

#[inline(always)]
fn gather(mut values: Stretch<'_>, weights: &[f32], positions: usize, sums: &mut [f32]) {
    let size = values.wide.len();
    for (place, position) in values.from.chunks_exact(values.width).enumerate() {
        values.widen(position);
        for (sums, weights) in sums.chunks_exact_mut(size).zip(weights.chunks_exact(positions)) {
            let weight = weights.get(place).copied().unwrap_or(0.0);
            for (sum, value) in sums.iter_mut().zip(values.wide.iter()) {
                *sum += value * weight;
            }
        }
    }
}

/// Joins the partial answers of all stretches, one after the other in `partials`, into the
/// answer of every head.
pub(crate) fn join(heads: Heads, partials: &[f32], into: &mut [f32]) {
    let Heads { queries, size, .. } = heads;
    let each = || partials.chunks_exact(queries * (size + 2));
    for (head, into) in into.chunks_exact_mut(size).take(queries).enumerate() {
        let edge = |partial: &[f32], which: usize| {
            partial.get(queries * size + which * queries + head).copied().unwrap_or(0.0)
        };
        let greatest = each().map(|partial| edge(partial, 0)).fold(f32::MIN, f32::max);
        into.fill(0.0);
        let mut total = 0.0;
        for partial in each() {
            let weight = (edge(partial, 0) - greatest).exp();
            total += weight * edge(partial, 1);
            for (out, sum) in into.iter_mut().zip(partial.iter().skip(head * size)) {
                *out += weight * sum;
            }
        }
        for out in into.iter_mut() {
            *out /= total;
        }
    }
}
