//! What the loop is worth: the same small tasks, given to a model once and given to the
//! same model inside Bowline, at several budgets, by an oracle the loop never sees.
//!
//! Results are kept as they come, and a measurement that was interrupted goes on.
//! Nothing here decides about a run: the engine does.

mod book;
mod oracle;
mod player;
mod score;
mod tasks;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tokio::task::JoinSet;

use book::{Book, Played};
use oracle::Oracle;
use player::{Player, Round, Way};
use score::{About, Fate, Figures, Row, Try};
use tasks::Trial;

/// The word under which this program measures the loop.
pub(crate) const WORD: &str = "loop-gain";

const USAGE: &str = "usage: cargo xtask bench loop-gain [--quick] [--model MODEL] [--seeds N] [--calls N] [--rivals N] [--half tuning|held-out]
                                 [--family NAME] [--book FILE] [--out FILE]

  --quick       nine tasks and one seed: whether it works at all
  --model       any model a task may name (default: local:smollm2-135m)
  --seeds N     how often each task is played (default: 5)
  --calls N     most calls of a run (default: 8); tables for 2, 5 and 8, as far as it goes
  --rivals N    other answers that must not hold in the third table (default: 1)
  --half        only the tasks that were looked at while tuning, or only the others
  --family      only extraction, tools or repair
  --book FILE   where every answer is kept, and looked up (default: beside the build)
  --out FILE    writes the tables there, too";

/// Calls of the model a run may make; the most are played, fewer are read off them.
const BUDGETS: [usize; 3] = [2, 5, 8];
/// The budget of the targets.
const FIVE: usize = 5;
/// Runs at work at once: the model answers one after the other, checks run beside it.
const AT_ONCE: usize = 4;
/// What the loop should gain at five times the tokens of a single shot.
const GAIN: f64 = 0.15;
/// False commits that are tolerable.
const FALSE_COMMITS: f64 = 0.05;

struct Asked {
    quick: bool,
    model: String,
    seeds: u32,
    calls: u32,
    rivals: u32,
    half: Option<bool>,
    family: Option<String>,
    book: Option<PathBuf>,
    out: Option<PathBuf>,
}

/// Measures what these words ask for.
pub(crate) fn main(words: &[&str]) -> Result<()> {
    let asked = parse(words)?;
    let trials: Vec<Trial> = tasks::all()?.into_iter().filter(|trial| asked.wants(trial)).collect();
    let trials: Vec<Trial> = if asked.quick { trials.into_iter().step_by(10).collect() } else { trials };
    let trials = Arc::new(trials);
    let path = asked.book.clone().map_or_else(|| beside(&asked.model), Ok)?;
    let book = Arc::new(Book::open(&path)?);
    eprintln!("{} tasks, {} seeds, kept in {}", trials.len(), asked.seeds, path.display());
    let below = tempfile::tempdir()?;
    let player = Arc::new(Player::new(&asked.model, book, below.path())?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut page = format!("model {}, {} tasks, {} seeds\n\n", asked.model, trials.len(), asked.seeds);
    for (title, way) in [
        ("Attempts that know nothing of each other".to_owned(), Way::Blind),
        ("No answer that failed is given again".to_owned(), Way::Unlike),
        (format!("And no rival holds (rivals = {})", asked.rivals), Way::Alone(asked.rivals)),
    ] {
        let played = runtime.block_on(play_all(&player, &trials, &asked, way))?;
        page.push_str(&format!("### {title}\n\n"));
        page.push_str(&tables(&trials, &played, asked.calls)?);
    }
    print!("{page}");
    if let Some(out) = &asked.out {
        std::fs::write(out, page).with_context(|| format!("cannot write {}", out.display()))?;
    }
    Ok(())
}

fn parse(words: &[&str]) -> Result<Asked> {
    let mut asked = Asked {
        quick: false,
        model: "local:smollm2-135m".into(),
        seeds: 5,
        calls: 8,
        rivals: 1,
        half: None,
        family: None,
        book: None,
        out: None,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value\n\n{USAGE}"));
        match *word {
            "--quick" => (asked.quick, asked.seeds) = (true, 1),
            "--model" => asked.model = (*value()?).into(),
            "--seeds" => asked.seeds = value()?.parse()?,
            "--calls" => asked.calls = value()?.parse()?,
            "--rivals" => asked.rivals = value()?.parse()?,
            "--half" => {
                asked.half = Some(match *value()? {
                    "tuning" => true,
                    "held-out" => false,
                    other => bail!("{other:?} is no half\n\n{USAGE}"),
                });
            }
            "--family" => asked.family = Some((*value()?).into()),
            "--book" => asked.book = Some(value()?.into()),
            "--out" => asked.out = Some(value()?.into()),
            other => bail!("{other:?} is not understood\n\n{USAGE}"),
        }
    }
    Ok(asked)
}

impl Asked {
    fn wants(&self, trial: &Trial) -> bool {
        let family = self.family.as_ref().is_none_or(|family| trial.family.word() == family);
        family && self.half.is_none_or(|half| trial.tuning == half)
    }
}

/// A file beside the build, one for each model.
fn beside(model: &str) -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let build = program.parent().and_then(Path::parent).context("this program is nowhere")?;
    let name: String = model.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    Ok(build.join(WORD).join(format!("{name}.jsonl")))
}

