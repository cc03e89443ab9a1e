//! Conversations that outgrow their models: what is left out, when, and what never is.

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use super::build::{Setup, task};
use super::drive::Driver;
use super::script;
use crate::append_list::AppendList;
use crate::budget::UNLIMITED;
use crate::effect::Effect;
use crate::event::{ContextBound, ContextFull, Elided, Ending, Event, HaltReason, MessagePart, Outcome};
use crate::id::ActionId;
use crate::input::{Asked, CallResult, Reply, Returned, What};
use crate::message::{Call, Message, Payload, Stop, Usage};
use crate::provenance::Digest;
use crate::run::{CONTEXT_DEFAULT, Thread};
use crate::untrusted::FENCE_BYTES;

const MODEL: &str = "scripted:test";
/// Tokens kept for the answer.
const ANSWER: u64 = 500;

/// A task whose model takes so many tokens.
fn takes(tokens: u64) -> Setup {
    let mut setup = task().limits(|limits| {
        (limits.steps, limits.tool_calls, limits.tree.steps) = (1000, 1000, 1000);
        (limits.tokens, limits.micros) = (UNLIMITED, UNLIMITED);
        limits.output_tokens = ANSWER;
    });
    setup.0.contexts.insert(MODEL.into(), tokens);
    setup
}

/// One reply and what its calls return, by lengths.
#[derive(Clone, Debug)]
struct Round {
    words: u64,
    /// Arguments and output of each call.
    calls: Vec<(u64, u64)>,
}

/// A text of this length that occurs once.
fn text(name: &str, len: u64) -> Payload {
    Payload::Stored { sha256: Digest::of(name.as_bytes()), len }
}

fn started(driver: &Driver) -> u32 {
    let open = driver
        .run
        .due()
        .into_iter()
        .find_map(|effect| if let Effect::CallModel { step, .. } = effect { Some(step) } else { None });
    open.expect("the model is asked")
}

/// What the model is sent now.
fn request(driver: &Driver) -> Option<Vec<Message>> {
    driver.run.due().into_iter().find_map(|effect| {
        if let Effect::CallModel { messages, .. } = effect {
            Some(messages.iter().cloned().collect())
        } else {
            None
        }
    })
}

fn reply(step: u32, round: &Round) -> What {
    let call = |(index, (args, _)): (usize, &(u64, u64))| {
        let name = format!("args {step}.{index}");
        let call = Call {
            id: format!("c{index}").into(),
            tool: "read".into(),
            args: text(&name, *args),
            sha256: Some(Digest::of(name.as_bytes())),
        };
        Asked { call, problem: None, image: None, concerns: Vec::new() }
    };
    let calls: Vec<Asked> = round.calls.iter().enumerate().map(call).collect();
    What::ModelReplied {
        step,
        reply: Reply {
            stop: if calls.is_empty() { Stop::End } else { Stop::ToolUse },
            usage: Usage { input: 10, output: 5, ..Usage::default() },
            micros: 20,
            text: text(&format!("words {step}"), round.words),
            head: format!("words of step {step}"),
            calls,
            likelihood: None,
            claim: None,
        },
    }
}

fn returned(action: ActionId, len: u64) -> What {
    What::CallReturned {
        action,
        attempt: 1,
        result: CallResult {
            how: Returned::Known(Outcome::Ok),
            output: text(&format!("output {action}"), len),
            full: None,
            duration_ms: 7,
            trace: None,
            suspicions: Vec::new(),
            spent: None,
        },
    }
}

/// Plays one round; false when the run is over.
fn play(driver: &mut Driver, round: &Round, mut seen: impl FnMut(&Driver)) -> bool {
    let step = started(driver);
    driver.feed(reply(step, round)).unwrap();
    seen(driver);
    for (index, (_, output)) in (0..).zip(&round.calls) {
        driver.feed(returned(ActionId { step, index }, *output)).unwrap();
        seen(driver);
    }
    driver.run.ending().is_none()
}

fn begun(setup: &Setup) -> Driver {
    let mut driver = Driver::new(&setup.0);
    driver.feed(script::claim(1)).unwrap();
    driver
}

fn main_thread(driver: &Driver) -> &Thread {
    driver.run.threads.values().next().expect("a conversation")
}

fn elisions(driver: &Driver) -> Vec<Elided> {
    let found = driver
        .events()
        .filter_map(|event| if let Event::Elided(what) = event { Some(Elided::clone(what)) } else { None });
    found.collect()
}

fn full(driver: &Driver) -> Option<ContextFull> {
    if let Some(Ending::Halted { why: HaltReason::ContextFull(full), .. }) = driver.run.ending() {
        Some(ContextFull::clone(full))
    } else {
        None
    }
}

