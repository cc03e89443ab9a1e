//! Recovery: a run that is killed after any of its records ends as it would have.

use std::collections::BTreeMap;

use super::build::{Setup, task};
use super::drive::Driver;
use super::script;
use super::show;
use super::world::World;
use crate::effect::Effect;
use crate::event::{Event, PromotionOutcome};
use crate::id::{ActionId, WorkerId};
use crate::input::What;
use crate::provenance::Digest;
use crate::task::Review;
use crate::tool::Repeat;

/// What was in flight when the process died.
#[derive(Clone, Copy, Debug, PartialEq)]
enum InFlight {
    /// It had not been sent.
    Unsent,
    /// It happened, and its reply was lost.
    Happened,
}

/// Kills the run after each of its records, and its second process as well, and
/// expects the ending and the deeds of a run that was never killed.
fn check(setup: &Setup, world: &World, ending: &str) {
    let (told, worlds) = undisturbed(setup, world);
    assert_eq!(show::end(told.run.ending().unwrap()), ending);
    let deeds = deeds(&told, &worlds[told.records()]);
    for (count, world) in worlds.iter().enumerate().take(told.records()) {
        for in_flight in [InFlight::Unsent, InFlight::Happened] {
            let (mut driver, mut world) = (told.recovered(count), world.clone());
            die(&mut driver, &mut world, in_flight);
            // The second process dies too, at once after its first record.
            if let Some(input) = world.next(&mut driver) {
                driver.feed(input).unwrap();
                driver = driver.recovered(driver.records());
                die(&mut driver, &mut world, in_flight);
            }
            world.finish(&mut driver);
            driver.check_replay();
            let place = format!("killed after record {count}, in flight {in_flight:?}");
            assert_eq!(show::end(driver.run.ending().unwrap()), ending, "{place}");
            assert_eq!(self::deeds(&driver, &world), deeds, "{place}");
            assert_eq!(promoted(&driver, &world), promoted(&told, &worlds[told.records()]), "{place}");
        }
    }
}

/// The process dies with everything in flight; another one claims the run.
fn die(driver: &mut Driver, world: &mut World, in_flight: InFlight) {
    if in_flight == InFlight::Happened {
        for effect in driver.run.due() {
            world.answer(driver, &effect);
        }
    }
    driver.now = driver.now.plus(1000);
    if driver.run.ending().is_none() || driver.run.has_afterwork() {
        let claim = script::what(driver, "claim");
        driver.feed(claim).unwrap();
    }
}

/// A run nobody kills, and the world after each of its records.
fn undisturbed(setup: &Setup, world: &World) -> (Driver, Vec<World>) {
    let (mut driver, mut world) = (Driver::new(&setup.0), world.clone());
    let mut worlds = vec![world.clone()];
    while let Some(input) = world.next(&mut driver) {
        driver.feed(input).unwrap();
        worlds.resize(driver.records() + 1, world.clone());
    }
    driver.check_replay();
    (driver, worlds)
}

/// What must be the same: how many irreversible and de-duplicated calls of each
/// tool happened (each of them once), and what was put back, in which order.
fn deeds(driver: &Driver, world: &World) -> (BTreeMap<String, u32>, Vec<String>) {
    let mut happened = BTreeMap::new();
    let mut files: BTreeMap<ActionId, String> = BTreeMap::new();
    for event in driver.events() {
        let Event::CallStarted { action, tool, repeat, attempt, image, .. } = event else { continue };
        if let Some(image) = image {
            files.insert(*action, image.path.clone());
        }
        if *repeat != Repeat::Freely && *attempt == 1 {
            assert_eq!(world.done.get(action), Some(&1), "{tool} happened once");
            *happened.entry(tool.to_string()).or_default() += 1;
        }
    }
    let mut undone = world.undone.clone();
    undone.dedup();
    (happened, undone.iter().map(|action| files[action].clone()).collect())
}

/// What came of handing the output on, and under which key; each attempt had that one.
fn promoted(driver: &Driver, world: &World) -> Option<(Option<PromotionOutcome>, Digest)> {
    let handed = driver.run.promotion.as_ref()?;
    assert!(world.handed.iter().all(|key| *key == handed.key), "one key for all attempts");
    assert!(!world.handed.is_empty(), "nothing is settled that was never handed on");
    Some((handed.outcome.clone(), handed.key))
}

#[test]
fn an_output_is_handed_on_whenever_the_process_dies() {
    let world = World { replies: &[("main", &["pay(10)", ": done"])], busy: 2, ..World::default() };
    let setup = task().remembered().review(Review::Never);
    check(&setup, &world, "committed: done");
}

#[test]
fn a_run_with_every_kind_of_tool_commits_with_each_deed_done_once() {
    let world = World {
        replies: &[
            ("a", &["read(x) write(f): working", "pay(10) put(k) stamp(s)"]),
            ("b", &["send(mail) read(y)", ": all of it"]),
        ],
        lossy: &["pay", "send", "put", "stamp"],
        ..World::default()
    };
    let setup = task().plan("a; b < a").evidence(&["notes"]).review(Review::Always);
    check(&setup, &world, "committed: all of it");
}

#[test]
fn a_run_that_asks_people_commits_with_each_deed_done_once() {
    let world = World {
        replies: &[("main", &["peek(p) wipe(disk) write(f)", "nosuch(x) !pay(10) write(g!)", ": done"])],
        ..World::default()
    };
    check(&task().review(Review::WhenUnchecked), &world, "committed: done");
}

