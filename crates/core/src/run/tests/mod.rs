//! Tests of the run machine, as transcripts.
//!
//! A transcript is a text of inputs (`> …`, see [`script`]), questions about the
//! state (`? …`) and, below each, what followed, one line for every event.
//! [`check`] plays the inputs and compares the whole text, so an expectation is
//! read as the story of a run. [`drive`] checks after every decision what must
//! hold of any run at any time.

mod acting;
mod asides;
mod attempts;
mod audit;
mod breakers;
mod budget;
mod build;
mod calls;
mod causing;
mod chaos;
mod committing;
mod consent;
mod context;
mod controlling;
mod critiquing;
mod doubt;
mod drive;
mod escalating;
mod falling_back;
mod guard;
mod judging;
mod landing;
mod likelihood;
mod limits;
mod people;
mod planning;
mod promoting;
mod recovery;
mod reducing;
mod remedying;
mod repairing;
mod returning;
mod routing;
mod script;
mod show;
mod stopping;
mod tree;
mod trust;
mod undoing;
mod verifying;
mod world;

use build::Setup;
use drive::Driver;

/// Plays a transcript of a run that was claimed and has no evidence to read.
#[track_caller]
fn check(setup: &Setup, transcript: &str) -> Driver {
    let mut driver = Driver::new(&setup.0);
    driver.feed(script::claim(1)).unwrap();
    play(driver, transcript)
}

/// Plays a transcript from the submission on.
#[track_caller]
fn check_from_start(setup: &Setup, transcript: &str) -> Driver {
    play(Driver::new(&setup.0), transcript)
}

#[track_caller]
fn play(mut driver: Driver, transcript: &str) -> Driver {
    let mut told: Vec<String> = Vec::new();
    let rows = transcript.lines().map(str::trim).filter(|row| !row.is_empty());
    let rows: Vec<&str> = rows.collect();
    for row in &rows {
        if let Some(question) = row.strip_prefix("? ") {
            told.push((*row).into());
            told.extend(answer(&driver, question));
        } else if let Some(input) = row.strip_prefix("> ") {
            told.push((*row).into());
            told.extend(feed(&mut driver, input));
            driver.check_replay();
        }
    }
    let (told, expected) = (told.join("\n"), rows.join("\n"));
    assert!(told == expected, "what happened:\n{told}\n\nwhat was expected:\n{expected}\n");
    driver
}

/// Feeds one line, which may begin with the time that passes first (`+500`), and
/// with `hold` for a process that is about to stop.
fn feed(driver: &mut Driver, line: &str) -> Vec<String> {
    let (passes, line) = match line.strip_prefix('+').and_then(|rest| rest.split_once(' ')) {
        Some((passes, rest)) => (passes.parse().unwrap(), rest),
        None => (0, line),
    };
    driver.now = driver.now.plus(passes);
    let decided = match line.strip_prefix("hold ") {
        Some(line) => driver.hold(script::what(driver, line)),
        None => driver.feed(script::what(driver, line)),
    };
    match decided {
        Ok(events) => events.iter().map(show::event).collect(),
        Err(refused) => vec![format!("refused: {refused}")],
    }
}

/// What the state says to a question.
fn answer(driver: &Driver, question: &str) -> Vec<String> {
    let run = &driver.run;
    let (topic, about) = question.split_once(' ').unwrap_or((question, ""));
    let line = match topic {
        "due" => show::due(run),
        "wakes" => show::wakes(run),
        "waits" => show::waits(run),
        "phase" => run.phase.word().into(),
        "needs-person" => run.needs_person().to_string(),
        "talk" => return show::talk(run, about),
        other => panic!("{other} is no question"),
    };
    if line.is_empty() { vec!["nothing".into()] } else { vec![line] }
}
