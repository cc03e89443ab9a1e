//! Near a limit the model is told; its last call is kept for a summary; a halt
//! tells what there is and what would let it go on.

use super::build::{Setup, task};
use super::drive::Driver;
use super::{check, show};
use crate::budget::{Limit, Limits, UNLIMITED, UNLIMITED_COUNT};
use crate::effect::Effect;
use crate::event::{Ending, Event, HaltReport, Raise};
use crate::id::ToolName;

fn with(change: impl FnOnce(&mut Limits)) -> Setup {
    task().limits(change)
}

fn tool(name: &str) -> ToolName {
    ToolName::parse(name).unwrap()
}

fn report(driver: &Driver) -> HaltReport {
    match driver.run.ending() {
        Some(Ending::Halted { report: Some(report), .. }) => (**report).clone(),
        other => panic!("{other:?} has no report"),
    }
}

/// Tools offered and output tokens asked of the model call that is due.
fn asked(driver: &Driver) -> (usize, u64) {
    let due = driver.run.due();
    let Some(Effect::CallModel { tools, output_tokens, .. }) = due.first() else { panic!("{due:?}") };
    (tools.len(), *output_tokens)
}

/// One round of a tool loop: reply, call, result.
fn round(step: u32) -> String {
    format!(
        "> reply {step} read(f{step})\nheard {step}: tool use\nstart a{step}.0 read\n> ok a{step}.0\nfinish a{step}.0: ok\n"
    )
}

#[test]
fn the_last_call_of_a_tool_loop_offers_no_tools_and_its_words_are_the_partial_work() {
    let driver = check(&with(|limits| limits.steps = 2), &format!("{}ask 2 for main, the last", round(1)));
    assert_eq!(asked(&driver), (0, 1024));
    assert!(show::talk(&driver.run, "main").last().unwrap().contains("This is your last call"));
    let driver = super::play(
        driver,
        "
        > reply 2: read a, b is left
        heard 2: end
        stopping: steps 3 of 2
        halted: steps 3 of 2; so far: read a, b is left
        ",
    );
    let report = report(&driver);
    assert_eq!((report.summary, report.spend.steps), (Some(2), 2));
    assert_eq!(report.raise, Raise { limit: Limit::Steps, to: 4 });
    assert_eq!(report.open.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["main"]);
}

#[test]
fn a_conversation_that_asked_for_no_tools_may_finish_with_its_last_call() {
    let driver = check(&with(|limits| limits.steps = 1), "? due\nmodel 1");
    assert_eq!(asked(&driver).0, driver.run.tools.len());
    super::play(driver, "> reply 1: done\nheard 1: end\ndone main\nacted main\nverified 1: nothing to check");
    // A cut reply without a call is no tool loop either.
    check(
        &with(|limits| limits.steps = 2),
        "
        > reply 1 cut: half
        heard 1: truncated
        notice main
        ask 2 for main
        > reply 2: done
        heard 2: end
        done main
        acted main
        verified 1: nothing to check
        ",
    );
}

#[test]
fn after_a_raise_a_summarised_conversation_goes_on_with_its_tools() {
    let driver = check(
        &with(|limits| limits.steps = 2),
        &format!(
            "{}ask 2 for main, the last
            > reply 2: read a, b is left
            heard 2: end
            stopping: steps 3 of 2
            halted: steps 3 of 2; so far: read a, b is left
            > resume steps=9
            resumed by ann steps=9
            > claim
            claimed 2
            ask 3 for main",
            round(1)
        ),
    );
    assert_eq!(asked(&driver), (driver.run.tools.len(), 4096));
    assert!(show::talk(&driver.run, "main").last().unwrap().contains("More was granted"));
    super::play(
        driver,
        "
        > reply 3 read(b)
        heard 3: tool use
        start a3.0 read
        > ok a3.0
        finish a3.0: ok
        ask 4 for main
        > reply 4: all of it
        heard 4: end
        done main
        acted main
        verified 1: nothing to check
        > stored
        committed: all of it
        ",
    );
}

#[test]
fn tools_asked_for_with_the_last_call_are_refused_and_the_words_are_kept() {
    let driver = check(
        &with(|limits| limits.steps = 2),
        &format!(
            "{}ask 2 for main, the last
            > reply 2 pay(10) read(b): one more thing
            heard 2: tool use
            refuse a2.0: not offered
            refuse a2.1: not offered
            stopping: steps 3 of 2
            halted: steps 3 of 2; so far: one more thing
            > resume steps=4
            resumed by ann steps=4
            > claim
            claimed 2
            ask 3 for main",
            round(1)
        ),
    );
    assert!(show::talk(&driver.run, "main").last().unwrap().contains("More was granted"));
}

