//! One pass of some tokens through all layers, by one member of a team.
//!
//! Every member holds the whole state of the tokens and computes its own share of the
//! rows of every matrix; small steps (norms, rotations) are done by all alike, which is
//! cheaper than another meeting.

use std::ops::Range;

use super::{Layer, Linear, Memory, Transformer};
use crate::team::{Broken, Seat};
use crate::tensor::kernel::attend::{Look, Partial, attend, join};
use crate::tensor::kernel::float::{gated, normalise};
use crate::tensor::{Inputs, Matrix, multiply};

/// Rows are shared out in groups of so many, the number the kernel takes at once.
const STEP: usize = 4;
/// Positions that attention sums up at a time.
const STRETCH: usize = 64;

/// One member's working space.
struct Pass<'a> {
    model: &'a Transformer,
    memory: &'a Memory,
    seat: Seat<'a>,
    count: usize,
    start: usize,
    state: Vec<f32>,
    inputs: Inputs,
    share: Vec<f32>,
    part: Vec<f32>,
    partial: Partial,
    angles: Vec<Vec<(f32, f32)>>,
}

/// Runs it; every member gets the scores of the last token.
pub(super) fn run(
    model: &Transformer,
    memory: &Memory,
    tokens: &[u32],
    seat: Seat<'_>,
) -> Result<Vec<f32>, Broken> {
    let width = model.shape.width;
    let start = memory.tokens().len();
    let mut state = vec![0.0; tokens.len() * width];
    for (token, row) in tokens.iter().zip(state.chunks_exact_mut(width)) {
        model.embedding.row(usize::try_from(*token).unwrap_or(usize::MAX), row);
    }
    let angles = (start..start + tokens.len())
        .map(|position| {
            let mut angles = Vec::new();
            model.rope.angles(position, &mut angles);
            angles
        })
        .collect();
    let mut pass = Pass {
        model,
        memory,
        seat,
        count: tokens.len(),
        start,
        state,
        inputs: Inputs::default(),
        share: Vec::new(),
        part: Vec::new(),
        partial: Partial::default(),
        angles,
    };
    for (at, layer) in model.layers.iter().enumerate() {
        pass.attention(at, layer)?;
        pass.feed(layer)?;
    }
    pass.scores()
}

