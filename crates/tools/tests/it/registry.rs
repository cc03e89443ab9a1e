//! The registry: which calls can run at all, and what the model is told.

use std::sync::Arc;

use bowline_core::event::Outcome;
use bowline_core::id::ToolName;
use bowline_core::input::{CallProblem, Returned};
use bowline_core::task::ToolChoice;
use bowline_core::tool::{Class, Consent, Invocation, Repeat, ToolSpec, Touch};
use bowline_tools::{BadTools, CallContext, Registry, Tool, ToolOutput};
use serde_json::{Value, json};

use crate::{Yard, choice, command_choice};

const ALL: [&str; 6] = ["read_file", "write_file", "edit_file", "list_files", "search_files", "run_command"];

fn all() -> Registry {
    Registry::new(&ALL.map(choice)).unwrap()
}

fn problem(tool: &str, args: &str) -> String {
    match all().examine(tool, args) {
        Err(
            CallProblem::UnknownTool(text) | CallProblem::BadArguments(text) | CallProblem::NotAllowed(text),
        ) => text,
        Ok(_) => panic!("{tool} {args} can run"),
    }
}

#[test]
fn the_built_in_tools_have_the_rules_they_are_known_for() {
    let rules: Vec<_> = all()
        .specs()
        .into_iter()
        .map(|spec| (spec.touch, spec.repeat, spec.consent, spec.timeout_ms))
        .collect();
    let file = |touch| (touch, Repeat::Freely, Consent::NotNeeded, 120_000);
    assert_eq!(
        rules,
        [
            file(Touch::Read),
            file(Touch::Write),
            file(Touch::Write),
            file(Touch::Read),
            file(Touch::Read),
            (Touch::Exec, Repeat::Never, Consent::Ask, 30_000)
        ]
    );
    for spec in all().specs() {
        assert_eq!(spec.schema["additionalProperties"], json!(false), "{}", spec.name);
        assert!(spec.description.len() > 40);
    }
}

/// What a task asks of a tool, besides its name.
fn asked(name: &str, consent: Consent, repeat: Repeat, timeout_ms: u64) -> ToolChoice {
    ToolChoice { consent: Some(consent), repeat: Some(repeat), timeout_ms: Some(timeout_ms), ..choice(name) }
}

fn rules(spec: &ToolSpec) -> (Consent, Repeat, u64) {
    (spec.consent, spec.repeat, spec.timeout_ms)
}

#[test]
fn a_task_sets_consent_and_time_of_a_built_in_tool_and_declares_the_rules_of_a_command() {
    let file = asked("write_file", Consent::Ask, Repeat::Never, 5);
    let tests = asked("run_command", Consent::NotNeeded, Repeat::Never, 600_000);
    let mut careful = command_choice("pay", &["pay"]);
    careful.command.as_mut().unwrap().probe = Some(vec!["paid".to_owned()]);
    let command = command_choice("put", &["put"]).command;
    let own = ToolChoice { command, ..asked("put", Consent::NotNeeded, Repeat::WithSameKey, 3_600_000) };
    let specs = Registry::new(&[file, careful, own, tests]).unwrap().specs();
    assert_eq!(rules(&specs[3]), (Consent::NotNeeded, Repeat::Never, 600_000));
    assert_eq!(rules(&specs[0]), (Consent::Ask, Repeat::Never, 5));
    assert_eq!(rules(&specs[1]), (Consent::Ask, Repeat::Never, 30_000));
    assert_eq!(rules(&specs[2]), (Consent::NotNeeded, Repeat::WithSameKey, 3_600_000));
    assert!(specs[1].probes && specs[1].touch == Touch::Exec);
}

#[test]
fn a_task_that_loosens_what_a_tool_declares_is_refused_by_tool_and_setting() {
    let mine = own(Consent::Ask, Repeat::WithSameKey, 2_000);
    for (choice, expected) in [
        (
            ToolChoice { repeat: Some(Repeat::WithSameKey), ..choice("run_command") },
            "the task sets `repeat` of run_command to \"with-same-key\", which is looser than its own \"never\"",
        ),
        (
            ToolChoice { consent: Some(Consent::NotNeeded), ..choice("mine") },
            "the task sets `consent` of mine to \"not-needed\", which is looser than its own \"ask\"",
        ),
        (
            ToolChoice { repeat: Some(Repeat::Freely), ..choice("mine") },
            "the task sets `repeat` of mine to \"freely\", which is looser than its own \"with-same-key\"",
        ),
        (
            ToolChoice { timeout_ms: Some(2_500), ..choice("mine") },
            "the task sets `timeout_seconds` of mine to 2.5, which is looser than its own 2",
        ),
    ] {
        let bad = Registry::with_own(&[choice], std::slice::from_ref(&mine)).unwrap_err();
        assert_eq!(bad.to_string(), expected);
        assert!(matches!(bad, BadTools::Looser { .. }) && bad.remedy().contains("leave `"), "{bad:?}");
    }
}