#[test]
fn a_model_that_will_not_summarise_halts_the_run_and_does_not_fail_it() {
    for stop in ["refused", "filtered", "cut"] {
        let driver = check(
            &with(|limits| limits.steps = 2),
            &format!("{}ask 2 for main, the last\n> reply 2 {stop}\n{}", round(1), heard(stop)),
        );
        assert_eq!(report(&driver).partial, None);
    }
    fn heard(stop: &str) -> String {
        let stop = if stop == "cut" { "truncated" } else { stop };
        format!("heard 2: {stop}\nstopping: steps 3 of 2\nhalted: steps 3 of 2")
    }
}

#[test]
fn a_last_call_that_is_not_answered_is_a_step_like_any_other() {
    let driver = check(
        &with(|limits| limits.steps = 2),
        &format!(
            "{}ask 2 for main, the last
            > fail 2 transient
            unheard 2: transient, again later
            > +2000 tick
            stopping: steps 3 of 2
            halted: steps 3 of 2
            > resume steps=3
            resumed by ann steps=3
            > claim
            claimed 2
            ask 3 for main, the last",
            round(1)
        ),
    );
    let said = show::talk(&driver.run, "main");
    let told = said.iter().filter(|line| line.contains("This is your last call")).count();
    assert_eq!(told, 1, "it is not told twice without an answer: {said:#?}");
}

#[test]
fn when_tokens_allow_only_one_more_modest_call_it_is_the_summary() {
    // Two calls of about 4,400 tokens do not fit, one and a summary neither.
    let driver =
        check(&with(|limits| limits.tokens = 5000), &format!("{}ask 2 for main, the last", round(1)));
    assert_eq!(asked(&driver), (0, 1024));
    assert!(driver.run.reserved.tokens < 2000);
    super::play(
        driver,
        "
        > reply 2: so far
        heard 2: end
        stopping: tokens of 5000
        halted: tokens of 5000; so far: so far
        ",
    );
    let dear = check(&with(|limits| limits.micros = 9500), &format!("{}ask 2 for main, the last", round(1)));
    assert_eq!(asked(&dear).0, 0);
    let ample = check(&with(|limits| limits.tokens = 6500), &format!("{}ask 2 for main", round(1)));
    assert_eq!(asked(&ample).1, 4096);
}

#[test]
fn what_is_in_flight_elsewhere_makes_no_call_the_last_one() {
    // Both hold about 4,400 tokens and use 15: there is room for far more.
    check(
        &with(|limits| limits.tokens = 9600).plan("a; b"),
        "
        > reply 1 read(x)
        heard 1: tool use
        start a1.0 read
        > ok a1.0
        finish a1.0: ok
        ask 3 for a
        ? due
        model 3, model 2
        ",
    );
}

#[test]
fn a_summary_of_one_subtask_stands_beside_what_the_others_delivered() {
    let driver = check(
        &with(|limits| limits.steps = 3).plan("a; b; c < a"),
        "
        > reply 1: A
        heard 1: end
        done a
        begin c
        ask 3 for c
        > reply 2 write(f)
        heard 2: tool use
        start a2.0 write [f]
        > ok a2.0
        finish a2.0: ok
        stopping: steps 4 of 3
        > reply 3: C
        heard 3: end
        halted: steps 4 of 3; so far: A
        ",
    );
    let report = report(&driver);
    assert_eq!(report.done.len() + report.open.len(), 3);
    assert_eq!((report.files, report.summary), (vec!["f".to_owned()], None));
}

#[test]
fn a_repair_is_summarised_like_any_tool_loop() {
    check(
        &with(|limits| limits.steps = 3).check("schema"),
        "
        > reply 1: no json
        heard 1: end
        done main
        acted main
        > check 1.0 fail
        checked 1 schema: failed
        verified 1: schema failed
        control: repair 0.770
        diagnosed by verifier: failed: schema
        repair 1
        begin repair-1
        ask 2 for repair-1
        > reply 2 read(a)
        heard 2: tool use
        start a2.0 read
        > ok a2.0
        finish a2.0: ok
        ask 3 for repair-1, the last
        > reply 3: nearly json
        heard 3: end
        stopping: steps 4 of 3
        halted: steps 4 of 3; so far: nearly json
        ",
    );
}

