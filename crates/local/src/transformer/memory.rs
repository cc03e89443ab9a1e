//! What the network remembers of a conversation: keys and values of every token.

use std::sync::RwLock;

use crate::tensor::single_to_half;

/// The keys and values of the tokens fed so far, in half precision.
#[derive(Debug)]
pub struct Memory {
    tokens: Vec<u32>,
    layers: Vec<RwLock<Kept>>,
    kept: usize,
}

/// What one layer remembers.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) keys: Vec<u16>,
    pub(super) values: Vec<u16>,
}

impl Kept {
    /// Appends the keys and values of some positions, in place of whatever was there
    /// after `position`.
    pub(super) fn put(&mut self, at: usize, keys: &[f32], values: &[f32]) {
        for (kept, new) in [(&mut self.keys, keys), (&mut self.values, values)] {
            kept.truncate(at);
            // Exactly what is needed and a little more: doubling would hold twice the bytes.
            let wanted = new.len() + kept.len();
            if wanted > kept.capacity() {
                kept.reserve_exact(wanted + wanted / 4 - kept.len());
            }
            kept.extend(new.iter().map(|number| single_to_half(*number)));
        }
    }
}

impl Memory {
    /// Remembers nothing yet; `kept` numbers of keys, and as many of values, a token and layer.
    #[must_use]
    pub fn new(layers: usize, kept: usize) -> Self {
        let layers = (0..layers).map(|_| RwLock::default()).collect();
        Self { tokens: Vec::new(), layers, kept }
    }

    /// The tokens it remembers.
    #[must_use]
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Forgets everything after the first `len` tokens.
    pub fn cut(&mut self, len: usize) {
        self.tokens.truncate(len);
        let numbers = self.tokens.len() * self.kept;
        for layer in &mut self.layers {
            let kept = layer.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
            kept.keys.truncate(numbers);
            kept.values.truncate(numbers);
        }
    }

    /// Another memory of the first `len` tokens.
    #[must_use]
    pub fn copy(&self, len: usize) -> Self {
        let numbers = len * self.kept;
        let first = |from: &[u16]| from.get(..numbers).unwrap_or(from).to_vec();
        let of = |layer: &RwLock<Kept>| {
            let copied =
                layer.read().map(|kept| Kept { keys: first(&kept.keys), values: first(&kept.values) });
            RwLock::new(copied.unwrap_or_default())
        };
        let tokens = self.tokens.get(..len).unwrap_or(&self.tokens).to_vec();
        Self { tokens, layers: self.layers.iter().map(of).collect(), kept: self.kept }
    }

    /// How many of these tokens it already begins with.
    #[must_use]
    pub fn common(&self, tokens: &[u32]) -> usize {
        self.tokens.iter().zip(tokens).take_while(|(mine, theirs)| mine == theirs).count()
    }

    /// How many bytes it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let of = |layer: &RwLock<Kept>| {
            layer.read().map_or(0, |kept| (kept.keys.capacity() + kept.values.capacity()) * size_of::<u16>())
        };
        self.layers.iter().map(of).sum()
    }

    pub(super) fn layer(&self, at: usize) -> Option<&RwLock<Kept>> {
        self.layers.get(at)
    }

    /// Remembers that these tokens were fed.
    pub fn grow(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
    }
}
