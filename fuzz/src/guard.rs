//! The guard: lines of a session, events of a regulator, command lines, outputs.

use bowline_core::guard::loops::Action;
use bowline_core::guard::preset::Preset;
use bowline_core::guard::regulator::{
    Call, Event, Limits, Logprob, Outcome, Regulator, Reply, Settings, Spent, Status, Tokens,
};
use bowline_core::guard::{Effect, Origin, classify_shell, error_signature, normalised};
use bowline_core::provenance::Digest;
use bowline_core::tool::Repeat;
use bowline_guard::session::{Answer, Session, Word};
use serde_json::Value;

use crate::bytes::Bytes;

/// Most events and lines of one input.
const EVENTS_MAX: usize = 200;

/// Lines of bytes. A restart in the middle changes no answer, a line that is refused
/// changes nothing, and counters fall only where a run begins or a state is brought.
pub fn session(input: &[u8]) {
    let mut input = Bytes::new(input);
    let restart = usize::from(input.byte() % 16);
    let text = input.rest();
    let mut live = Session::new(Settings::default()).expect("defaults are good");
    let mut again = live.clone();
    for (at, line) in text.split('\n').take(EVENTS_MAX).map(timeless).enumerate() {
        if at == restart {
            again = Session::restored(&again.state()).expect("what was kept is read");
        }
        let before = live.clone();
        let answer = live.answer(line.as_bytes(), 0);
        let other = again.answer(line.as_bytes(), 0);
        assert_eq!(shown(&answer), shown(&other), "line {at} of {text:?}, restarted before {restart}");
        if answer.verdict == Word::Error {
            assert_eq!(live.regulator(), before.regulator(), "refused, but taken in: {line:?}");
            assert!(answer.remedy.is_some_and(|remedy| !remedy.is_empty()));
        } else if !starts_over(&line) {
            never_falls(before.regulator().spent(), live.regulator().spent());
        }
    }
}

/// A line without the time it happened: the time of a restart does not count.
fn timeless(line: &str) -> String {
    match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(mut event)) => {
            event.remove("at_ms");
            Value::Object(event).to_string()
        }
        _ => line.to_owned(),
    }
}

fn starts_over(line: &str) -> bool {
    let event = serde_json::from_str::<Value>(line).ok();
    let kind = event.as_ref().and_then(|event| event.get("event")).and_then(Value::as_str);
    matches!(kind, Some("run" | "restore" | "import"))
}

/// An answer but for what counts from the restart on: the line, and moments in states.
fn shown(answer: &Answer) -> Answer {
    Answer { line: 0, state: None, ..answer.clone() }
}

fn never_falls(before: &Spent, after: &Spent) {
    let pairs = [
        (before.steps, after.steps),
        (before.tokens, after.tokens),
        (before.micros, after.micros),
        (before.tool_calls, after.tool_calls),
        (before.active_ms, after.active_ms),
    ];
    assert!(pairs.iter().all(|(before, after)| before <= after), "{before:?} fell to {after:?}");
}

/// What one event is made of.
#[derive(Default)]
struct Made {
    kind: u8,
    text: String,
    other: String,
    flag: u8,
    number: u64,
    float: f64,
}

const TOOLS: [&str; 5] = ["read_file", "bash", "get_status", "send_email", "search"];
const ARGS: [&str; 4] = ["{}", "{\"path\":\"a.rs\"}", "{\"command\":\"cargo test\"}", "{\"q\":1}"];
const OUTPUTS: [&str; 4] = ["ok", "Error: no such file", "", "3 passed in 0.02s"];

impl Made {
    fn read(input: &mut Bytes<'_>) -> Self {
        let kind = input.byte() % 14;
        let mut made = Self { kind, flag: input.byte(), ..Self::default() };
        match kind {
            3 | 4 => (made.text, made.other) = (input.one_of(&TOOLS), input.one_of(&ARGS)),
            5 | 6 => (made.text, made.other) = (input.one_of(&TOOLS), input.one_of(&OUTPUTS)),
            7 | 8 => made.number = input.word(),
            9..=11 => (made.float, made.text) = (input.float(), input.text()),
            _ => made.text = input.text(),
        }
        made
    }

    fn id(&self) -> Option<&str> {
        [None, Some("1"), Some("2"), Some("3")].get(usize::from(self.flag % 4)).copied().flatten()
    }