/// What a model reads of a message, in bytes, counted here on its own.
fn bytes(message: &Message) -> u64 {
    match message {
        Message::System(content) | Message::User(content) => content.iter().map(Payload::len).sum(),
        Message::Briefing(_) => 0,
        Message::Assistant { text, calls } => {
            text.len() + calls.iter().map(|call| call.args.len() + call.tool.len() as u64).sum::<u64>()
        }
        Message::ToolResult { output, mark, .. } => {
            output.len() + if mark.is_some() { FENCE_BYTES } else { 0 }
        }
    }
}

/// What must hold of every request.
fn sound(messages: &[Message], thread: &Thread, opening: &[Message], room: u64) -> Result<(), String> {
    let hold = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
    hold(messages.iter().map(bytes).sum::<u64>() / 3 <= room, "a request fits")?;
    hold(messages.starts_with(opening), "the opening is whole")?;
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        match message {
            Message::Assistant { calls, .. } => {
                hold(open.is_empty(), "every call is answered before the model speaks again")?;
                open = calls.iter().map(|call| &*call.id).collect();
            }
            Message::ToolResult { call, .. } => {
                let asked = open.iter().position(|id| *id == &**call);
                open.remove(asked.ok_or("an answer has its call, and a call one answer")?);
            }
            Message::System(_) | Message::User(_) | Message::Briefing(_) => {}
        }
    }
    hold(open.is_empty(), "every call is answered")?;
    let last = messages.iter().rposition(|message| matches!(message, Message::Assistant { .. }));
    let shortened = thread.left_out.keys().next_back().map(|at| *at as usize);
    hold(shortened.is_none_or(|at| last.is_some_and(|last| at < last)), "the last exchange is whole")?;
    let anew = Thread::open(messages, &Default::default());
    hold((anew.talk, anew.bytes) == (thread.talk, thread.bytes), "hash and size are those of what is sent")
}

/// Plays rounds of any sizes and holds every request against the rules.
fn holds_for(context: u64, rounds: &[Round]) -> Result<(), String> {
    let setup = takes(context);
    let mut driver = begun(&setup);
    let room = context - ANSWER.min(context / 2);
    let opening: Vec<Message> = request(&driver).unwrap_or_default();
    let (mut sent, mut elided): (Vec<Message>, usize) = (opening.clone(), 0);
    // What a process finds after each record, and what it is to send then.
    let mut found = vec![(driver.records(), driver.run.digest(), request(&driver))];
    for round in rounds {
        let goes_on = driver.run.ending().is_none()
            && play(&mut driver, round, |driver| {
                found.push((driver.records(), driver.run.digest(), request(driver)));
            });
        let Some(messages) = request(&driver).filter(|_| goes_on) else { break };
        sound(&messages, main_thread(&driver), &opening, room)?;
        let times = elisions(&driver).len();
        if times == elided && !messages.starts_with(&sent) {
            return Err("without an elision a request extends the one before".into());
        }
        (sent, elided) = (messages, times);
    }
    if let Some(full) = full(&driver) {
        let is_full = full.wanted > full.room && full.room == room && full.by == ContextBound::Model;
        is_full.then_some(()).ok_or_else(|| format!("a halt without need: {full:?}"))?;
    }
    for what in elisions(&driver) {
        let shrinks = what.before > what.room && what.after <= what.room && what.room == room;
        shrinks.then_some(()).ok_or_else(|| format!("{what:?}"))?;
    }
    recovers(&driver, &found)
}

/// Another process finds the same conversation after every record, and sends the same.
fn recovers(driver: &Driver, found: &[(usize, Digest, Option<Vec<Message>>)]) -> Result<(), String> {
    for (records, digest, messages) in found {
        let mut other = driver.recovered(*records);
        if other.run.digest() != *digest {
            return Err(format!("after {records} records another state is found"));
        }
        if other.run.ending().is_none() {
            other.feed(script::claim(other.run.epoch + 1)).map_err(|refused| refused.to_string())?;
            if messages.is_some() && request(&other) != *messages {
                return Err(format!("after {records} records something else is sent"));
            }
        }
    }
    Ok(())
}

