//! The words of `bowline model`.

use std::path::PathBuf;

use clap::{Args as Words, Subcommand};

/// The weights that are meant when none are named.
const DEFAULT: &str = "smollm2-135m";

/// What to do with the weights of the embedded model.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// List the weights that are here, and those that can be had by name
    List(ModelListArgs),
    /// Fetch weights by name; their checksum is pinned
    Pull(ModelPullArgs),
    /// Take in a GGUF file of your own
    Import(ModelImportArgs),
    /// Forget weights, and remove their file when no other name means it
    Remove(ModelRemoveArgs),
    /// Measure how fast weights are run on this machine
    Bench(ModelBenchArgs),
}

impl ModelCommand {
    /// Whether the output is for machines.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::List(args) => args.json,
            Self::Pull(args) => args.json,
            Self::Import(args) => args.json,
            Self::Remove(_) => false,
            Self::Bench(args) => args.json,
        }
    }
}

#[derive(Debug, Words)]
pub(crate) struct ModelListArgs {
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Words)]
pub(crate) struct ModelPullArgs {
    /// Which; `bowline model list` names them
    #[arg(default_value = DEFAULT)]
    pub(crate) name: String,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Words)]
pub(crate) struct ModelImportArgs {
    /// A GGUF file
    pub(crate) file: PathBuf,
    /// What to call it; without this, as the file is called, without .gguf
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Words)]
pub(crate) struct ModelRemoveArgs {
    /// Which
    pub(crate) name: String,
}

#[derive(Debug, Words)]
pub(crate) struct ModelBenchArgs {
    /// Weights by name, or the path of a GGUF file
    #[arg(default_value = DEFAULT)]
    pub(crate) name: String,
    /// Threads of the engine; without this, one for every core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) threads: Option<u16>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
