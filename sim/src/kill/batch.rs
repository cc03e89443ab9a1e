//! A batch: some runs that share a home, a ledger and a client log, each killed
//! and resumed until it has ended, and then judged together.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::bowline::{Bowline, Ended, Errand, Finished};
use super::error::KillError;
use super::journal::{self, Question};
use super::moment::Moment;
use super::scenario::{Scenario, Stage, World};
use super::{Crew, Violation, states};
use crate::chance::Draw;
use crate::ledger::wire::EntryKind;
use crate::oracle::{self, ClientLine, ClientLog, Evidence, LedgerProcess, ToldEnding};

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

/// One run, from its submission to its ending.
pub(super) struct Life {
    pub(super) stage: Stage,
    pub(super) run: Option<String>,
    key: String,
    /// What each of its processes printed.
    printed: Vec<String>,
    /// Kills since a process came to its end by itself.
    depth: u32,
    next: Option<Moment>,
}

impl Life {
    /// The moment its next process is to be killed at; nobody else does it then.
    pub(super) fn take_moment(&mut self) -> Option<Moment> {
        self.next.take()
    }

    /// Adds a line that no process has printed.
    pub(super) fn pretend(&mut self, line: &str) {
        self.printed.push(line.into());
    }
}

/// Whether a run goes on.
enum Course {
    On,
    Over,
}

