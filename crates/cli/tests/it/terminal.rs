//! A person at a terminal: what is asked there, what the answers do, and the line
//! that lives at the bottom. The terminal is a pseudo-terminal, the person is
//! `terminal.py`.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::{Place, Ran, ran};

/// Pays once somebody agreed, and says so.
const PAY: &str = r#"
goal = "Pay"
review = "never"
[workspace]
path = "project"
[[tool]]
name = "pay"
command = ["sh", "./pay.sh"]
description = "Pays."
schema = { type = "object" }
"#;

const PAYS: &str =
    "  main:\n    - calls: [{tool: pay, args: {to: \"ada\\e[2J\", cents: 5}}]\n    - say: done\n";

/// The key that ends a line of input without a word.
const CTRL_D: &str = "\u{4}";
const CTRL_C: &str = "\u{3}";

/// What a terminal showed, and how the program ended.
#[derive(Debug)]
struct Shown {
    code: i64,
    printed: String,
}

/// Plays these steps before a terminal of so many columns.
#[track_caller]
fn play(place: &Place, words: &[&str], columns: usize, steps: &[(&str, &str)]) -> Shown {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/terminal.py");
    let plan = json!({ "columns": columns, "steps": steps });
    let mut python = Command::new("python3");
    python.arg("-B").arg(script).arg(plan.to_string()).arg(env!("CARGO_BIN_EXE_bowline")).args(words);
    python.current_dir(place.folder.path()).env("TERM", "xterm").env_remove("NO_COLOR");
    python.env("BOWLINE_HOME", place.path("home")).env("USER", "tester").env_remove("XDG_DATA_HOME");
    let told = ran(python).ends(0);
    let told: Value = serde_json::from_str(&told.out).unwrap();
    let printed = told["printed"].as_str().unwrap().to_owned();
    assert!(told.get("missing").is_none(), "never came: {}\n--- printed\n{printed}", told["missing"]);
    Shown { code: told["code"].as_i64().unwrap(), printed }
}

impl Shown {
    #[track_caller]
    fn ends(self, code: i64) -> Self {
        assert_eq!(self.code, code, "\n--- printed\n{}", self.printed);
        self
    }

    /// What stands on the terminal at the end. Only what the program is known to
    /// use is understood: anything else in its output is a mistake.
    #[track_caller]
    fn screen(&self) -> String {
        let mut lines: Vec<Vec<char>> = vec![Vec::new()];
        let (mut column, mut rest) = (0, self.printed.as_str());
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            let line = lines.last_mut().unwrap();
            match c {
                '\r' => column = 0,
                '\n' => lines.push(Vec::new()),
                '\u{1b}' => {
                    let end = rest.find(char::is_alphabetic).expect("a whole sequence");
                    match &rest[..=end] {
                        "[2K" => line.clear(),
                        looks if looks.starts_with('[') && looks.ends_with('m') => {}
                        other => panic!("the terminal was told {other:?}"),
                    }
                    rest = &rest[end + 1..];
                }
                '\u{8}' => column -= 1,
                printed => {
                    assert!(!printed.is_control(), "{printed:?} reached the terminal");
                    line.resize(line.len().max(column + 1), ' ');
                    line[column] = printed;
                    column += 1;
                }
            }
        }
        let text: Vec<String> = lines.into_iter().map(|line| line.into_iter().collect()).collect();
        text.join("\n")
    }

    /// Every state of the live line, without its looks.
    fn live(&self) -> Vec<String> {
        let drawn = self.printed.split("\r\u{1b}[2K").skip(1);
        let drawn = drawn.map(|text| text.split(['\r', '\n']).next().unwrap_or_default());
        let plain = drawn.map(|text| text.replace("\u{1b}[2m", "").replace("\u{1b}[0m", ""));
        plain.filter(|text| text.starts_with("acting · ")).collect()
    }

    #[track_caller]
    fn says(self, words: &str) -> Self {
        let screen = self.screen();
        assert!(screen.contains(words), "no {words:?} on the screen\n{screen}");
        self
    }
}