#[test]
fn the_model_is_told_once_what_is_left_when_80_percent_are_used() {
    let mut story: String =
        (1..4).map(|step| format!("{}ask {} for main\n", round(step), step + 1)).collect();
    story += &round(4);
    story += "near steps 4 of 5\nask 5 for main, the last";
    let driver = check(&with(|limits| limits.steps = 5), &story);
    let told = show::talk(&driver.run, "main").pop().unwrap();
    assert!(told.contains("1 of 5 model calls left") && told.contains("This is your last call"), "{told}");
    let driver = super::play(
        driver,
        "
        > reply 5: so far
        heard 5: end
        stopping: steps 6 of 5
        halted: steps 6 of 5; so far: so far
        > resume steps=6
        resumed by ann steps=6
        > claim
        claimed 2
        near steps 5 of 6
        ask 6 for main
        ",
    );
    let warnings = driver.events().filter(|event| matches!(event, Event::LimitNear { .. })).count();
    assert_eq!((warnings, driver.run.warned.len()), (2, 1), "again after a raise, and one is remembered");
}

#[test]
fn what_a_conversation_was_told_of_a_limit_it_is_not_told_again() {
    let driver = check(
        &with(|limits| limits.tool_calls = 1),
        "
        > reply 1 read(x)
        heard 1: tool use
        start a1.0 read
        > ok a1.0
        finish a1.0: ok
        near tool_calls 1 of 1
        ask 2 for main
        > reply 2 !read(y)
        heard 2: tool use
        refuse a2.0: bad arguments
        ask 3 for main
        ",
    );
    assert_eq!(driver.run.gauges().iter().filter(|gauge| gauge.is_near()).count(), 1);
    let told = show::talk(&driver.run, "main");
    assert_eq!(told.iter().filter(|line| line.contains("0 of 1 tool calls left")).count(), 1, "{told:#?}");
}

#[test]
fn every_conversation_is_told_of_what_is_nearly_used_up() {
    let driver = check(
        &with(|limits| limits.tool_calls = 1).plan("a; b < a"),
        "
        > reply 1 read(x)
        heard 1: tool use
        start a1.0 read
        > ok a1.0
        finish a1.0: ok
        near tool_calls 1 of 1
        ask 2 for a
        > reply 2: A
        heard 2: end
        done a
        begin b
        ask 3 for b
        ",
    );
    for thread in ["a", "b"] {
        let told = show::talk(&driver.run, thread);
        assert_eq!(
            told.iter().filter(|line| line.contains("0 of 1 tool calls left")).count(),
            1,
            "{told:#?}"
        );
    }
}