#[test]
fn a_class_decides_what_a_command_may_do_where_the_task_does_not_say() {
    let of = |class: Option<Class>| {
        let invocation = Invocation { class, ..Invocation::default() };
        let choice = ToolChoice { invocation, ..command_choice("own", &["own"]) };
        let spec = Registry::new(&[choice]).unwrap().specs().remove(0);
        (spec.touch, spec.repeat, spec.consent, spec.class(), spec.attempts())
    };
    let careful = (Touch::Exec, Repeat::Never, Consent::Ask, Class::Irreversible, 1);
    assert_eq!(of(None), careful);
    assert_eq!(of(Some(Class::Irreversible)), careful);
    assert_eq!(
        of(Some(Class::Compensable)),
        (Touch::Exec, Repeat::Never, Consent::NotNeeded, Class::Compensable, 1)
    );
    assert_eq!(of(Some(Class::Pure)), (Touch::Read, Repeat::Freely, Consent::NotNeeded, Class::Pure, 3));
    let graver = Invocation { class: Some(Class::Irreversible), ..Invocation::default() };
    let file = ToolChoice { invocation: graver, ..choice("write_file") };
    let spec = Registry::new(&[file]).unwrap().specs().remove(0);
    assert_eq!((spec.consent, spec.attempts()), (Consent::Ask, 1));
}

#[test]
fn several_attempts_at_what_must_not_be_repeated_are_refused() {
    let twice = Invocation { attempts: Some(2), ..Invocation::default() };
    let bad = |choice: ToolChoice| Registry::new(&[choice]).unwrap_err().to_string();
    for choice in [choice("run_command"), command_choice("pay", &["pay"])] {
        let told = bad(ToolChoice { invocation: twice, ..choice });
        assert!(told.ends_with("would be tried 2 times, but a call of it must not be repeated"), "{told}");
    }
    let repeatable = ToolChoice { repeat: Some(Repeat::WithSameKey), ..command_choice("put", &["put"]) };
    let specs = Registry::new(&[ToolChoice { invocation: twice, ..repeatable }]).unwrap().specs();
    assert_eq!(specs[0].attempts(), 2);
}

#[test]
fn a_task_calls_a_tool_of_the_librarys_user_no_more_freely_than_it_declares() {
    let declared = Invocation {
        class: Some(Class::Reversible),
        attempts: Some(2),
        at_once: Some(4),
        cost_micros: Some(10_000),
        output_bytes: None,
    };
    let mine = called(own(Consent::NotNeeded, Repeat::Freely, 2_000).spec(), declared);
    for (asked, setting) in [
        (Invocation { class: Some(Class::Pure), ..Invocation::default() }, "`class`"),
        (Invocation { attempts: Some(3), ..Invocation::default() }, "`attempts`"),
        (Invocation { at_once: Some(5), ..Invocation::default() }, "`concurrency`"),
        (Invocation { cost_micros: Some(9_999), ..Invocation::default() }, "`cost_usd`"),
    ] {
        let asked = ToolChoice { invocation: asked, ..choice("mine") };
        let bad = Registry::with_own(&[asked], std::slice::from_ref(&mine)).unwrap_err();
        assert!(bad.to_string().contains(setting), "{bad}");
        assert!(bad.remedy().starts_with("leave `"), "{}", bad.remedy());
    }
    let tighter = Invocation {
        class: Some(Class::Compensable),
        attempts: Some(1),
        at_once: Some(1),
        cost_micros: Some(20_000),
        output_bytes: Some(1_000_000),
    };
    let choices = [ToolChoice { invocation: tighter, ..choice("mine") }];
    let specs = Registry::with_own(&choices, std::slice::from_ref(&mine)).unwrap().specs();
    assert_eq!(specs[0].invocation, tighter);
    let kept = Registry::as_submitted(&choices, &[mine], &specs).unwrap().specs();
    assert_eq!(kept, specs);
}