fn paying(place: &Place, replies: &str) {
    place.task(PAY, replies).write("task/project/x", "");
    place.write("task/pay.sh", "echo paid >> ledger.txt\necho receipt\n");
}

fn payments(place: &Place) -> usize {
    std::fs::read_to_string(place.path("task/project/ledger.txt")).map_or(0, |text| text.lines().count())
}

fn left_waiting(place: &Place) -> Ran {
    place.bowline(&["runs"]).ends(0).says("waits: approval of a1.0")
}

#[test]
fn somebody_who_is_shown_a_call_and_types_yes_lets_it_be_made() {
    for yes in ["y", "yes", "  y  "] {
        let place = Place::new();
        paying(&place, PAYS);
        let steps = [("sees", "approve? [y/n] "), ("types", &format!("{yes}\n"))];
        let shown = play(&place, &["run", "task"], 100, &steps).ends(0);
        // Exactly what is asked, with nothing in it that moves the cursor.
        let shown = shown.says("asks: may a1.0 be made?").says("  │ /cents = 5");
        let shown = shown.says(r#"  │ /to = "ada\u{1b}[2J""#);
        shown.says("a1.0: approved by tester").says("│ done");
        assert_eq!(payments(&place), 1);
    }
}

#[test]
fn somebody_who_types_no_is_asked_why_and_the_model_reads_it() {
    let place = Place::new();
    let replies = "  main:\n    - calls: [{tool: pay, args: {}}]\n    - {expect: {error: true, last_contains: too dear}, say: I did not pay.}\n";
    paying(&place, replies);
    let steps =
        [("sees", "approve? [y/n] "), ("types", "n\n"), ("sees", "why not?"), ("types", "too dear\n")];
    play(&place, &["run", "task"], 100, &steps).ends(0).says("│ I did not pay.");
    assert_eq!(payments(&place), 0);
}

#[test]
fn an_answer_that_is_none_leaves_the_run_waiting_and_says_how_to_go_on() {
    for typed in ["maybe\n", "\n", "Y?\n", CTRL_D] {
        let place = Place::new();
        paying(&place, PAYS);
        let steps = [("sees", "approve? [y/n] "), ("types", typed)];
        let shown = play(&place, &["run", "task"], 100, &steps).ends(4);
        shown.says("waits for a person").says("bowline approve ");
        left_waiting(&place);
        assert_eq!(payments(&place), 0, "{typed:?}");
        // Nothing is lost: the question is put again.
        let steps = [("sees", "approve? [y/n] "), ("types", "y\n")];
        play(&place, &["resume", "last"], 100, &steps).ends(0);
        assert_eq!(payments(&place), 1, "{typed:?}");
    }
}

#[test]
fn ctrl_c_at_a_question_ends_the_program_at_once_and_answers_nothing() {
    let place = Place::new();
    paying(&place, PAYS);
    let steps = [("sees", "approve? [y/n] "), ("types", CTRL_C)];
    play(&place, &["run", "task"], 100, &steps).ends(4).says("stopping: ");
    left_waiting(&place);
    assert_eq!(payments(&place), 0);
}

#[test]
fn a_call_in_doubt_is_settled_as_the_person_at_the_terminal_says() {
    for (typed, made, reads) in [
        (&["y\n", "it is paid\n"][..], 1, "it is paid"),
        (&["y\n", "\n"][..], 1, "It happened; the result was not recorded."),
        (&["r\n"][..], 2, "receipt"),
        (&["g\n"][..], 1, "Nobody could find out"),
    ] {
        let place = Place::new();
        let replies = format!(
            "  main:\n    - calls: [{{tool: pay, args: {{}}}}]\n    - {{expect: {{last_contains: {reads:?}}}, say: done}}\n"
        );
        paying(&place, &replies);
        let settings = format!("{PAY}consent = \"not-needed\"\nrepeat = \"never\"\n");
        place.task(&settings, &replies);
        place.write("task/pay.sh", "echo paid >> ledger.txt\n[ $(wc -l < ledger.txt) = 1 ] && kill -9 $PPID && sleep 1\necho receipt\n");
        assert_eq!(place.bowline(&["run", "task"]).code, -1, "killed by its own tool");
        let mut steps = vec![("sees", "did it happen? [y] yes  [r] no, make it now  [g] give it up ")];
        steps.push(("types", typed[0]));
        if let Some(result) = typed.get(1) {
            steps.extend([("sees", "what came of it?"), ("types", *result)]);
        }
        let shown = play(&place, &["resume", "last"], 100, &steps).ends(0);
        shown.says("nobody knows whether a1.0 happened").says("│ done");
        assert_eq!(payments(&place), made, "{typed:?}");
    }
}

#[test]
fn a_question_is_put_only_where_it_can_be_seen_and_answered() {
    let place = Place::new();
    paying(&place, PAYS);
    let shown = play(&place, &["run", "task", "--json"], 100, &[]).ends(4);
    assert!(!shown.printed.contains("approve?") && !shown.printed.contains('\u{1b}'), "{}", shown.printed);
    let steps = [("sees", "asks: may a1.0 be made?"), ("sees", "[y/n] "), ("types", "n\n")];
    play(&place, &["approve", "last"], 100, &steps).ends(4);
    left_waiting(&place);
    let steps = [("sees", "[y/n] "), ("types", "y\n")];
    play(&place, &["approve", "last"], 100, &steps).ends(0).says("approved");
    play(&place, &["resume", "last"], 100, &[]).ends(0);
    assert_eq!(payments(&place), 1);
}

/// A tool that holds the run until a file is there.
const HOLD: &str = r#"
goal = "Hold"
review = "never"
[workspace]
path = "project"
[[tool]]
name = "hold"
command = ["sh", "-c", "while [ ! -e go ]; do sleep 0.02; done; echo held"]
description = "Holds."
schema = { type = "object" }
consent = "not-needed"
"#;

/// Watches a run that holds until the live line has shown these words; then twice
/// more, so that the line has been drawn over itself.
fn held(words: &[&str], columns: usize, live: &str) -> Shown {
    let place = Place::new();
    place.task(HOLD, "  main:\n    - calls: [{tool: hold, args: {}}]\n    - say: done\n");
    place.write("task/project/x", "");
    let steps =
        [("sees", live), ("sees", live), ("sees", live), ("makes", "task/project/go"), ("sees", "done")];
    play(&place, words, columns, &steps).ends(0)
}

#[test]
fn the_live_line_tells_what_is_awaited_and_leaves_nothing_behind() {
    let shown = held(&["run", "task"], 100, "acting · waits for hold (a1.0) · ");
    let drawn = shown.live();
    assert!(drawn.len() >= 3, "{drawn:?}");
    for line in &drawn {
        assert!(line.contains("1 step · 1 tool call · ") && line.contains(" tokens · "), "{line}");
    }
    let screen = shown.screen();
    assert!(!screen.contains("waits for hold") && !screen.contains("acting · "), "left behind in\n{screen}");
    assert!(shown.printed.contains("\u{1b}[32m"), "an ending that is good is green");
    // Every event stands on a line of its own, as it does without a terminal.
    let events = screen.lines().filter(|line| line.starts_with(' ') && line.contains("step 1")).count();
    assert!(events >= 1, "{screen}");
}

#[test]
fn the_live_line_fits_a_narrow_terminal() {
    let shown = held(&["run", "task"], 32, "acting · waits for hold (a1.0");
    for line in shown.live() {
        assert!(line.chars().count() < 32 && line.ends_with('…'), "{line:?} on 32 columns");
    }
    let screen = shown.screen();
    assert!(!screen.contains("acting · "), "left behind in\n{screen}");
}

#[test]
fn a_quiet_program_draws_no_live_line() {
    let place = Place::new();
    place.task(HOLD, "  main:\n    - calls: [{tool: hold, args: {}}]\n    - say: done\n");
    place.write("task/project/go", "");
    let shown = play(&place, &["run", "task", "--quiet"], 100, &[("sees", "done")]).ends(0);
    assert!(!shown.printed.contains("\u{1b}[2K"), "{:?}", shown.printed);
}
