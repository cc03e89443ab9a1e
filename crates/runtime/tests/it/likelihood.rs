//! How likely a model finds its words goes with the step into the journal and from there
//! into what a run is sure of.

use bowline::Stopped;
use bowline::core::control::Ppm;
use bowline::core::event::{Ending, Event};
use bowline::core::view;
use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn what_a_model_tells_of_its_words_is_in_the_journal_and_in_the_confidence() {
    let world = World::new(json!({ "main": [{ "say": "12", "likelihood": 0.93 }] }));
    let task = world.task(json!({ "check": [{ "name": "number", "matches": "^[0-9]+$" }] }));
    let (run, stopped) = world.engine().run_task(task).await.unwrap();
    assert!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "{stopped:?}");
    let events = world.events(&run).await;
    let told: Vec<Option<Ppm>> =
        events
            .iter()
            .filter_map(|event| {
                if let Event::StepFinished { likelihood, .. } = event { Some(*likelihood) } else { None }
            })
            .collect();
    assert_eq!(told, [Some(Ppm(930_000))]);
    let assurance = world.engine().inspect(&run).await.unwrap().run.assurance.unwrap();
    assert_eq!(assurance.confidence.unwrap().features.likely, Some(Ppm(930_000)));
    let shown = view::assured(&assurance).join("\n");
    assert!(shown.contains("likelihood 0.930"), "{shown}");
}
