//! The embedded model in this program: where its weights are kept, how they get there,
//! and which runs share one.
//!
//! Weights are kept in one folder for all homes: `$BOWLINE_MODELS`, else
//! `$XDG_CACHE_HOME/bowline/models`, else `~/.cache/bowline/models`.
//!
//! Invariants
//! - A weights file is loaded at most once at a time, at its first use, off the async
//!   threads.
//! - Opening a model fetches nothing; [`prepare`] and `bowline model pull` do, and
//!   [`prepare`] does not for a sovereign run.

mod hub;
mod pull;
mod shelf;

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bowline::{Clock as _, SystemClock};
use bowline_core::task::suggest;
use bowline_local::Clock;
use bowline_local::weights::{CATALOGUE, Kept, Store, WeightsError, named};

use crate::error::CliError;
use crate::render::words;
use crate::taskfile::is_weights_path;

pub(crate) use pull::{prepare, pull};
pub(crate) use shelf::Shelf;

/// Weights that cannot be used as they were named: what is wrong, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(crate) struct Unusable {
    what: String,
    remedy: String,
}

impl From<Unusable> for CliError {
    fn from(unusable: Unusable) -> Self {
        Self::refused(unusable.what, unusable.remedy)
    }
}

impl From<WeightsError> for CliError {
    fn from(error: WeightsError) -> Self {
        Self::refused(error.to_string(), error.remedy())
    }
}

/// The store of weights of this user.
pub(crate) fn store() -> Result<Store, Unusable> {
    folder().map(|folder| Store::new(&folder)).ok_or_else(|| Unusable {
        what: "there is no place to keep weights: no home folder".into(),
        remedy: "set BOWLINE_MODELS to a folder".into(),
    })
}

fn folder() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|set| !set.is_empty()).map(PathBuf::from);
    let cache = || set("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let cache = || cache().or_else(|| env::home_dir().map(|home| home.join(".cache")));
    set("BOWLINE_MODELS").or_else(|| cache().map(|cache| cache.join("bowline").join("models")))
}

/// The file that is meant by a name or a path.
pub(crate) fn find(store: &Store, name_or_path: &str) -> Result<PathBuf, Unusable> {
    if is_weights_path(name_or_path) {
        return Ok(Path::new(name_or_path).to_owned());
    }
    store.kept(name_or_path).map(|kept| kept.path).ok_or_else(|| absent(store, name_or_path))
}

/// Why there are no weights of a name here: not fetched yet, mistyped, or unknown.
pub(crate) fn absent(store: &Store, name: &str) -> Unusable {
    let shown: String = name.chars().take(80).collect();
    if let Some(weights) = named(name) {
        return Unusable {
            what: format!("the weights {name} are not on this machine"),
            remedy: format!(
                "`bowline model pull {name}` fetches them, {} bytes",
                words::count(weights.bytes)
            ),
        };
    }
    // A folder that cannot be read has nothing to offer.
    let kept = store.list().unwrap_or_default();
    let here: Vec<&str> = kept.iter().map(|kept| kept.name.as_str()).collect();
    let offered: Vec<&str> = CATALOGUE.iter().map(|weights| weights.name).collect();
    let known = here.iter().chain(&offered).copied();
    let remedy = match suggest::nearest(name, known) {
        Some(near) => format!("did you mean {near}?"),
        None => "name one of these, or a path that ends in .gguf".into(),
    };
    let here = if here.is_empty() { "none".into() } else { here.join(", ") };
    Unusable {
        what: format!(
            "there are no weights called {shown:?}; here are: {here}; `bowline model pull` offers: {}",
            offered.join(", ")
        ),
        remedy,
    }
}

/// The licence of what is kept, where it is known.
pub(crate) fn licence(kept: &Kept) -> Option<&'static str> {
    CATALOGUE.iter().find(|weights| weights.sha256 == kept.sha256).map(|weights| weights.licence)
}

/// The machine's clock, for speeds.
pub(crate) fn clock() -> Clock {
    let clock = SystemClock::default();
    Arc::new(move || Duration::from_millis(clock.now().0))
}
