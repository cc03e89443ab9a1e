//! Models that are loaded, or will be when somebody asks them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use async_trait::async_trait;
use bowline_core::budget::Price;
use bowline_core::event::StepTrouble;
use bowline_local::weights::examine;
use bowline_local::{LoadError, LocalModel, Settings};
use bowline_models::{Answer, Model, ModelError, OpenModelError, Request, Watcher};
use tokio::sync::OnceCell;

use super::{Unusable, clock, find, store};

/// The models of this process, by file. One that no run holds any more is let go.
#[derive(Default)]
pub(crate) struct Shelf {
    opened: Mutex<BTreeMap<PathBuf, Weak<Shelved>>>,
}

impl Shelf {
    /// The model of these weights. Their header is read now; they are loaded when the
    /// model is asked for the first time.
    pub(crate) fn open(&self, name_or_path: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        let found = store().and_then(|store| find(&store, name_or_path)).map_err(unusable)?;
        // A path that leads nowhere is named by whoever reads it.
        let path = found.canonicalize().unwrap_or(found);
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        // What nobody holds is forgotten, so there are no more entries than runs at work.
        opened.retain(|_, model| model.strong_count() > 0);
        if let Some(model) = opened.get(&path).and_then(Weak::upgrade) {
            return Ok(model);
        }
        let context = examine(&path).map_err(|error| unusable(bad(&error)))?;
        let context = Settings::new(clock()).context(context);
        let model = Arc::new(Shelved { path: path.clone(), context, loaded: OnceCell::new() });
        opened.insert(path, Arc::downgrade(&model));
        Ok(model)
    }
}

/// A model that is loaded at its first use.
struct Shelved {
    path: PathBuf,
    context: usize,
    loaded: OnceCell<LocalModel>,
}

#[async_trait]
impl Model for Shelved {
    async fn call(&self, request: Request, watch: &dyn Watcher) -> Result<Answer, ModelError> {
        let model = self.loaded.get_or_try_init(|| load(&self.path)).await?;
        model.call(request, watch).await
    }

    fn price(&self) -> Option<Price> {
        Some(Price::FREE)
    }

    fn context_tokens(&self) -> Option<u64> {
        u64::try_from(self.context).ok()
    }

    fn is_remote(&self) -> bool {
        false
    }
}

async fn load(path: &Path) -> Result<LocalModel, ModelError> {
    let path = path.to_owned();
    let loading = tokio::task::spawn_blocking(move || LocalModel::open(&path, Settings::new(clock())));
    let trouble = |kind, message| ModelError { kind, message, retry_after_ms: None };
    match loading.await {
        Ok(Ok(model)) => Ok(model),
        Ok(Err(error)) => Err(trouble(StepTrouble::Permanent, format!("{error}; {}", error.remedy()))),
        Err(_) => Err(trouble(StepTrouble::Transient, "the weights were not loaded to their end".into())),
    }
}

fn bad(error: &LoadError) -> Unusable {
    Unusable { what: error.to_string(), remedy: error.remedy().into() }
}

fn unusable(unusable: Unusable) -> OpenModelError {
    OpenModelError::Source { remedy: unusable.remedy.clone(), source: Box::new(unusable) }
}
