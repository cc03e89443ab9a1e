//! Long mixed runs, decided as they were when they were recorded: for the
//! detector and every preset, a hash of all decisions so far after each stretch.

use super::*;
use crate::guard::Effect;
use crate::provenance::Digest;
use crate::tool::Repeat;

const RECORDED: &str = include_str!("../../../../../../fixtures/guard/regulator_recorded.txt");
const EVENTS: u64 = 800;
const STRETCH: u64 = 50;

const TOOLS: [&str; 6] = ["read_file", "bash", "get_job_status", "send_email", "search", "scroll_down"];
const ARGS: [&str; 6] = [
    "{\"path\":\"/srv/a.rs\"}",
    "{\"path\":\"/srv/b.rs\"}",
    "{\"command\":\"cargo test\"}",
    "{\"command\":\"echo x > /srv/a.rs\"}",
    "{\"command\":\"ls -l\"}",
    "not json",
];
const OUTPUTS: [&str; 7] = [
    "12 files found in 0.31s",
    "12 files found in 2.07s",
    "error: no such file: /srv/c.rs",
    "Traceback\nValueError: bad value 17",
    "",
    "[]",
    "still running, 41 %",
];
const WORDS: [&str; 7] = [
    "No, use tabs for indentation.",
    "Sum the unpaid invoices of March.",
    "Sum the unpaid invoices of March, please.",
    "Penguins breed on the ice of the south, and the male keeps the egg warm on his feet for months.",
    "The invoices of March add up to a total of 4,310 euros; the largest invoice is number 17.",
    "Let me look at the file again.",
    "I told you: tabs, not spaces!",
];

/// Numbers that look drawn and are the same each time.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }

    fn status(&mut self) -> Status<'static> {
        let output = self.of(&OUTPUTS);
        match self.below(12) {
            0 => Status::Denied,
            1 => Status::UnknownTool,
            2 => Status::Retry,
            3 => Status::Done { output, ok: Some(false), world: None },
            4 => Status::Done { output, ok: Some(true), world: Some(Digest::of(&[self.of(b"ab")])) },
            _ => Status::Done { output, ok: None, world: None },
        }
    }

    fn event(&mut self) -> Event<'static> {
        let score = [0.05, 0.3, 0.45, 0.55, 0.6, 0.9, 1.0];
        match self.below(64) {
            0 => Event::Run { task: self.of(&[None, Some(WORDS[1])]) },
            1 => Event::User { origin: Origin::Harness, text: Some(self.of(&WORDS)) },
            2 => Event::User { origin: Origin::Person, text: None },
            3..=5 => said(self.of(&WORDS)),
            6..=11 => Event::Step,
            12..=14 => answer(self.of(&WORDS)),
            15..=18 => {
                let truncated = self.below(5) == 0;
                let tokens = Tokens { input: self.below(4000), output: self.below(500), ..Tokens::default() };
                Event::Reply(Reply { text: self.of(&WORDS), calls: 1, truncated, tokens })
            }
            19..=36 => {
                let effect =
                    self.of(&[None, None, None, Some(Effect::Read), Some(Effect::Poll), Some(Effect::Write)]);
                let repeat = self.of(&[None, None, Some(Repeat::Freely), Some(Repeat::Never)]);
                let id = self.of(&[None, None, Some("1"), Some("2")]);
                Event::Call(Call { id, tool: self.of(&TOOLS), args: self.of(&ARGS), effect, repeat })
            }
            37..=52 => {
                let id = self.of(&[None, None, Some("1"), Some("2")]);
                Event::Result(Outcome { id, tool: self.of(&TOOLS), status: self.status() })
            }
            53 | 54 => input(self.below(20_000)),
            55 | 56 => Event::Cost { micros: self.below(60_000) },
            57 => Event::Quality { score: self.of(&score) },
            58 => Event::Drift { share: self.of(&score) },
            59 => Event::Correction { kind: self.of(&["tabs", "dates are ISO", "short names"]) },
            _ => Event::Logprobs(&UNSURE),
        }
    }
}

/// A call is mostly followed by its own result, or nothing would ever come back.
fn events(seed: u64) -> Vec<Event<'static>> {
    let mut drawn = Drawn(seed);
    let mut events = Vec::new();
    for _ in 0..EVENTS {
        let event = drawn.event();
        events.push(event);
        if let Event::Call(Call { id, tool, .. }) = event
            && drawn.below(4) > 0
        {
            events.push(Event::Result(Outcome { id, tool, status: drawn.status() }));
        }
    }
    events
}

fn lines(preset: Option<Preset>, seed: u64) -> Vec<String> {
    let limits = Limits { tool_calls: Cap::At(300), ..Limits::default() };
    let settings = match preset {
        Some(preset) => Settings::of(preset, Action::Both, limits),
        None => Settings { limits, ..Settings::default() },
    };
    let mut regulator = Regulator::new(settings).unwrap();
    let (mut all, mut time) = (Digest::of(b""), Drawn(seed));
    let mut lines = Vec::new();
    for (at, event) in (1..).zip(events(seed)) {
        let waited_for = [None, Some(Origin::Person)][usize::from(matches!(event, Event::User { .. }))];
        regulator.at(at * 1000 + time.below(900), waited_for);
        let fed = regulator.feed(&event).map_err(|refused| refused.to_string());
        let decided = serde_json::to_string(&regulator.decide()).unwrap();
        all = Digest::of_parts(&[&all.0, decided.as_bytes(), format!("{fed:?}").as_bytes()]);
        if at % STRETCH == 0 {
            let state = Digest::of(serde_json::to_string(&regulator).unwrap().as_bytes());
            let name = preset.map_or("detector", Preset::name);
            lines.push(format!("{name} {seed} {at} {} {}", all.short(), state.short()));
        }
    }
    lines
}

#[test]
fn long_mixed_runs_are_decided_as_they_were_recorded() {
    let presets = std::iter::repeat_n(None, 4).chain(Preset::ALL.into_iter().map(Some));
    let now: Vec<String> = (1..).zip(presets).flat_map(|(seed, preset)| lines(preset, seed)).collect();
    for (now, recorded) in now.iter().zip(RECORDED.lines()) {
        assert_eq!(now, recorded);
    }
    assert_eq!(now.len(), RECORDED.lines().count());
}