impl<'a> Batch<'a> {
    /// An empty batch, with its ledger running.
    pub(super) fn open(crew: &'a Crew, number: u64) -> Result<Self, KillError> {
        let folder = crew.folder.join(format!("b{number}"));
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

    /// Takes a scenario to its ending, killing it on the way from `first` on.
    pub(super) fn live(&mut self, scenario: Scenario, first: Option<Moment>) -> Result<(), KillError> {
        let mut life = self.begin(scenario, first)?;
        self.go_on(&mut life)?;
        self.lives.push(life);
        Ok(())
    }

    /// Writes the scenario and announces it.
    pub(super) fn begin(&mut self, scenario: Scenario, first: Option<Moment>) -> Result<Life, KillError> {
        let nth = self.lives.len();
        let folder = self.folder.join(format!("r{nth}"));
        fs::create_dir_all(&folder).map_err(KillError::io(&folder))?;
        let stage = Stage::set(scenario, &folder, &self.world).map_err(KillError::io(&folder))?;
        let key = format!("b{}-r{nth}", self.number);
        self.log.write(&ClientLine::Submit { key: key.clone(), task: scenario.word().into() })?;
        self.crew.count(|tally| *tally.runs.entry(scenario).or_default() += 1);
        Ok(Life { stage, run: None, key, printed: Vec::new(), depth: 0, next: first })
    }

    /// Starts processes until the run has ended.
    pub(super) fn go_on(&mut self, life: &mut Life) -> Result<(), KillError> {
        for _ in 0..PROCESSES_MAX {
            let moment = life.next.take().filter(|_| self.crew.tickets.take());
            let finished = self.start(life, moment)?;
            let course = match finished.ended {
                Ended::Killed => self.killed(life, moment)?,
                Ended::Exited(code) => {
                    if moment.is_some() {
                        self.crew.tickets.give_back();
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
        self.violation("E1", format!("{} has not ended after {PROCESSES_MAX} processes", name(life)));
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
        let errand = match &life.run {
            Some(run) => Errand::Resume { run },
            None => Errand::Run { task: &task, key: &life.key },
        };
        self.crew.count(|tally| match errand {
            Errand::Resume { .. } => tally.resumed += 1,
            Errand::Run { .. } if nth > 0 => tally.resubmitted += 1,
            Errand::Run { .. } => {}
        });
        let notes = life.stage.folder.join(format!("p{nth}"));
        let finished = self.bowline.work(errand, moment, self.crew.clean_ms(life.stage.scenario), &notes)?;
        life.printed.push(finished.printed.clone());
        if life.run.is_none()
            && let Some(run) = journal::run_of(&finished.printed)
        {
            self.log.write(&ClientLine::Ack { key: life.key.clone(), run: run.clone() })?;
            life.run = Some(run);
        }
        Ok(finished)
    }

    fn killed(&mut self, life: &mut Life, moment: Option<Moment>) -> Result<Course, KillError> {
        let Some(moment) = moment else {
            self.violation("E1", format!("{} died of a SIGKILL that was not ours", name(life)));
            return Ok(Course::Over);
        };
        life.depth += 1;
        self.crew.count(|tally| tally.kill(life.stage.scenario, moment, life.depth));
        if let Some(run) = &life.run {
            self.log.killed(run)?;
            self.log.write(&ClientLine::End { run: run.clone(), ending: None, exit: None })?;
        }
        if life.depth < DEPTH_MAX && self.chance.below(2) == 0 {
            life.next = Some(Moment::early(&mut self.chance));
        }
        Ok(Course::On)
    }

    fn exited(&mut self, life: &mut Life, code: i32, finished: &Finished) -> Result<Course, KillError> {
        let ending = match code {
            0 => Some(ToldEnding::Committed),
            1 => Some(ToldEnding::Failed),
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
        if code == 4 && self.answer(life)? {
            if self.chance.below(3) == 0 {
                life.next = Some(Moment::early(&mut self.chance));
            }
            return Ok(Course::On);
        }
        if ending != Some(life.stage.scenario.ending()) {
            let said = finished.complained.trim();
            self.violation("E1", format!("{} ended with exit code {code}: {said}", name(life)));
        }
        Ok(Course::Over)
    }

    /// Plays the person: says yes, and tells the truth as the ledger knows it.
    /// False if nothing was asked.
    fn answer(&mut self, life: &Life) -> Result<bool, KillError> {
        let Some(run) = &life.run else { return Ok(false) };
        let notes = life.stage.folder.join("answer");
        let exported = self.bowline.ask(&["export", run, "--json"], &notes)?.printed;
        let questions = journal::questions(&journal::events(&exported));
        for question in &questions {
            match question {
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
            self.violation("E1", format!("{} never told its run", name(life)));
            return Ok(());
        };
        let notes = life.stage.folder.join("export");
        let exported = self.bowline.ask(&["export", run, "--json"], &notes)?.printed;
        let path = self.folder.join("journal").join(format!("{run}.jsonl"));
        fs::write(&path, &exported).map_err(KillError::io(&path))?;
        let events = journal::events(&exported);
        for printed in &life.printed {
            for lost in journal::shown_and_lost(printed, &events) {
                self.violation("V1", format!("{}: {lost}", name(life)));
            }
        }
        let states = states::of_run(&self.bowline, run, &life.printed, &notes)?;
        let told = states.iter().filter(|line| line.get("state").is_some()).count() as u64;
        if told == 0 {
            self.violation("O10", format!("{}: no process told the state it worked from", name(life)));
        }
        self.states.extend(states);
        self.crew.count(|tally| tally.states += told);
        let head = journal::head(&exported);
        let told = life.printed.iter().filter_map(|printed| journal::told_head(printed));
        for told in told.filter(|told| Some(told) != head.as_ref()) {
            self.violation("V1", format!("{}: ended with head {told} and has {head:?}", name(life)));
        }
        let copy = self.bowline.home.join("workspaces").join(run);
        let wrong = life.stage.wrong_files(&copy).map_err(KillError::io(&copy))?;
        for file in wrong {
            self.violation("F1", format!("{}: {file}", name(life)));
        }
        let shown = life.printed.iter().map(|printed| journal::shown(printed)).sum::<u64>();
        self.crew.count(|tally| {
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

fn name(life: &Life) -> String {
    format!("{} run {} ({})", life.stage.scenario.word(), life.run.as_deref().unwrap_or("?"), life.key)
}
