//! A batch: some runs that share a home, a ledger and a client log, each killed
//! and resumed until it has ended, and then judged together.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::bowline::{Bowline, Ended, Errand, Finished};
use super::error::KillError;
use super::fault::{self, Fault};
use super::journal::{self, Question};
use super::life::{Life, Watch};
use super::moment::{self, Aim, Counts, Moment};
use super::scenario::{After, Scenario, Stage, World};
use super::{CLEAN, Crew, Violation, states};
use crate::chance::Draw;
use crate::ledger::wire::EntryKind;
use crate::oracle::{self, ClientLine, ClientLog, Evidence, LedgerProcess, ToldEnding};
use crate::tool;

/// Most processes one run may need; a run that needs more does not get on.
const PROCESSES_MAX: u32 = 60;
/// Kills in a row without a process that comes to its end by itself.
const DEPTH_MAX: u32 = 5;

/// Runs that are judged together.
pub(super) struct Batch<'a> {
    pub(super) crew: &'a Crew,
    pub(super) folder: PathBuf,
    pub(super) bowline: Bowline,
    pub(super) ledger: LedgerProcess,
    number: u64,
    world: World,
    log: ClientLog,
    chance: Draw,
    lives: Vec<Life>,
    /// State hashes, as lines for the checker.
    states: Vec<Value>,
    violations: Vec<Violation>,
}

/// Whether a run goes on.
enum Course {
    On,
    Over,
}

impl<'a> Batch<'a> {
    /// An empty batch, with its ledger running.
    pub(super) fn open(crew: &'a Crew, number: u64) -> Result<Self, KillError> {
        let name = if number == CLEAN { "clean".into() } else { format!("b{number}") };
        let folder = crew.folder.join(name);
        for name in ["home", "ledger", "journal"] {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(KillError::io(&path))?;
        }
        let world = World { sim: crew.sim.clone(), ledger: folder.join("ledger") };
        Ok(Self {
            crew,
            number,
            bowline: Bowline { program: crew.bowline.clone(), home: folder.join("home") },
            ledger: LedgerProcess::start(&crew.sim, &world.ledger)?,
            log: ClientLog::open(&folder.join("client.jsonl"))?,
            chance: Draw::part(crew.seed, number),
            world,
            folder,
            lives: Vec::new(),
            states: Vec::new(),
            violations: Vec::new(),
        })
    }

    /// Takes a run through everything that is done with it, killing it on the way.
    pub(super) fn live(&mut self, aim: Aim) -> Result<(), KillError> {
        let mut life = self.begin(aim.scenario, Some(aim))?;
        self.go_on(&mut life)?;
        self.lives.push(life);
        Ok(())
    }

    /// The same, with nobody killed: what was seen of each leg.
    pub(super) fn watch(
        &mut self,
        scenario: Scenario,
        traced: bool,
    ) -> Result<Vec<(Counts, u64)>, KillError> {
        let mut life = self.begin(scenario, None)?;
        life.watch = Some(Watch { traced, legs: Vec::new() });
        self.go_on(&mut life)?;
        let legs = life.watch.take().map(|watch| watch.legs).unwrap_or_default();
        self.lives.push(life);
        Ok(legs)
    }

    /// The system calls of a run that nobody hurts.
    pub(super) fn trace_faults(&mut self, scenario: Scenario) -> Result<String, KillError> {
        let mut life = self.begin(scenario, None)?;
        let (task, trace) = (life.stage.task(), life.stage.folder.join("faults.trace"));
        let notes = life.stage.folder.join("p0");
        let finished = self.bowline.suffer(life.errand(&task), None, &trace, &notes)?;
        self.told(&mut life, &finished)?;
        self.go_on(&mut life)?;
        self.lives.push(life);
        fs::read_to_string(&trace).map_err(KillError::io(&trace))
    }

    /// One process with a fault, and then as many as it takes without one. Whether the
    /// fault came to act.
    pub(super) fn suffer(&mut self, scenario: Scenario, fault: Fault) -> Result<bool, KillError> {
        let mut life = self.begin(scenario, None)?;
        let (task, trace) = (life.stage.task(), life.stage.folder.join("faults.trace"));
        let notes = life.stage.folder.join("p0");
        let finished = self.bowline.suffer(life.errand(&task), Some(fault), &trace, &notes)?;
        self.told(&mut life, &finished)?;
        let text = fs::read_to_string(&trace).map_err(KillError::io(&trace))?;
        if let Some(line) = fault::wrote_after_a_failed_sync(&text) {
            self.violation("S1", format!("{}: {}: the store goes on: {line}", life.name(), fault.name()));
        }
        self.go_on(&mut life)?;
        self.lives.push(life);
        Ok(finished.ended == Ended::Killed || fault::has_struck(&text))
    }

