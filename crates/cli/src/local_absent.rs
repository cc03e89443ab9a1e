//! What stands for the embedded model in a build without it: refusals that say so.

use std::sync::Arc;

use bowline_core::task::Task;
use bowline_models::{Model, OpenModelError};

use crate::command::Desk;
use crate::error::CliError;

const WHAT: &str = "this build of Bowline has no embedded model";
const REMEDY: &str =
    "build it with the feature `local-model`, which is on by default, or choose another model";

/// No models.
#[derive(Default)]
pub(crate) struct Shelf;

impl Shelf {
    /// Says that there is none.
    pub(crate) fn open(&self, _: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        Err(OpenModelError::Source { remedy: REMEDY.into(), source: WHAT.into() })
    }
}

/// Nothing can be fetched; whoever opens the model is told why.
pub(crate) async fn prepare(_: &Desk<'_>, _: &Task) -> Result<(), CliError> {
    Ok(())
}

/// What every command about the embedded model says.
pub(crate) fn refused() -> CliError {
    CliError::refused(WHAT, REMEDY)
}
