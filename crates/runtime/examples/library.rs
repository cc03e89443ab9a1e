//! A durable agent in a few lines: run it, kill it, run it again.
//!
//! `cargo run -p bowline --example library`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::sync::Arc;

use bowline::core::task;
use bowline::store::{Role, SqliteStore};
use bowline::{Engine, Stopped};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join("bowline-library-example");
    std::fs::create_dir_all(&folder)?;
    let script = r#"{"script": 1, "conversations": {"main": [{"say": "Four."}]}}"#;
    std::fs::write(folder.join("model.json"), script)?;

    let store = Arc::new(SqliteStore::open(&folder, Role::Worker)?);
    let engine = Engine::builder(store).home(&folder).build();
    let mut task = task::plain(
        "How much is two and two?",
        &format!("scripted:{}", folder.join("model.json").display()),
    )?;
    task.review = task::Review::Never;
    let (run, stopped) = engine.run_task(task).await?;
    if let Stopped::Ended(ending) = stopped {
        println!("{run}: {}", bowline::core::view::ending_line(&ending));
    }
    Ok(())
}