#[test]
fn a_task_tightens_a_tool_of_the_librarys_user_and_a_run_keeps_what_it_was_submitted_with() {
    let loose = own(Consent::NotNeeded, Repeat::Freely, 2_000);
    let choices = [choice("read_file"), asked("mine", Consent::Ask, Repeat::Never, 1_000)];
    let specs = Registry::with_own(&choices, std::slice::from_ref(&loose)).unwrap().specs();
    assert_eq!(rules(&specs[1]), (Consent::Ask, Repeat::Never, 1_000));
    assert_eq!(specs[1].description, loose.spec().description);
    // Declared more strictly since: the task's choice would be looser now.
    let strict = own(Consent::Ask, Repeat::Never, 500);
    assert!(Registry::with_own(&choices, std::slice::from_ref(&strict)).is_err());
    let kept = Registry::as_submitted(&choices, &[strict], &specs).unwrap().specs();
    assert_eq!(kept, specs);
}

#[test]
fn a_name_that_was_taken_since_is_refused_to_new_tasks_and_left_to_runs_that_have_it() {
    let choices = [command_choice("wait", &["./wait"])];
    let taken = Registry::new(&choices).unwrap_err();
    assert!(matches!(&taken, BadTools::Shadows { name } if name.as_str() == "wait"), "{taken:?}");
    let before = Registry::new(&[command_choice("linger", &["./wait"])]).unwrap().specs();
    let specs: Vec<_> =
        before.into_iter().map(|spec| ToolSpec { name: ToolName::parse("wait").unwrap(), ..spec }).collect();
    let kept = Registry::as_submitted(&choices, &[], &specs).unwrap().specs();
    assert_eq!(kept, specs);
}

#[tokio::test]
async fn a_deadline_is_no_outcome_for_a_call_that_the_task_does_not_let_be_repeated() {
    let yard = Yard::new();
    let loose = own(Consent::NotNeeded, Repeat::Freely, 2_000);
    for (repeat, how) in
        [(Repeat::Freely, Returned::Known(Outcome::TimedOut)), (Repeat::Never, Returned::Unknown)]
    {
        let choice = ToolChoice { repeat: Some(repeat), ..choice("mine") };
        let registry = Registry::with_own(&[choice], std::slice::from_ref(&loose)).unwrap();
        let (tool, args) = registry.examine("mine", "{}").unwrap();
        assert_eq!(tool.run(args, &yard.ctx()).await.how, how);
    }
}

/// A tool of a library's user that never makes its deadline.
struct Mine(ToolSpec);

fn called(spec: &ToolSpec, invocation: Invocation) -> Arc<dyn Tool> {
    Arc::new(Mine(ToolSpec { invocation, ..spec.clone() }))
}

fn own(consent: Consent, repeat: Repeat, timeout_ms: u64) -> Arc<dyn Tool> {
    Arc::new(Mine(ToolSpec {
        name: ToolName::parse("mine").unwrap(),
        description: "a tool of somebody's own".to_owned(),
        schema: json!({"type": "object"}),
        touch: Touch::Exec,
        repeat,
        consent,
        probes: false,
        timeout_ms,
        effect: None,
        needs: None,
        given: false,
        invocation: Default::default(),
        undo: None,
    }))
}

#[async_trait::async_trait]
impl Tool for Mine {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, _args: Value, _ctx: &CallContext) -> ToolOutput {
        ToolOutput::timed_out(self.0.repeat, "too late")
    }
}

/// A tool that acts on its rules: it says what it would do when in doubt.
struct Minded(ToolSpec);

#[async_trait::async_trait]
impl Tool for Minded {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn run(&self, _args: Value, _ctx: &CallContext) -> ToolOutput {
        ToolOutput::ok(format!("{:?}", self.0.repeat))
    }

    fn under(&self, spec: &ToolSpec) -> Option<Arc<dyn Tool>> {
        Some(Arc::new(Self(spec.clone())))
    }
}

#[tokio::test]
async fn a_tool_that_acts_on_its_rules_gets_those_of_the_task() {
    let yard = Yard::new();
    let declared = own(Consent::NotNeeded, Repeat::Freely, 1000).spec().clone();
    let tool: Arc<dyn Tool> = Arc::new(Minded(declared));
    for (repeat, expected) in [(None, "Freely"), (Some(Repeat::Never), "Never")] {
        let choice = ToolChoice { repeat, ..choice("mine") };
        let registry = Registry::with_own(&[choice], std::slice::from_ref(&tool)).unwrap();
        let (tool, args) = registry.examine("mine", "{}").unwrap();
        assert_eq!(tool.run(args, &yard.ctx()).await.text, expected);
    }
}