    /// Writes the scenario and announces it.
    pub(super) fn begin(&mut self, scenario: Scenario, aim: Option<Aim>) -> Result<Life, KillError> {
        let nth = self.lives.len();
        let folder = self.folder.join(format!("r{nth}"));
        fs::create_dir_all(&folder).map_err(KillError::io(&folder))?;
        let stage = Stage::set(scenario, &folder, &self.world).map_err(KillError::io(&folder))?;
        let key = format!("b{}-r{nth}", self.number);
        self.log.write(&ClientLine::Submit { key: key.clone(), task: scenario.word().into() })?;
        self.crew.count(|tally| *tally.runs.entry(scenario).or_default() += 1);
        Ok(Life::new(stage, key, aim))
    }

    /// Starts processes until everything is over.
    pub(super) fn go_on(&mut self, life: &mut Life) -> Result<(), KillError> {
        for _ in 0..PROCESSES_MAX {
            let moment = life.next.take().filter(|_| self.crew.goal.take());
            let finished = self.start(life, moment)?;
            let course = match finished.ended {
                Ended::Killed => self.killed(life, moment)?,
                Ended::Exited(code) => {
                    if moment.is_some() {
                        self.crew.goal.give_back();
                        self.crew.count(|tally| tally.missed += 1);
                    }
                    life.depth = 0;
                    self.exited(life, code, &finished)?
                }
            };
            if let Course::Over = course {
                return Ok(());
            }
        }
        self.violation("E1", format!("{} has not ended after {PROCESSES_MAX} processes", life.name()));
        Ok(())
    }

    /// Notes that somebody added a run on purpose.
    pub(super) fn keep(&mut self, life: Life) {
        self.lives.push(life);
    }

    /// One process, killed at the moment if there is one.
    pub(super) fn start(&mut self, life: &mut Life, moment: Option<Moment>) -> Result<Finished, KillError> {
        let nth = life.printed.len();
        let task = life.stage.task();
        let errand = life.errand(&task);
        self.crew.count(|tally| match errand {
            Errand::Resume { .. } => tally.resumed += 1,
            Errand::Run { .. } if nth > 0 => tally.resubmitted += 1,
            Errand::Run { .. } | Errand::Undo { .. } | Errand::Migrate => {}
        });
        let notes = life.stage.folder.join(format!("p{nth}"));
        let clean_ms = self.crew.clean_ms(life.scenario(), life.leg);
        let finished = match &life.watch {
            Some(Watch { traced: true, .. }) => {
                let trace = notes.with_extension("trace");
                self.bowline.trace(errand, &trace, &notes)?
            }
            Some(Watch { traced: false, .. }) | None => {
                self.bowline.work(errand, moment, clean_ms, &notes)?
            }
        };
        if let Some(watch) = &mut life.watch {
            let trace = notes.with_extension("trace");
            let text = if watch.traced {
                fs::read_to_string(&trace).map_err(KillError::io(&trace))?
            } else {
                String::new()
            };
            watch.legs.push((moment::count(&text), finished.took_ms));
        }
        self.told(life, &finished)?;
        Ok(finished)
    }

    /// Notes what a process printed; the first that names the run acknowledges it.
    fn told(&mut self, life: &mut Life, finished: &Finished) -> Result<(), KillError> {
        life.printed.push(finished.printed.clone());
        if life.run.is_none()
            && let Some(run) = journal::run_of(&finished.printed)
        {
            self.log.write(&ClientLine::Ack { key: life.key.clone(), run: run.clone() })?;
            life.run = Some(run);
        }
        Ok(())
    }

    fn killed(&mut self, life: &mut Life, moment: Option<Moment>) -> Result<Course, KillError> {
        let Some(moment) = moment else {
            self.violation("E1", format!("{} died of a SIGKILL that was not ours", life.name()));
            return Ok(Course::Over);
        };
        life.depth += 1;
        life.kills.push((life.printed.len().saturating_sub(1), life.depth));
        self.crew.goal.made(life.depth);
        self.crew.count(|tally| tally.kill(moment, life.depth, life.aimed(moment)));
        if let Some(run) = &life.run {
            self.log.killed(run)?;
            self.log.write(&ClientLine::End { run: run.clone(), ending: None, exit: None })?;
        }
        if life.undo().is_some() {
            life.interrupted = true;
            life.resumes = self.chance.below(2) == 0;
        }
        if life.depth < DEPTH_MAX && self.chance.below(1000) < self.crew.goal.permille_deeper(life.depth) {
            life.next = Some(Moment::early(&mut self.chance));
        }
        Ok(Course::On)
    }

