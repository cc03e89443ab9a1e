//! Which models this program can open: the embedded one, those on servers, and those of
//! `bowline-models`.
//!
//! Nothing here calls a model.

use std::path::Path;
use std::sync::Arc;

use bowline::ModelSource;
use bowline_core::task::Task;
use bowline_models::{Model, OpenModelError};
use bowline_remote::Remotes;

use crate::local::Shelf;

/// How the embedded model is named in a task.
const LOCAL: &str = "local:NAME-OR-PATH";

/// The models of this process. Runs that name the same weights share one model.
#[derive(Default)]
pub(crate) struct Models {
    shelf: Shelf,
    remotes: Remotes,
}

impl ModelSource for Models {
    fn open(&self, task: &Task, model: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        if let Some(weights) = local_weights(model) {
            return self.shelf.open(weights);
        }
        let remote = self.remotes.open(task, model);
        remote.unwrap_or_else(|| {
            let opened = bowline_models::open(model, Path::new("."));
            opened.map_err(|error| error.knowing(&[LOCAL]).knowing(&bowline_remote::KINDS))
        })
    }
}

/// The weights a reference names, if it means the embedded model.
pub(crate) fn local_weights(model: &str) -> Option<&str> {
    model.strip_prefix("local:").filter(|weights| !weights.is_empty())
}