#[test]
fn whatever_tools_return_a_request_fits_and_is_whole_where_it_must_be_or_the_run_halts() {
    let len = |small: bool, len: u16| if small { u64::from(len % 400) } else { u64::from(len) };
    let call = (any::<bool>(), any::<u16>(), any::<bool>(), any::<u16>());
    let round = (any::<u16>(), vec(call, 1..4));
    let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
    let chance = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let cases = (3000_u64..60_000, vec(round, 1..20));
    let outcome = TestRunner::new_with_rng(config, chance).run(&cases, |(context, rounds)| {
        let rounds: Vec<Round> = rounds
            .iter()
            .map(|(words, calls)| Round {
                words: u64::from(*words % 1500),
                calls: calls
                    .iter()
                    .map(|(short, args, small, output)| {
                        (len(*short, args % 5000), len(*small, *output % 30_000))
                    })
                    .collect(),
            })
            .collect();
        holds_for(context, &rounds).map_err(TestCaseError::fail)
    });
    outcome.unwrap();
}

/// Rounds of one call each, with outputs of this length.
fn reads(driver: &mut Driver, rounds: usize, output: u64) {
    for _ in 0..rounds {
        play(driver, &Round { words: 20, calls: vec![(20, output)] }, |_| {});
    }
}

#[test]
fn the_oldest_outputs_go_first_in_one_batch_down_to_the_low_water_mark() {
    let mut driver = begun(&takes(20_000));
    reads(&mut driver, 12, 6000);
    let found = elisions(&driver);
    assert_eq!(found.len(), 1, "one batch, not one at each step");
    let places: Vec<u32> = found[0].parts.iter().map(|part| part.at).collect();
    let oldest: Vec<u32> = (0..).map(|round| 3 + 2 * round).take(places.len()).collect();
    assert_eq!(places, oldest, "outputs, oldest first");
    assert!(places.len() >= 3 && found[0].parts.iter().all(|part| part.what == MessagePart::Output));
    let low = found[0].room / 100 * 60;
    assert!(found[0].after <= low && found[0].after + 2100 > low, "{:?}", found[0]);
    driver.check_replay();
}

#[test]
fn a_reference_says_what_stood_there_and_the_whole_is_kept_beside() {
    let mut driver = begun(&takes(20_000));
    reads(&mut driver, 12, 6000);
    let (found, thread) = (elisions(&driver), main_thread(&driver));
    let first = &found[0].parts[0];
    let short = first.sha256.short();
    let expected = format!("[left out: read, call c0, 6000 bytes, sha256 {short}; call it again to read it]");
    assert_eq!(first.instead, expected);
    let Some(Message::ToolResult { output, mark, call, .. }) = thread.messages.iter().nth(3) else {
        panic!("an answer")
    };
    assert_eq!((output, mark, &**call), (&Payload::inline(&expected), &None, "c0"));
    let Some(Message::ToolResult { output, mark, .. }) = thread.left_out.get(&3) else { panic!("the whole") };
    assert_eq!((output.len(), output.digest(), mark.is_some()), (6000, first.sha256, true));
}

#[test]
fn what_a_step_sets_aside_is_for_what_is_sent() {
    let mut driver = begun(&takes(20_000));
    reads(&mut driver, 12, 6000);
    let mut reserved = Vec::new();
    let mut before = 0;
    for event in driver.events() {
        if let Event::StepStarted { reserved: set_aside, .. } = event {
            reserved.push(set_aside.tokens);
        }
        if let Event::Elided(_) = event {
            before = reserved.len();
        }
    }
    assert!(before > 0 && reserved[before] < reserved[before - 1], "{before} {reserved:?}");
    assert!(reserved.iter().all(|tokens| *tokens <= 20_000), "{reserved:?}");
}

#[test]
fn words_and_long_arguments_go_when_outputs_are_not_enough_and_the_last_rounds_stay_whole() {
    let mut driver = begun(&takes(8000));
    for _ in 0..12 {
        play(&mut driver, &Round { words: 900, calls: vec![(1200, 10)] }, |_| {});
    }
    let found = elisions(&driver);
    let parts = || found.iter().flat_map(|what| &what.parts);
    assert!(parts().any(|part| part.what == MessagePart::Words));
    assert!(parts().any(|part| part.what == MessagePart::Args(0)));
    assert!(!parts().any(|part| part.what == MessagePart::Output), "ten bytes are not worth a reference");
    let thread = main_thread(&driver);
    let rounds = thread.rounds();
    let last = rounds[rounds.len() - 3];
    assert!(thread.left_out.keys().all(|at| (*at as usize) < last), "{:?}", thread.left_out.keys());
    let args = thread.messages.iter().find_map(|message| {
        if let Message::Assistant { calls, .. } = message {
            calls[0].args.as_inline().map(str::to_owned)
        } else {
            None
        }
    });
    let args: serde_json::Value = serde_json::from_str(&args.expect("short arguments")).unwrap();
    assert!(args["left_out"].as_str().is_some_and(|text| text.starts_with("1200 bytes, sha256 ")), "{args}");
}