    fn exited(&mut self, life: &mut Life, code: i32, finished: &Finished) -> Result<Course, KillError> {
        let is_undo = life.undo().is_some() && !life.resumes;
        let ending = match code {
            _ if is_undo => None,
            0 => Some(ToldEnding::Committed),
            1 | 5 => Some(ToldEnding::Failed),
            3 => Some(ToldEnding::Halted),
            _ => None,
        };
        if let Some(run) = &life.run {
            self.log.write(&ClientLine::End { run: run.clone(), ending, exit: Some(code) })?;
        }
        if code == 2 && finished.complained.contains("in use") {
            // A child of the dead process may hold its lock until it has become a program.
            self.crew.count(|tally| tally.locked_out += 1);
            return Ok(Course::On);
        }
        if is_undo {
            return self.undo_exited(life, code, finished);
        }
        if code == 4 && life.undo().is_none() && self.answer(life)? {
            self.next_leg(life);
            return Ok(Course::On);
        }
        if code != life.scenario().exit() {
            return self.wrong(life, code, finished);
        }
        if life.resumes {
            // It went on with the undo, or there was none yet: asking for it tells.
            life.resumes = false;
            return Ok(Course::On);
        }
        self.afterwards(life)
    }

    fn undo_exited(&mut self, life: &mut Life, code: i32, finished: &Finished) -> Result<Course, KillError> {
        let said = &finished.complained;
        let is_right = match life.undo() {
            // One that was killed may have been over.
            Some((false, 1)) if life.interrupted && code == 2 => said.contains("nothing to undo"),
            Some((false, 2)) => code == 2 && said.contains("changed since"),
            Some((_, exit)) => code == exit,
            None => false,
        };
        if !is_right {
            return self.wrong(life, code, finished);
        }
        self.crew.count(|tally| tally.undone += 1);
        self.afterwards(life)
    }

    fn wrong(&mut self, life: &Life, code: i32, finished: &Finished) -> Result<Course, KillError> {
        let said = finished.complained.trim();
        self.violation("E1", format!("{} ended with exit code {code}: {said}", life.name()));
        Ok(Course::Over)
    }

    /// What happens after an ending, up to the next undo.
    fn afterwards(&mut self, life: &mut Life) -> Result<Course, KillError> {
        loop {
            match life.over() {
                Some(After::Change) => {
                    life.stage.change().map_err(KillError::io(&life.stage.folder))?;
                }
                Some(After::Mend) => {
                    let path = tool::mended(&self.world.ledger, life.run.as_deref().unwrap_or_default());
                    fs::write(&path, "").map_err(KillError::io(&path))?;
                }
                Some(After::Undo { .. }) => {
                    self.next_leg(life);
                    return Ok(Course::On);
                }
                None => return Ok(Course::Over),
            }
        }
    }

    fn next_leg(&mut self, life: &mut Life) {
        if life.next_leg() && self.chance.below(3) == 0 {
            life.next = Some(Moment::early(&mut self.chance));
        }
    }

    /// Plays the person: says yes or no, and tells the truth as the ledger knows it.
    /// False if nothing was asked.
    fn answer(&mut self, life: &Life) -> Result<bool, KillError> {
        let Some(run) = &life.run else { return Ok(false) };
        let notes = life.stage.folder.join("answer");
        let exported = self.bowline.ask(&["export", run, "--json"], &notes)?.printed;
        let questions = journal::questions(&journal::events(&exported));
        for question in &questions {
            match question {
                Question::Approve { subject } if life.scenario().denies(subject) => {
                    self.bowline.ask(&["deny", run, subject, "--reason", "not this one"], &notes)?;
                    self.crew.count(|tally| tally.denied += 1);
                }
                Question::Approve { subject } => {
                    self.bowline.ask(&["approve", run, subject, "--yes"], &notes)?;
                    self.crew.count(|tally| tally.approved += 1);
                }
                Question::Settle { action } => self.settle(run, action, &notes)?,
            }
        }
        Ok(!questions.is_empty())
    }

    fn settle(&self, run: &str, action: &str, notes: &std::path::Path) -> Result<(), KillError> {
        let entries = self.ledger.dump()?;
        let effect = entries
            .iter()
            .find(|entry| entry.kind == EntryKind::Effect && entry.run == run && entry.action == action);
        match effect {
            Some(entry) => {
                let result = entry.result().to_string();
                self.bowline.ask(&["settle", run, action, "--happened", "--result", &result], notes)?;
                self.crew.count(|tally| tally.settled.0 += 1);
            }
            None => {
                self.bowline.ask(&["settle", run, action, "--repeat"], notes)?;
                self.crew.count(|tally| tally.settled.1 += 1);
            }
        }
        Ok(())
    }