impl Pass<'_> {
    fn attention(&mut self, at: usize, layer: &Layer) -> Result<(), Broken> {
        self.take_normalised(&layer.attention_norm);
        let mut query = self.linear(&layer.query)?;
        let mut keys = self.linear(&layer.key)?;
        let values = self.linear(&layer.value)?;
        self.turn(&mut query);
        self.turn(&mut keys);
        let kept = self.memory.layer(at).ok_or(Broken)?;
        if self.seat.index() == 0 {
            let place = self.start * self.model.shape.kept();
            kept.write().map_err(|_| Broken)?.put(place, &keys, &values);
        }
        self.seat.meet()?;
        let kept = kept.read().map_err(|_| Broken)?;
        let answers = if self.count == 1 {
            self.look_together(&query, &kept.keys, &kept.values)?
        } else {
            self.look_apart(&query, &kept.keys, &kept.values)?
        };
        drop(kept);
        let columns = layer.attention_output.columns;
        self.inputs.set(&answers, columns);
        self.add_product(&layer.attention_output)
    }

    /// One query: every member looks at its share of the stretches.
    fn look_together(&mut self, query: &[f32], keys: &[u16], values: &[u16]) -> Result<Vec<f32>, Broken> {
        let positions = self.start + 1;
        let share = self.seat.share(positions.div_ceil(STRETCH), 1);
        self.share.clear();
        self.look(query, keys, values, share.start * STRETCH..(share.end * STRETCH).min(positions));
        let mut partials = Vec::new();
        self.seat.exchange(&mut self.share, |_, share| partials.extend_from_slice(share))?;
        let mut answers = vec![0.0; query.len()];
        join(self.model.shape.heads, &partials, &mut answers);
        Ok(answers)
    }

    /// Several queries: every member takes each so-manieth, since later ones look at more.
    fn look_apart(&mut self, query: &[f32], keys: &[u16], values: &[u16]) -> Result<Vec<f32>, Broken> {
        let heads = self.model.shape.heads;
        let size = heads.queries * heads.size;
        let (index, members) = (self.seat.index(), self.seat.members());
        let mut mine = Vec::new();
        for (place, query) in query.chunks_exact(size).enumerate().skip(index).step_by(members) {
            self.share.clear();
            self.look(query, keys, values, 0..self.start + place + 1);
            let from = mine.len();
            mine.resize(from + size, 0.0);
            if let Some(into) = mine.get_mut(from..) {
                join(heads, &self.share, into);
            }
        }
        let mut answers = vec![0.0; query.len()];
        self.seat.exchange(&mut mine, |member, share| {
            let into = answers.chunks_exact_mut(size).skip(member).step_by(members);
            into.zip(share.chunks_exact(size)).for_each(|(into, from)| into.copy_from_slice(from));
        })?;
        Ok(answers)
    }

    /// Looks at some positions, a stretch at a time, and appends what each says to the
    /// share. Stretches begin at the same positions whoever looks and however many tokens
    /// are fed, so that the sums are the same to the last bit.
    fn look(&mut self, query: &[f32], keys: &[u16], values: &[u16], positions: Range<usize>) {
        let heads = self.model.shape.heads;
        let width = self.model.shape.kept();
        for start in positions.clone().step_by(STRETCH) {
            let range = start * width..(start + STRETCH).min(positions.end) * width;
            let look = Look {
                heads,
                query,
                keys: keys.get(range.clone()).unwrap_or_default(),
                values: values.get(range).unwrap_or_default(),
            };
            attend(&look, &mut self.partial);
            self.share.extend_from_slice(&self.partial.numbers);
        }
    }

    fn feed(&mut self, layer: &Layer) -> Result<(), Broken> {
        self.take_normalised(&layer.feed_norm);
        let rows = self.seat.share(layer.gate.rows, STEP);
        self.share.resize(self.count * rows.len(), 0.0);
        self.part.resize(self.count * rows.len(), 0.0);
        multiply(&layer.gate, rows.clone(), &self.inputs, &mut self.share);
        multiply(&layer.up, rows, &self.inputs, &mut self.part);
        gated(&mut self.share, &self.part);
        let middle = self.collect(layer.gate.rows)?;
        self.inputs.set(&middle, layer.down.columns);
        self.add_product(&layer.down)
    }

    fn scores(mut self) -> Result<Vec<f32>, Broken> {
        let width = self.model.shape.width;
        let last = self.state.len().saturating_sub(width);
        self.state.drain(..last);
        self.count = 1;
        self.take_normalised(&self.model.norm);
        let output = self.model.output.as_ref().unwrap_or(&self.model.embedding);
        self.multiply_share(output);
        self.collect(output.rows)
    }

    /// Normalises the state and makes it the input of the next products.
    fn take_normalised(&mut self, weights: &[f32]) {
        let width = self.model.shape.width;
        self.part.resize(self.state.len(), 0.0);
        for (state, into) in self.state.chunks_exact(width).zip(self.part.chunks_exact_mut(width)) {
            normalise(state, weights, self.model.shape.epsilon, into);
        }
        self.inputs.set(&self.part, width);
    }

    fn linear(&mut self, linear: &Linear) -> Result<Vec<f32>, Broken> {
        self.multiply_share(&linear.matrix);
        let mut products = self.collect(linear.matrix.rows)?;
        if let Some(bias) = &linear.bias {
            for row in products.chunks_exact_mut(bias.len()) {
                row.iter_mut().zip(bias).for_each(|(product, bias)| *product += bias);
            }
        }
        Ok(products)
    }

    fn add_product(&mut self, matrix: &Matrix) -> Result<(), Broken> {
        self.multiply_share(matrix);
        let products = self.collect(matrix.rows)?;
        self.state.iter_mut().zip(products).for_each(|(state, product)| *state += product);
        Ok(())
    }

    fn multiply_share(&mut self, matrix: &Matrix) {
        let rows = self.seat.share(matrix.rows, STEP);
        self.share.resize(self.count * rows.len(), 0.0);
        multiply(matrix, rows, &self.inputs, &mut self.share);
    }

    /// Everyone's share of so many rows, put together.
    fn collect(&mut self, rows: usize) -> Result<Vec<f32>, Broken> {
        let mut whole = vec![0.0; self.count * rows];
        let ranges: Vec<_> =
            (0..self.seat.members()).map(|member| self.seat.share_of(member, rows, STEP)).collect();
        self.seat.exchange(&mut self.share, |member, share| {
            let Some(range) = ranges.get(member).filter(|range| !range.is_empty()) else { return };
            for (whole, share) in whole.chunks_exact_mut(rows).zip(share.chunks_exact(range.len())) {
                if let Some(into) = whole.get_mut(range.clone()) {
                    into.copy_from_slice(share);
                }
            }
        })?;
        Ok(whole)
    }

    fn turn(&self, vectors: &mut [f32]) {
        let size = vectors.len().checked_div(self.count).unwrap_or(0).max(1);
        for (vector, angles) in vectors.chunks_exact_mut(size).zip(&self.angles) {
            self.model.rope.turn(vector, angles);
        }
    }
}
