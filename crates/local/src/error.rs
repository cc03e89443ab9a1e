//! What can be wrong with a model file, in types that say what to do.

use std::path::PathBuf;

/// A model could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is not there or cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is something else.
    #[error("{path} is not a GGUF file")]
    NotGguf {
        /// The file.
        path: PathBuf,
    },
    /// A format nobody writes any more, or does not write yet.
    #[error("{path} is GGUF version {version}; versions 2 and 3 can be read")]
    Version {
        /// The file.
        path: PathBuf,
        /// What it says.
        version: u32,
    },
    /// The file is cut short or contradicts itself.
    #[error("{path} is damaged: {what}")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What does not hold.
        what: String,
    },
    /// A kind of network this engine does not know.
    #[error("{path} has the architecture {architecture:?}; {} can be run", crate::ARCHITECTURES.join(" and "))]
    Architecture {
        /// The file.
        path: PathBuf,
        /// What it says.
        architecture: String,
    },
    /// A known kind of network with something in it this engine does not do.
    #[error("{path} needs {what}, which this engine does not do")]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it needs.
        what: String,
    },
    /// Numbers written in a way this engine does not read.
    #[error("{path}: tensor {tensor:?} has the quantisation {code}, which cannot be read")]
    Quantisation {
        /// The file.
        path: PathBuf,
        /// Which tensor.
        tensor: String,
        /// The code in the file.
        code: u32,
    },
    /// A vocabulary of a kind this engine does not know.
    #[error("{path} has a {model:?} vocabulary split by {split:?}, which cannot be read")]
    Vocabulary {
        /// The file.
        path: PathBuf,
        /// `tokenizer.ggml.model`.
        model: String,
        /// `tokenizer.ggml.pre`.
        split: String,
    },
    /// The chat template of the file is no template.
    #[error("the chat template of {path} cannot be used: {what}")]
    Template {
        /// The file.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// More context than the model has, or too little to say anything in.
    #[error("a context of {wanted} tokens is not between {least} and the {most} of {path}")]
    Context {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        wanted: usize,
        /// The least.
        least: usize,
        /// The most.
        most: usize,
    },
    /// No grammar can be made of the vocabulary.
    #[error(transparent)]
    Grammar(#[from] crate::grammar::BadSchema),
    /// The thread of the engine could not be started.
    #[error("cannot start the thread of the model: {source}")]
    Thread {
        /// Why.
        source: std::io::Error,
    },
}

impl LoadError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "check the path and its permissions, or fetch the model again",
            Self::NotGguf { .. } => "give a file that ends in .gguf",
            Self::Version { .. } => "convert the model anew with a current converter",
            Self::Corrupt { .. } => "fetch the file again: it is damaged or was not fetched to its end",
            Self::Architecture { .. } | Self::Unsupported { .. } => {
                "choose a model of the Llama or Qwen2 family, or serve this one with Ollama and name it there"
            }
            Self::Quantisation { .. } => {
                "choose a file with Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K, Q6_K, F16, BF16 or F32 tensors"
            }
            Self::Vocabulary { .. } | Self::Grammar(_) => {
                "choose a model with a byte-level BPE vocabulary, such as SmolLM2 or Qwen2.5"
            }
            Self::Template { .. } => "choose an instruct model whose file carries its chat template",
            Self::Context { .. } => "ask for a context the model has",
            Self::Thread { .. } => "free memory or threads on this machine, then try again",
        }
    }
}