#[test]
fn a_set_of_tools_that_cannot_be_is_refused_with_the_reason() {
    let zero = ToolChoice { timeout_ms: Some(0), ..choice("read_file") };
    let mut remote = command_choice("x", &["x"]);
    remote.command.as_mut().unwrap().schema = json!({"$ref": "https://example.com/s.json"});
    let mut probe = command_choice("x", &["x"]);
    probe.command.as_mut().unwrap().probe = Some(vec![]);
    for (choices, expected) in [
        (
            vec![choice("readfile")],
            "there is no built-in tool \"readfile\", did you mean read_file?; the built-in tools are",
        ),
        (vec![choice("zzz")], "there is no built-in tool \"zzz\"; the built-in tools are"),
        (vec![choice("read file")], "tool name \"read file\" must be"),
        (vec![choice("read_file"), choice("read_file")], "two tools are called read_file"),
        (vec![command_choice("read_file", &["cat"])], "read_file is the name of a built-in tool"),
        (vec![command_choice("x", &[])], "the command of x is empty"),
        (vec![probe], "the probe of x is empty"),
        (vec![zero], "the time limit of read_file is zero"),
        (
            vec![remote],
            "the schema of x cannot be used: the reference \"https://example.com/s.json\" leads outside",
        ),
    ] {
        let bad = Registry::new(&choices).unwrap_err();
        assert!(bad.to_string().starts_with(expected), "{bad}");
        assert!(!bad.remedy().is_empty());
    }
}

#[test]
fn a_tool_of_the_librarys_user_joins_the_others() {
    let mut registry = Registry::new(&[choice("read_file")]).unwrap();
    let own = Registry::new(&[command_choice("own", &["x"])]).unwrap();
    registry.add(Arc::clone(own.get("own").unwrap())).unwrap();
    assert!(registry.examine("own", "{}").is_ok());
    let twice = registry.add(Arc::clone(own.get("own").unwrap())).unwrap_err();
    assert!(matches!(twice, BadTools::Twice { .. }));
}

#[test]
fn an_unknown_tool_is_answered_with_the_nearest_name() {
    for (asked, expected) in
        [("readfile", "read_file"), ("Read-File", "read_file"), ("run_comand", "run_command")]
    {
        assert!(
            problem(asked, "{}").contains(&format!("did you mean {expected}?")),
            "{}",
            problem(asked, "{}")
        );
    }
    let far = problem("teleport", "{}");
    assert!(!far.contains("did you mean") && far.contains("the tools are read_file, write_file"), "{far}");
    let none = Registry::default().examine("x", "{}").err().unwrap();
    assert_eq!(none, CallProblem::UnknownTool("there is no tool \"x\"; there are no tools".to_owned()));
}

#[test]
fn arguments_that_do_not_fit_are_told_where_and_what_was_expected() {
    let takes = ". It takes all (optional), new (required), old (required), path (required)";
    assert_eq!(
        problem("edit_file", r#"{"path": 5, "old": "a", "new": "b"}"#),
        format!("the arguments of edit_file cannot be used: at /path: 5 is not of type \"string\"{takes}")
    );
    for (args, expected) in [
        (r#"{"path": "a"}"#, "\"old\" is a required property; \"new\" is a required property"),
        (r#"{"path": "a", "old": "a", "new": "b", "pth": 1}"#, "('pth' was unexpected)"),
        ("not json", "they are not valid JSON: expected"),
        ("[]", "they must be a JSON object"),
        ("", "they are not valid JSON: EOF"),
        (r#"{"path": "a", "path": "b", "old": "a", "new": "b"}"#, "the key \"path\" stands twice"),
    ] {
        let told = problem("edit_file", args);
        assert!(told.contains(expected), "{told}");
    }
    let deep = format!("{{\"path\": {}{}}}", "[".repeat(70), "]".repeat(70));
    assert!(problem("read_file", &deep).contains("nested deeper than 64"));
    let long = format!("{{\"path\": \"{}\"}}", "x".repeat(256 * 1024));
    assert!(problem("read_file", &long).contains("the most is 262144"));
}