/// Plays every task with every seed; the runs of a task are beside each other.
async fn play_all(
    player: &Arc<Player>,
    trials: &Arc<Vec<Trial>>,
    asked: &Asked,
    way: Way,
) -> Result<Vec<Vec<Played>>> {
    let calls = asked.calls;
    let mut wanted = (0..trials.len()).flat_map(|place| (1..=asked.seeds).map(move |seed| (place, seed)));
    let mut done = vec![Vec::new(); trials.len()];
    let mut at_work = JoinSet::new();
    let mut count = 0;
    loop {
        while at_work.len() < AT_ONCE
            && let Some((place, seed)) = wanted.next()
        {
            let (player, trials) = (player.clone(), trials.clone());
            at_work.spawn(async move {
                let trial = trials.get(place).context("no such task")?;
                let played = player.play(trial, Round { seed, way, calls }).await?;
                anyhow::Ok((place, seed, played))
            });
        }
        let Some(finished) = at_work.join_next().await else { break };
        let (place, seed, played) = finished??;
        count += 1;
        if count % 20 == 0 {
            eprintln!("{}: {count} of {}", way.word(), trials.len() * asked.seeds as usize);
        }
        if let Some(runs) = done.get_mut(place) {
            runs.push((seed, played));
        }
    }
    let sorted = done.into_iter().map(|mut runs| {
        runs.sort_by_key(|(seed, _)| *seed);
        runs.into_iter().map(|(_, played)| played).collect()
    });
    Ok(sorted.collect())
}

/// The tables of one way to run the loop.
fn tables(trials: &[Trial], played: &[Vec<Played>], most: u32) -> Result<String> {
    let mut oracle = Oracle::default();
    let pairs = || trials.iter().zip(played);
    oracle.learn(pairs().flat_map(|(trial, runs)| {
        runs.iter().flat_map(move |run| run.said.iter().map(move |said| (trial, said.text.as_str())))
    }))?;
    let mut page = String::new();
    for calls in BUDGETS.into_iter().filter(|calls| *calls <= most as usize) {
        let rows: Vec<Row<'_>> = pairs().map(|(trial, runs)| row(&oracle, trial, runs, calls)).collect();
        // Writing to a text cannot fail.
        let _ = writeln!(page, "At most {calls} calls:\n\n{}", table(&rows));
        if calls == FIVE {
            let _ = writeln!(page, "{}\n", verdict(&rows));
        }
    }
    Ok(page)
}

fn row<'t>(oracle: &Oracle, trial: &'t Trial, runs: &[Played], calls: usize) -> Row<'t> {
    let lives: Vec<(Vec<Try>, bool)> = runs
        .iter()
        .map(|run| {
            let tries = run.said.iter().map(|said| Try {
                right: oracle.is_right(trial, &said.text),
                tokens: said.tokens.iter().sum(),
                ms: said.ms,
                rival: said.rival,
            });
            (tries.collect(), run.committed)
        })
        .collect();
    Row {
        trial,
        single: lives.iter().map(|(tries, _)| score::single(tries)).collect(),
        looped: lives.iter().map(|(tries, committed)| score::within(tries, *committed, calls)).collect(),
    }
}

/// One table: a single shot beside the loop.
fn table(rows: &[Row<'_>]) -> String {
    let mut page = String::from(
        "| tasks | single shot | loop | gain [95 %] | false commits | not committed | tokens (single) | seconds (single) |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for about in About::LINES {
        let of: Vec<&Row<'_>> = rows.iter().filter(|row| about.has(row.trial)).collect();
        if of.is_empty() {
            continue;
        }
        let figures = |fates: fn(&'_ Row<'_>) -> Vec<Fate>| {
            let all: Vec<Fate> = of.iter().flat_map(|row| fates(row)).collect();
            Figures::of(all.iter())
        };
        let (one, many) = (figures(|row| row.single.clone()), figures(|row| row.looped.clone()));
        let (gain, [low, high]) = score::gain(&of);
        let _ = writeln!(
            page,
            "| {} ({}) | {:.1} % | {:.1} % | {:+.1} [{:+.1}, {:+.1}] | {:.1} % | {:.1} % | {:.0} ({:.0}) | {:.1} ({:.1}) |",
            about.word(),
            of.len(),
            one.success * 100.0,
            many.success * 100.0,
            gain * 100.0,
            low * 100.0,
            high * 100.0,
            many.false_commits * 100.0,
            many.failed * 100.0,
            many.tokens,
            one.tokens,
            many.seconds,
            one.seconds,
        );
    }
    page
}

/// Whether the targets are met, in words.
fn verdict(rows: &[Row<'_>]) -> String {
    let (gain, _) = score::gain(&rows.iter().collect::<Vec<_>>());
    let fates: Vec<Fate> = rows.iter().flat_map(|row| row.looped.clone()).collect();
    let wrong = Figures::of(fates.iter()).false_commits;
    let word = |met: bool| if met { "met" } else { "**missed**" };
    format!(
        "Targets: a gain of {:.0} points or more: {} ({:+.1}); false commits of {:.0} % or less: {} ({:.1} %).",
        GAIN * 100.0,
        word(gain >= GAIN),
        gain * 100.0,
        FALSE_COMMITS * 100.0,
        word(wrong <= FALSE_COMMITS),
        wrong * 100.0
    )
}