#[test]
fn tokens_money_and_time_are_warned_of_too() {
    let mut driver = check(
        &with(|limits| (limits.tokens, limits.micros, limits.active_ms) = (100_000, 100_000, 10_000)),
        "? due\nmodel 1",
    );
    let mut reply = super::script::reply(&driver.run, "1 read(a)");
    (reply.usage.output, reply.micros) = (79_990, 81_000);
    driver.now = driver.now.plus(8000);
    driver.feed(crate::input::What::ModelReplied { step: 1, reply }).unwrap();
    let driver = super::play(
        driver,
        "
        > ok a1.0
        finish a1.0: ok
        near tokens of 100000
        near cost_usd of 100000
        near active_seconds of 10000
        ask 2 for main
        ",
    );
    let told = show::talk(&driver.run, "main").pop().unwrap();
    for part in ["20000 of 100000 tokens left", "$0.019 of $0.1 left", "2 of 10 seconds of work left"] {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn calls_of_one_tool_have_a_bound_of_their_own() {
    let driver = check(
        &with(|limits| limits.tools = [(tool("pay"), 1)].into()),
        "
        > reply 1 pay(1) read(a) pay(2)
        heard 1: tool use
        start a1.0 pay
        > ok a1.0
        finish a1.0: ok
        start a1.1 read
        > ok a1.1
        finish a1.1: ok
        stopping: tools.pay 2 of 1
        halted: tools.pay 2 of 1
        ",
    );
    assert_eq!(report(&driver).raise, Raise { limit: Limit::Tool(tool("pay")), to: 2 });
    super::play(
        driver,
        "
        > resume tools.pay=2
        resumed by ann tools.pay=2
        > claim
        claimed 2
        start a1.2 pay
        > ok a1.2
        finish a1.2: ok
        near tools.pay 2 of 2
        ask 2 for main
        ",
    );
}

#[test]
fn raising_a_tool_without_a_bound_gives_it_none() {
    check(
        &task(),
        "
        > resume tools.pay=1
        resumed by ann tools.pay=1
        > reply 1 pay(1) pay(2)
        heard 1: tool use
        start a1.0 pay
        > ok a1.0
        finish a1.0: ok
        start a1.1 pay
        ",
    );
}

/// A failed verification and its critic.
const FAILED: &str = "
    > reply 1: done
    heard 1: end
    done main
    acted main
    > check 1.0 fail
    checked 1 tests: failed
    verified 1: checks failed
    control: repair 0.770
    begin critique-1
";

#[test]
fn critique_and_repair_take_no_more_than_their_share_of_the_budget() {
    let driver = check(
        &with(|limits| limits.tokens = 20_000).check("tests"),
        &format!(
            "{FAILED}
            ask 2 for critique 1
            > fail 2 timed_out
            unheard 2: timed out, again later
            > +2000 tick
            stopping: repair_percent of 30
            halted: repair_percent of 30; so far: done
            > resume repair_percent=60
            resumed by ann repair_percent=60
            > claim
            claimed 2
            ask 3 for critique 1"
        ),
    );
    assert!(driver.run.repair_spend.settled.tokens > 4000);
    // Without a bound on tokens and money there is nothing to have a share of.
    let unlimited = |limits: &mut Limits| (limits.tokens, limits.micros) = (UNLIMITED, UNLIMITED);
    check(
        &with(unlimited).check("tests"),
        &format!("{FAILED} ask 2 for critique 1\n> fail 2 timed_out\nunheard 2: timed out, again later"),
    );
}

#[test]
fn critique_and_repair_have_a_time_of_their_own() {
    let driver = check(
        &with(|limits| limits.repair_ms = 1000).check("tests"),
        &format!(
            "{}
            ask 2 for critique 1
            ? wakes
            +6000
            > +600 reply 2: {{\"summary\":\"one\",\"defects\":[]}}
            heard 2: end
            diagnosed by critic: one
            repair 1
            begin repair-1
            ask 3 for repair-1
            > +400 tick
            stopping: repair_seconds of 1000
            > reply 3 read(a)
            heard 3: tool use
            halted: repair_seconds of 1000; so far: done
            > resume repair_seconds=5000
            resumed by ann repair_seconds=5000
            > claim
            claimed 2
            start a3.0 read",
            FAILED.replace("> reply 1", "> +5000 reply 1")
        ),
    );
    assert_eq!((driver.run.repair_spend.active_ms, driver.run.spend.active_ms), (1000, 6000));
}

#[test]
fn what_is_unlimited_never_halts_warns_or_wakes() {
    let driver = check(
        &with(|limits| {
            (limits.steps, limits.tool_calls, limits.repairs) =
                (UNLIMITED_COUNT, UNLIMITED_COUNT, UNLIMITED_COUNT);
            (limits.tokens, limits.micros, limits.active_ms) = (UNLIMITED, UNLIMITED, UNLIMITED);
            (limits.repair_ms, limits.repair_percent) = (UNLIMITED, UNLIMITED_COUNT);
        }),
        &format!("? wakes\nnothing\n{}ask 2 for main\n? wakes\nnothing", round(1)),
    );
    let json = serde_json::to_value(&driver.run.limits).unwrap();
    assert_eq!((&json["steps"], &json["tokens"]), (&"unlimited".into(), &"unlimited".into()));
    assert_eq!(serde_json::from_value::<Limits>(json).unwrap(), driver.run.limits);
}

#[test]
fn limits_that_were_added_later_are_not_written_while_they_have_their_defaults() {
    let json = serde_json::to_value(Limits::default()).unwrap();
    for later in ["repair_percent", "repair_ms", "tools", "tree"] {
        assert_eq!(json.get(later), None, "{later}");
    }
    assert_eq!(serde_json::from_value::<Limits>(json).unwrap(), Limits::default());
    for bad in [
        serde_json::json!("none"),
        serde_json::json!(-1),
        serde_json::json!(1.5),
        serde_json::json!(1_u64 << 33),
    ] {
        let mut json = serde_json::to_value(Limits::default()).unwrap();
        json["steps"] = bad.clone();
        assert!(serde_json::from_value::<Limits>(json).is_err(), "{bad}");
    }
}