    /// Judges the batch: files, what was shown, the audit, and the checker.
    pub(super) fn close(mut self) -> Result<Vec<Violation>, KillError> {
        let lives = std::mem::take(&mut self.lives);
        for life in &lives {
            self.examine(life)?;
        }
        let audit = self.bowline.ask(&["audit", "verify"], &self.folder.join("audit"));
        if let Err(KillError::Refused { complained, .. }) = &audit {
            self.violation("A1", format!("the audit found something wrong: {complained}"));
        } else {
            audit?;
        }
        let evidence = Evidence {
            client: self.folder.join("client.jsonl"),
            ledger: self.ledger.file(),
            journal: self.folder.join("journal"),
            states: Some(self.folder.join("states.jsonl")),
        };
        if let Some(path) = &evidence.states {
            let lines: String = self.states.iter().map(|line| format!("{line}\n")).collect();
            fs::write(path, lines).map_err(KillError::io(path))?;
        }
        self.ledger.stop()?;
        let entries = oracle::read_ledger(&evidence.ledger)?.len() as u64;
        let verdict = oracle::check(&self.crew.checker, &evidence)?;
        let is_bad = |line: &&String| !line.contains(": ok, ") && !line.contains(": examined nothing");
        let found = verdict.lines.iter().filter(is_bad).filter(|_| !verdict.is_clean);
        self.violations.extend(found.map(|line| Violation(line.clone())));
        self.crew.count(|tally| {
            tally.entries += entries;
            tally.batches += u64::from(verdict.is_clean);
        });
        Ok(self.violations)
    }

    fn examine(&mut self, life: &Life) -> Result<(), KillError> {
        let Some(run) = &life.run else {
            self.violation("E1", format!("{} never told its run", life.name()));
            return Ok(());
        };
        let notes = life.stage.folder.join("export");
        let exported = self.bowline.ask(&["export", run, "--json"], &notes)?.printed;
        let path = self.folder.join("journal").join(format!("{run}.jsonl"));
        fs::write(&path, &exported).map_err(KillError::io(&path))?;
        let events = journal::events(&exported);
        for printed in &life.printed {
            for lost in journal::shown_and_lost(printed, &events) {
                self.violation("V1", format!("{}: {lost}", life.name()));
            }
        }
        let states = states::of_run(&self.bowline, run, &life.printed, &notes)?;
        let told = states.iter().filter(|line| line.get("state").is_some()).count() as u64;
        if told == 0 {
            self.violation("O10", format!("{}: no process told the state it worked from", life.name()));
        }
        self.states.extend(states);
        self.crew.count(|tally| tally.states += told);
        let told = life.printed.iter().filter_map(|printed| journal::told_head(printed));
        for told in told.filter(|told| !journal::is_head(&exported, told)) {
            self.violation("V1", format!("{}: ended with head {told}, which it has not", life.name()));
        }
        let copy = self.bowline.home.join("workspaces").join(run);
        let is_write = |body: &Value| body.get("image").is_some_and(|image| !image.is_null());
        let written = journal::count(&events, "call_started", is_write) > 0;
        let failed =
            journal::count(&events, "call_finished", |body| body.get("outcome") != Some(&"ok".into()));
        let wrote = written && failed == 0;
        let wrong = life.stage.wrong_files(&copy, wrote).map_err(KillError::io(&copy))?;
        for file in wrong {
            self.violation("F1", format!("{}: {file}", life.name()));
        }
        let shown = life.printed.iter().map(|printed| journal::shown(printed)).sum::<u64>();
        let places = life.kills.iter().map(|(process, depth)| {
            // What the next process shows first is what this one did not write any more.
            let later = life.printed.iter().skip(process + 1);
            let next = later.filter_map(|printed| journal::first_shown(printed)).next();
            (journal::inside(&events, next.unwrap_or(u64::MAX)), *depth > 1)
        });
        let places: Vec<_> = places.collect();
        self.crew.count(|tally| {
            places.into_iter().for_each(|place| *tally.inside.entry(place).or_default() += 1);
            tally.alerts += journal::count(&events, "alert_raised", |_| true);
            tally.compensated += journal::count(&events, "compensated", |body| {
                body.get("outcome") == Some(&"compensated".into())
            });
            tally.rerouted += journal::count(&events, "step_started", |body| body.get("sent").is_some());
            tally.events += events.len() as u64;
            tally.shown += shown;
            tally.probed += journal::probed(&events);
        });
        Ok(())
    }

    fn violation(&mut self, check: &str, text: String) {
        self.violations.push(Violation(format!("{check}: {text}")));
    }
}