    fn status(&self) -> Status<'_> {
        match self.flag / 4 % 8 {
            0 => Status::Denied,
            1 => Status::UnknownTool,
            2 => Status::Retry,
            3 => Status::Done { output: &self.other, ok: Some(false), world: None },
            4 => Status::Done { output: &self.other, ok: None, world: Some(Digest::of(&[self.flag / 32])) },
            _ => Status::Done { output: &self.other, ok: None, world: None },
        }
    }

    fn call(&self) -> Call<'_> {
        let effect =
            [None, None, Some(Effect::Read), Some(Effect::Write), Some(Effect::Poll), Some(Effect::Exec)];
        let repeat = [None, Some(Repeat::Freely), Some(Repeat::Never)];
        Call {
            id: self.id(),
            tool: &self.text,
            args: &self.other,
            effect: effect.get(usize::from(self.flag / 4 % 6)).copied().flatten(),
            repeat: repeat.get(usize::from(self.flag / 32 % 3)).copied().flatten(),
        }
    }

    fn with<R>(&self, then: impl FnOnce(&Event<'_>) -> R) -> R {
        let text = self.text.as_str();
        let tokens = Tokens { input: self.number, output: u64::from(self.flag), ..Tokens::default() };
        let spoken = [Logprob { token: text, logprob: (self.flag % 4 > 0).then_some(self.float) }];
        let origin = if self.flag % 4 == 0 { Origin::Harness } else { Origin::Person };
        then(&match self.kind {
            0 if self.flag < 16 => Event::Run { task: (self.flag % 2 == 0).then_some(text) },
            0 | 1 => Event::User { origin, text: (self.flag % 8 > 1).then_some(text) },
            2 => Event::Step,
            3 | 4 => Event::Call(self.call()),
            5 | 6 => Event::Result(Outcome { id: self.id(), tool: text, status: self.status() }),
            7 => Event::Tokens(tokens),
            8 => Event::Cost { micros: self.number },
            9 => Event::Quality { score: self.float },
            10 => Event::Drift { share: self.float },
            11 => Event::Logprobs(&spoken),
            12 if self.flag == 0 => Event::Cancel,
            12 => Event::Correction { kind: text },
            _ => {
                let truncated = self.flag % 8 == 7;
                Event::Reply(Reply { text, calls: u32::from(self.flag / 64), truncated, tokens })
            }
        })
    }
}

fn settings(input: &mut Bytes<'_>) -> Settings {
    let preset = Preset::ALL.get(usize::from(input.byte()) % (Preset::ALL.len() + 1)).copied();
    let action = [Action::Block, Action::Stop, Action::Both];
    let action = action.get(usize::from(input.byte()) % 3).copied().unwrap_or(Action::Both);
    match preset {
        Some(preset) => Settings::of(preset, action, Limits::default()),
        None => Settings::default(),
    }
}

/// Any events, at any times. A restart in the middle changes no decision, counters
/// never fall within a run, and what is refused changes nothing.
pub fn regulator(input: &[u8]) {
    let mut input = Bytes::new(input);
    let settings = settings(&mut input);
    let restart = usize::from(input.byte() % 64);
    let mut live = Regulator::new(settings).expect("presets are good");
    let mut again = live.clone();
    for at in 0..EVENTS_MAX {
        if input.is_empty() {
            break;
        }
        let (made, now_ms) = (Made::read(&mut input), u64::from(input.byte()) * 1000);
        if at == restart {
            let kept = serde_json::to_string(&again).expect("a state is written");
            again = serde_json::from_str(&kept).expect("a state is read");
        }
        live.at(now_ms, None);
        again.at(now_ms, None);
        let before = live.clone();
        let (fed, refed) = (made.with(|event| live.feed(event)), made.with(|event| again.feed(event)));
        assert_eq!(fed.is_err(), refed.is_err(), "event {at}");
        assert_eq!(live.decide(), again.decide(), "event {at}, restarted before {restart}");
        if fed.is_err() {
            assert_eq!(live.decide(), before.decide(), "refused, but taken in: event {at}");
        }
        if !made.with(|event| matches!(event, Event::Run { .. })) {
            never_falls(before.spent(), live.spent());
        }
    }
    let _prelude = live.prelude();
}

/// Command lines. What begins by removing a file never counts as only looking.
pub fn shell(input: &[u8]) {
    let line = String::from_utf8_lossy(input);
    let _guess = classify_shell(&line);
    for first in ["rm -rf target; ", "rm -rf target\n", "rm -rf target && "] {
        let guess = classify_shell(&format!("{first}{line}"));
        assert_ne!(guess.effect, Effect::Read, "{first}{line:?}");
    }
}

/// Outputs. Normalising invents nothing: every piece that is left stood there.
pub fn normaliser(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let left = normalised(&text);
    assert_eq!(left, normalised(&text));
    assert!(
        left.len() <= text.len().saturating_mul(4).saturating_add(64),
        "{} from {}",
        left.len(),
        text.len()
    );
    let (calm, noisy) = (format!("{text}\nat 12:00:01 done"), format!("{text}\nat 23:59:58 done"));
    assert_eq!(normalised(&calm), normalised(&noisy), "a time of day is volatile after any text");
    let _signatures = [true, false].map(|failed| error_signature(&text, failed));
}
