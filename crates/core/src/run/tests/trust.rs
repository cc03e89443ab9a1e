//! What a model is shown as given, and what as coming from outside.

use super::build::{Setup, task};
use super::drive::Driver;
use super::script;
use crate::message::{Message, Part};
use crate::tool::Need;
use crate::untrusted::EXPLANATION;

/// The opening of the one conversation, once its evidence was read.
fn opening(setup: &Setup) -> Vec<Message> {
    let mut driver = Driver::new(&setup.0);
    driver.feed(script::claim(1)).unwrap();
    driver.feed(script::what(&driver, "evidence calc.py=one")).unwrap();
    let (_, thread) = driver.run.threads.iter().next().unwrap();
    thread.messages.iter().cloned().collect()
}

fn explains_marks(opening: &[Message]) -> bool {
    let [Message::System(words), ..] = opening else { panic!("no instructions: {opening:?}") };
    words.iter().any(|words| words.as_inline() == Some(EXPLANATION))
}

fn with_evidence() -> Setup {
    task().evidence(&["calc.py"])
}

#[test]
fn files_of_the_task_are_code_and_the_request_comes_last() {
    let opening = opening(&with_evidence());
    let [_, Message::Briefing(parts)] = opening.as_slice() else { panic!("{opening:?}") };
    let [Part::Words(name), Part::Material { given, .. }, Part::Words(request)] = parts.as_slice() else {
        panic!("{parts:?}")
    };
    assert_eq!(name.as_inline(), Some("calc.py:\n"));
    assert_eq!(given.as_deref(), Some("python"));
    assert_eq!(request.as_inline(), Some("\n\nmend it"));
}

#[test]
fn marks_are_explained_only_where_something_can_come_from_outside() {
    let given = |setup: Setup, needs: Option<Need>| {
        let mut setup = setup;
        let mut tools = setup.0.tools.to_vec();
        tools.iter_mut().for_each(|spec| (spec.given, spec.needs) = (true, needs.clone()));
        setup.0.tools = tools;
        setup
    };
    let with_hosts = |setup: Setup| {
        let mut setup = setup;
        setup.0.task.network.hosts = vec!["example.com".into()];
        setup
    };
    let without_tools = || {
        let mut setup = with_evidence();
        setup.0.tools = Vec::new();
        setup
    };
    assert!(explains_marks(&opening(&with_evidence())), "a tool nobody vouches for");
    assert!(!explains_marks(&opening(&without_tools())), "no tools");
    assert!(
        !explains_marks(&opening(&given(with_evidence(), Some(Need::FileRead)))),
        "tools of the workspace"
    );
    assert!(
        !explains_marks(&opening(&given(with_evidence(), Some(Need::Shell)))),
        "programs without a network"
    );
    let reaching = given(with_hosts(with_evidence()), Some(Need::Shell));
    assert!(explains_marks(&opening(&reaching)), "programs that can fetch");
    let reading = given(with_hosts(with_evidence()), Some(Need::FileRead));
    assert!(!explains_marks(&opening(&reading)), "reading files reaches no host");
}

#[test]
fn what_a_tool_of_the_workspace_tells_is_marked_for_taint_and_shown_bare() {
    for is_given in [false, true] {
        let mut setup = task();
        let mut tools = setup.0.tools.to_vec();
        tools.iter_mut().for_each(|spec| spec.given = is_given);
        setup.0.tools = tools;
        let mut driver = Driver::new(&setup.0);
        driver.feed(script::claim(1)).unwrap();
        for line in ["reply 1 read(a)", "ok a1.0"] {
            driver.feed(script::what(&driver, line)).unwrap();
        }
        let said = driver.run.threads.values().flat_map(|thread| thread.messages.iter());
        let found: Vec<(bool, bool)> = said
            .filter_map(|message| match message {
                Message::ToolResult { mark, given, .. } => Some((mark.is_some(), *given)),
                Message::System(_) | Message::User(_) | Message::Assistant { .. } | Message::Briefing(_) => {
                    None
                }
            })
            .collect();
        assert_eq!(found, [(true, is_given)]);
    }
}