#[test]
fn a_recent_output_goes_rather_than_the_run_but_never_the_last_exchange() {
    let mut driver = begun(&takes(8000));
    reads(&mut driver, 1, 12_000);
    reads(&mut driver, 1, 12_000);
    let found = elisions(&driver);
    assert_eq!(found.iter().map(|what| what.parts.len()).collect::<Vec<_>>(), [1], "{found:?}");
    assert_eq!(found[0].parts[0].at, 3);
    reads(&mut driver, 1, 24_000);
    let full = full(&driver).expect("the last exchange alone is too long");
    assert!(full.last > full.room && full.opening < full.last, "{full:?}");
    assert_eq!((full.model.as_str(), full.by, full.answer), (MODEL, ContextBound::Model, ANSWER));
}

#[test]
fn a_bound_of_the_task_is_the_smaller_one_and_can_be_raised() {
    let setup = takes(100_000).limits(|limits| limits.context_tokens = 6000);
    let mut driver = begun(&setup);
    reads(&mut driver, 1, 24_000);
    let full = full(&driver).expect("the task does not grant it");
    assert_eq!((full.by, full.room), (ContextBound::Task, 5500));
    let Some(Ending::Halted { report: Some(report), .. }) = driver.run.ending() else { panic!("a report") };
    let raise = format!("resume {}={}", report.raise.limit.word(), report.raise.to);
    assert!(raise.starts_with("resume context_tokens="), "{raise}");
    driver.feed(script::what(&driver, &raise)).unwrap();
    driver.feed(script::claim(2)).unwrap();
    assert!(request(&driver).is_some(), "it goes on: {:?}", driver.run.phase);
    assert_eq!(elisions(&driver), [], "with everything there");
    driver.check_replay();
}

#[test]
fn a_model_that_does_not_say_what_it_takes_has_a_finite_bound_all_the_same() {
    let mut setup = takes(1);
    setup.0.contexts.clear();
    let mut driver = begun(&setup);
    reads(&mut driver, 1, CONTEXT_DEFAULT * 3);
    assert_eq!(full(&driver).map(|full| full.by), Some(ContextBound::Nobody));
}

#[test]
fn an_answer_gets_at_most_half_of_a_small_context() {
    let answer = |setup: &Setup| {
        begun(setup).run.due().into_iter().find_map(|effect| {
            if let Effect::CallModel { output_tokens, .. } = effect { Some(output_tokens) } else { None }
        })
    };
    let large = |tokens: u64| takes(tokens).limits(|limits| limits.output_tokens = 4096);
    assert_eq!((answer(&large(100_000)), answer(&large(6000))), (Some(4096), Some(3000)));
}

#[test]
fn a_step_goes_to_the_first_model_it_can_be_made_to_fit_and_is_shortened_for_that_one() {
    let mut setup = takes(8000);
    setup.0.task.routes.fallbacks = vec!["scripted:b".into(), "scripted:c".into()];
    setup.0.contexts.insert("scripted:b".into(), 9000);
    setup.0.contexts.insert("scripted:c".into(), 50_000);
    let mut driver = begun(&setup);
    reads(&mut driver, 2, 12_000);
    let models = |driver: &Driver| elisions(driver).iter().map(|what| what.model.clone()).collect::<Vec<_>>();
    assert_eq!(models(&driver), [MODEL], "what can be made to fit the first stays with it");
    play(&mut driver, &Round { words: 10, calls: vec![(10, 30_000)] }, |_| {});
    let sent = driver
        .events()
        .filter_map(|event| if let Event::StepStarted { sent, .. } = event { sent.clone() } else { None });
    let sent: Vec<String> = sent.map(|sent| serde_json::to_string(&sent).unwrap()).collect();
    let expected = r#"{"model":"scripted:c","why":{"too_long":{"model":"scripted:test"}}}"#;
    assert_eq!(sent, [expected]);
    assert_eq!(models(&driver), [MODEL], "the large one needs no room made");
}

#[test]
fn an_elision_of_what_is_not_there_changes_nothing() {
    let mut driver = begun(&takes(20_000));
    reads(&mut driver, 12, 6000);
    let mut what = elisions(&driver).remove(0);
    let mut run = driver.run.clone();
    for part in &mut what.parts {
        part.what = MessagePart::Args(9);
    }
    what.parts[0].at = 9999;
    run.apply(&Event::Elided(Box::new(what)), driver.now);
    let talk = |run: &crate::run::Run| run.threads.values().map(|thread| thread.talk).collect::<Vec<_>>();
    assert_eq!(talk(&run), talk(&driver.run));
    let messages: AppendList<Message> = main_thread(&driver).messages.clone();
    assert_eq!(run.threads.values().next().map(|thread| thread.messages.clone()), Some(messages));
}