#[test]
fn a_run_that_is_repaired_commits() {
    let world = World {
        replies: &[
            ("main", &["write(f)", ": no json"]),
            ("repair-1", &["cut write(g): half", ": {}"]),
            ("critique-2", &[": it is fine", ": {\"summary\":\"off by one\",\"defects\":[]}"]),
            ("repair-2", &["pay(10)", ": {\"a\":1}"]),
        ],
        checks: &[&["fail"], &["pass", "fail"], &["pass", "pass"]],
        ..World::default()
    };
    check(&task().check("schema").check("tests"), &world, "committed: {\"a\":1}");
}

#[test]
fn a_run_that_fails_undoes_the_same_files_in_the_same_order() {
    let world = World {
        replies: &[("main", &["write(f) stamp(g?)", "write(h)", ": no"]), ("repair-1", &["write(i)"])],
        checks: &[&["fail"], &["fail"]],
        ..World::default()
    };
    let setup = task().check("schema").limits(|limits| limits.repairs = 1);
    check(&setup, &world, "failed: still wrong after 1 repairs");
}

#[test]
fn a_run_in_parallel_parts_with_trouble_commits() {
    let world = World {
        replies: &[
            ("a", &["read(x) read(y)", "pay(10)", ": from a"]),
            ("b", &["write(f)", ": from b"]),
            ("c", &["write(g) build(it)", ": from c"]),
        ],
        trouble: &[2, 5],
        ..World::default()
    };
    let ending = "committed: ## a//from a//## b//from b//## c//from c";
    check(&task().plan("a; b; c"), &world, ending);
}

#[test]
fn a_run_that_falls_back_and_chooses_commits_with_each_deed_done_once() {
    let world = World {
        replies: &[
            ("a", &["pay(10)", ": CANNOT: it is down"]),
            ("b", &["read(x) put(k)", "send(mail)", ": half of it"]),
            ("c", &["write(f)", ": bug"]),
            ("d", &["pay(20)", ": mended"]),
        ],
        lossy: &["pay", "send"],
        ..World::default()
    };
    let nodes = serde_json::json!([
        { "id": "get", "branches": [
            { "nodes": [{ "id": "a", "goal": "one half" }, { "id": "b", "goal": "other half" }] },
            { "nodes": [{ "id": "c", "goal": "otherwise" }] },
        ] },
        { "id": "go", "rule": { "when": { "of": "get", "test": { "is": "bug" } } },
          "branches": [{ "nodes": [{ "id": "d", "goal": "mend" }] }] },
    ]);
    check(&task().nodes(nodes), &world, "committed: mended");
}

#[test]
fn a_run_that_is_planned_and_planned_anew_commits_with_each_deed_done_once() {
    let world = World {
        replies: &[
            (
                "plan-1",
                &[": no", ": {\"plan\":[{\"id\":\"a\",\"goal\":\"one\"},{\"id\":\"b\",\"goal\":\"two\"}]}"],
            ),
            ("a", &["pay(10)", ": CANNOT: it is locked"]),
            ("b", &["put(k)", ": from b"]),
            ("plan-2", &[": {\"plan\":[{\"id\":\"c\",\"goal\":\"another way\"}]}"]),
            ("c", &["send(mail)", ": from c"]),
        ],
        lossy: &["pay", "send"],
        ..World::default()
    };
    check(&task().planned_by_the_model(1), &world, "committed: ## c//from c//## b//from b");
}

#[test]
fn a_run_that_halts_at_its_limits_goes_on_after_a_resume() {
    let world = World {
        replies: &[("main", &["pay(10)", "put(k) read(x)", "send(mail)", ": done"])],
        ..World::default()
    };
    let setup = task().limits(|limits| {
        limits.steps = 2;
        limits.tool_calls = 2;
    });
    check(&setup, &world, "committed: done");
}

#[test]
fn the_same_work_is_due_after_any_number_of_claims() {
    let world = World { replies: &[("main", &["send(mail)", ": done"])], ..World::default() };
    let (told, _) = undisturbed(&task(), &world);
    for count in 1..told.records() {
        let mut driver = told.recovered(count);
        let mut dues = Vec::new();
        for _ in 0..3 {
            let claim = script::what(&driver, "claim");
            driver.feed(claim).unwrap();
            let due = driver.run.due();
            dues.push(due.iter().map(kind).collect::<Vec<_>>());
        }
        assert_eq!(dues[0], dues[1], "after record {count}");
        assert_eq!(dues[1], dues[2], "after record {count}");
    }
}

/// What an effect does, whichever step or attempt it belongs to.
fn kind(effect: &Effect) -> String {
    format!("{:?}", effect.key()).split('(').next().unwrap_or_default().into()
}

#[test]
fn why_a_run_is_not_taken_up_is_noted_once_for_each_reason_and_takes_no_time() {
    let mut driver = Driver::new(&task().0);
    driver.feed(script::claim(1)).unwrap();
    let worker = WorkerId::parse("w2").unwrap();
    let unable = |why: &str| What::NotTakenUp { worker: worker.clone(), why: why.into() };
    let active = driver.run.spend.active_ms;
    driver.now = driver.now.plus(60_000);
    assert_eq!(driver.hold(unable("no server")).unwrap().len(), 1);
    assert_eq!(driver.hold(unable("no server")).unwrap(), [], "the same reason is no news");
    assert_eq!(driver.hold(unable(&"x".repeat(5000))).unwrap().len(), 1);
    assert_eq!(driver.run.unable.as_deref().map(str::len), Some(1000), "a reason is bounded");
    assert_eq!(driver.run.spend.active_ms, active, "nobody worked meanwhile");
    assert!(driver.run.ending().is_none());
    driver.feed(script::claim(2)).unwrap();
    assert_eq!(driver.run.unable, None, "whoever takes it up ends the reason");
}
