//! The measures of a network, as its file gives them.

use crate::ARCHITECTURES;
use crate::error::LoadError;
use crate::gguf::{Gguf, Value};
use crate::tensor::kernel::attend::Heads;

/// How large the parts of a network are.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The name of the architecture.
    pub architecture: String,
    /// How many tokens there are.
    pub vocabulary: usize,
    /// Most tokens of a conversation it was made for.
    pub context: usize,
    /// Numbers that stand for a token between layers.
    pub width: usize,
    /// Numbers in the middle of a feed-forward part.
    pub feed: usize,
    /// How many layers.
    pub layers: usize,
    pub(crate) heads: Heads,
    pub(crate) epsilon: f32,
    pub(crate) rope_base: f32,
    pub(crate) rope_size: usize,
    /// Whether the rotated pairs are halves of a head apart, not neighbours.
    pub(crate) is_split: bool,
}

/// No measure of a network is above this; products of two of them cannot overflow.
const MEASURE_MAX: usize = 1 << 24;

impl Shape {
    /// Reads and checks them.
    pub fn read(file: &Gguf) -> Result<Self, LoadError> {
        let architecture = file.text("general.architecture")?.to_owned();
        if !ARCHITECTURES.contains(&architecture.as_str()) {
            return Err(LoadError::Architecture { path: file.path().to_owned(), architecture });
        }
        let key = |name: &str| format!("{architecture}.{name}");
        let measure = |name: &str| -> Result<usize, LoadError> {
            let measure = file.count(&key(name))?;
            if (1..=MEASURE_MAX).contains(&measure) {
                return Ok(measure);
            }
            Err(file.corrupt(format!("its {name} is {measure}")))
        };
        let or = |name: &str, otherwise: usize| {
            if file.get(&key(name)).is_some() { measure(name) } else { Ok(otherwise) }
        };
        let width = measure("embedding_length")?;
        let queries = measure("attention.head_count")?;
        let keys = or("attention.head_count_kv", queries)?;
        let size = or("attention.key_length", width / queries)?;
        let heads = Heads { queries, keys, size };
        let shape = Self {
            vocabulary: file.get("tokenizer.ggml.tokens").and_then(Value::as_texts).map_or(0, <[_]>::len),
            context: measure("context_length")?,
            width,
            feed: measure("feed_forward_length")?,
            layers: measure("block_count")?,
            heads,
            epsilon: file.number(&key("attention.layer_norm_rms_epsilon"))?,
            rope_base: file.get(&key("rope.freq_base")).and_then(Value::as_number).unwrap_or(10_000.0),
            rope_size: or("rope.dimension_count", size)?,
            is_split: architecture == "qwen2",
            architecture: architecture.clone(),
        };
        shape.check(file)?;
        Ok(shape)
    }

    fn check(&self, file: &Gguf) -> Result<(), LoadError> {
        let Heads { queries, keys, size } = self.heads;
        let unsupported = |what: String| Err(LoadError::Unsupported { path: file.path().to_owned(), what });
        if self.layers > file.tensors().len() || self.vocabulary == 0 {
            return Err(file.corrupt(format!("it has no {} layers or no vocabulary", self.layers)));
        }
        if !queries.is_multiple_of(keys) || size == 0 || self.rope_size > size {
            return Err(file.corrupt(format!("it has {queries} heads for {keys}, of {size}")));
        }
        if !self.rope_size.is_multiple_of(2) {
            return unsupported(format!("heads that turn {} of {size} numbers", self.rope_size));
        }
        let key = |name: &str| format!("{}.{name}", self.architecture);
        let scaling = file.get(&key("rope.scaling.type")).and_then(Value::as_text);
        if let Some(scaling) = scaling.filter(|scaling| *scaling != "none") {
            return unsupported(format!("positions scaled by {scaling:?}"));
        }
        if file.get(&key("expert_count")).and_then(Value::as_count).is_some_and(|count| count > 0) {
            return unsupported("a mixture of experts".to_owned());
        }
        let value_size = file.get(&key("attention.value_length")).and_then(Value::as_count);
        if value_size.is_some_and(|value_size| value_size != size) {
            return unsupported("values of another size than keys".to_owned());
        }
        Ok(())
    }

    /// Numbers remembered of one position in one layer, of keys and of values each.
    pub(crate) fn kept(&self) -> usize {
        self.heads.keys * self.heads.size
    }

    /// Bytes of memory that one token of a conversation takes.
    #[must_use]
    pub fn bytes_per_token(&self) -> usize {
        self.layers * self.kept() * 2 * size_of::<u16>()
    }
}
