//! The network: Llama and Qwen2, from tokens to the scores of the next one.
//!
//! [`Transformer::open`] reads the weights; [`Network::feed`] takes tokens at the end
//! of a [`Memory`] and gives the scores of what may follow. A memory can be cut back to
//! any earlier length, which is all that a cache of prefixes needs.
//!
//! Invariants
//! - The weights do not change after loading and are shared by all conversations.
//! - The scores depend on the tokens alone: not on how they were cut into pieces, not on
//!   what the memory held before it was cut back, not on the number of threads; to the
//!   last bit, so a remembered prompt is answered as a fresh one.

mod memory;
mod pass;
mod rope;
mod shape;
#[cfg(test)]
mod tests;

pub use memory::Memory;
pub use shape::Shape;

use crate::error::LoadError;
use crate::gguf::Gguf;
use crate::team::{Broken, together};
use crate::tensor::{Matrix, matrix, vector};
use rope::Rope;

/// Most tokens that go through the network at once: enough that a row of weights is
/// read rarely, few enough that a cancelled call ends soon.
pub const FEED_TOKENS_MAX: usize = 64;

/// A network with its weights.
#[derive(Debug)]
pub struct Transformer {
    shape: Shape,
    embedding: Matrix,
    layers: Vec<Layer>,
    norm: Vec<f32>,
    /// `None`: the embedding is used both ways.
    output: Option<Matrix>,
    rope: Rope,
    threads: usize,
}

#[derive(Debug)]
struct Layer {
    attention_norm: Vec<f32>,
    query: Linear,
    key: Linear,
    value: Linear,
    attention_output: Matrix,
    feed_norm: Vec<f32>,
    gate: Matrix,
    up: Matrix,
    down: Matrix,
}

/// A matrix and what is added to its products.
#[derive(Debug)]
struct Linear {
    matrix: Matrix,
    bias: Option<Vec<f32>>,
}

impl Transformer {
    /// Reads the weights of a file whose header has been read.
    pub fn open(file: &mut Gguf, threads: usize) -> Result<Self, LoadError> {
        let shape = Shape::read(file)?;
        let embedding = matrix(file, "token_embd.weight", shape.vocabulary, shape.width)?;
        let output = if file.tensors().contains_key("output.weight") {
            Some(matrix(file, "output.weight", shape.vocabulary, shape.width)?)
        } else {
            None
        };
        let layers = (0..shape.layers).map(|at| layer(file, &shape, at)).collect::<Result<_, _>>()?;
        let norm = vector(file, "output_norm.weight", shape.width)?;
        let rope = Rope::read(file, &shape)?;
        Ok(Self { shape, embedding, layers, norm, output, rope, threads: threads.max(1) })
    }

    /// From now on on this thread alone.
    pub(crate) fn on_one_thread(&mut self) {
        self.threads = 1;
    }

    /// Its measures.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How many bytes the weights take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let of = |layer: &Layer| {
            let linear = [&layer.query, &layer.key, &layer.value].map(|linear| linear.matrix.bytes());
            let plain = [&layer.attention_output, &layer.gate, &layer.up, &layer.down].map(Matrix::bytes);
            linear.into_iter().chain(plain).sum::<usize>()
        };
        let ends = self.embedding.bytes() + self.output.as_ref().map_or(0, Matrix::bytes);
        ends + self.layers.iter().map(of).sum::<usize>()
    }
}

impl Network for Transformer {
    fn context(&self) -> usize {
        self.shape.context
    }

    fn remember(&self) -> Memory {
        Memory::new(self.shape.layers, self.shape.kept())
    }

    fn feed(&self, memory: &mut Memory, tokens: &[u32]) -> Result<Vec<f32>, EngineBroken> {
        let mut scores = Vec::new();
        for tokens in tokens.chunks(FEED_TOKENS_MAX) {
            scores = together(self.threads, |seat| pass::run(self, memory, tokens, seat))?;
            memory.grow(tokens);
        }
        Ok(scores)
    }
}

/// What can say which token comes next: the engine behind the rest of this crate.
pub trait Network: Send + Sync {
    /// Most tokens of a conversation.
    fn context(&self) -> usize;

    /// A memory of nothing.
    fn remember(&self) -> Memory;

    /// Takes tokens at the end of a memory and gives the scores of what may follow the
    /// last of them. Callers that want to be able to stop give at most
    /// [`FEED_TOKENS_MAX`] at a time.
    fn feed(&self, memory: &mut Memory, tokens: &[u32]) -> Result<Vec<f32>, EngineBroken>;
}

/// The engine lost one of its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model stopped in the middle of a pass")]
pub struct EngineBroken;

impl From<Broken> for EngineBroken {
    fn from(_: Broken) -> Self {
        Self
    }
}

fn layer(file: &mut Gguf, shape: &Shape, at: usize) -> Result<Layer, LoadError> {
    let name = |part: &str| format!("blk.{at}.{part}.weight");
    let width = shape.width;
    let asked = shape.heads.queries * shape.heads.size;
    let kept = shape.heads.keys * shape.heads.size;
    let mut linear = |part: &str, rows: usize| -> Result<Linear, LoadError> {
        let matrix = matrix(file, &name(part), rows, width)?;
        let bias = format!("blk.{at}.{part}.bias");
        let has_bias = file.tensors().contains_key(&bias);
        let bias = if has_bias { Some(vector(file, &bias, rows)?) } else { None };
        Ok(Linear { matrix, bias })
    };
    Ok(Layer {
        query: linear("attn_q", asked)?,
        key: linear("attn_k", kept)?,
        value: linear("attn_v", kept)?,
        attention_norm: vector(file, &name("attn_norm"), width)?,
        attention_output: matrix(file, &name("attn_output"), width, asked)?,
        feed_norm: vector(file, &name("ffn_norm"), width)?,
        gate: matrix(file, &name("ffn_gate"), shape.feed, width)?,
        up: matrix(file, &name("ffn_up"), shape.feed, width)?,
        down: matrix(file, &name("ffn_down"), width, shape.feed)?,
    })
}
