//! A small world for engine tests: a folder, a store in memory, a script.

use std::path::PathBuf;
use std::sync::Arc;

use bowline::core::event::Event;
use bowline::core::id::RunId;
use bowline::core::task::{self, Task};
use bowline::models::scripted::{Script, Scripted};
use bowline::models::{Model, OpenModelError};
use bowline::store::{MemoryStore, RunStore};
use bowline::{Engine, EngineBuilder, ModelSource, Patience, history};
use serde_json::{Value, json};

/// Where a test takes place.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: Arc<dyn RunStore>,
    script: Value,
}

struct OneScript(Value);

impl ModelSource for OneScript {
    fn open(&self, _task: &Task, _: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        Ok(Arc::new(Scripted::new(Script::from_value(self.0.clone()).expect("a good script"))))
    }
}

impl World {
    pub(crate) fn new(conversations: Value) -> Self {
        Self::on(Arc::new(MemoryStore::default()), conversations)
    }

    pub(crate) fn on(store: Arc<dyn RunStore>, conversations: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("project")).unwrap();
        let script = json!({ "script": 1, "conversations": conversations });
        Self { folder, store, script }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        std::fs::write(self.project().join(path), text).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.project().join(path)).unwrap()
    }

    /// A task from its raw form; goal, model and workspace are filled in.
    pub(crate) fn task(&self, mut raw: Value) -> Task {
        let fields = raw.as_object_mut().unwrap();
        fields.entry("goal").or_insert("Do it".into());
        fields.entry("sandbox").or_insert("none".into());
        fields.entry("model").or_insert("scripted:none".into());
        fields.insert("workspace".into(), json!({ "path": self.project().display().to_string() }));
        task::parse(&raw).unwrap()
    }

    pub(crate) fn engine(&self) -> Engine {
        self.builder().build()
    }

    pub(crate) fn builder(&self) -> EngineBuilder {
        Engine::builder(self.store.clone())
            .home(self.folder.path())
            .models(Arc::new(OneScript(self.script.clone())))
            .patience(Patience::LeaveWhenWaiting)
    }

    pub(crate) async fn events(&self, run: &RunId) -> Vec<Event> {
        let events = history(self.store.as_ref(), run, 1, u64::MAX).await.unwrap();
        events.into_iter().map(|(_, _, event)| event).collect()
    }
}
