//! Programs: bounded in time and output, and never left behind.

use std::time::Duration;

use bowline_core::event::Outcome;
use bowline_core::input::Returned;
use bowline_core::task::ToolChoice;
use bowline_core::tool::Repeat;
use bowline_tools::{CallContext, Ended, Hosted, Probed, Registry, Sandbox, Served, ServedPipes, Tool};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;

use crate::{ERROR, OK, Yard, choice, command_choice, strings};

fn shell(script: &str) -> Value {
    json!({"argv": ["sh", "-c", script]})
}

fn short(yard: &Yard) -> CallContext {
    CallContext { timeout: Duration::from_millis(300), ..yard.ctx() }
}

fn tool(choice: &ToolChoice) -> std::sync::Arc<dyn Tool> {
    std::sync::Arc::clone(Registry::new(std::slice::from_ref(choice)).unwrap().get(&choice.name).unwrap())
}

/// A pipe that tells when a family of processes has started and when the last of it is gone.
struct Lifeline(pipe::Receiver);

impl Lifeline {
    fn new(yard: &Yard) -> Self {
        let path = yard.root().join("lifeline");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        Self(pipe::OpenOptions::new().open_receiver(path).unwrap())
    }

    async fn held(&mut self) {
        let held = tokio::time::timeout(Duration::from_secs(20), self.0.read_exact(&mut [0])).await;
        held.expect("the family starts in time").expect("the family is alive");
    }

    async fn is_let_go(&mut self) -> bool {
        let mut rest = Vec::new();
        tokio::time::timeout(Duration::from_secs(20), self.0.read_to_end(&mut rest)).await.is_ok()
    }
}

/// A program whose grandchild holds the lifeline for a long time.
const FAMILY: &str = "exec 3>lifeline; sh -c 'sh -c \"printf x >&3; sleep 60\" & wait' & wait";

#[tokio::test]
async fn a_command_runs_in_the_workspace_without_a_shell_and_shows_its_exit_code() {
    let yard = Yard::new();
    yard.write("a b", "text");
    let output = yard.call("run_command", json!({"argv": ["cat", "a b", "-"], "stdin": " and more"})).await;
    assert_eq!((output.how, output.text.as_str()), (OK, "text and more\n[exit code 0]"));
    let output = yard.call("run_command", json!({"argv": ["echo", "$HOME;", "*"]})).await;
    assert_eq!(output.text, "$HOME; *\n[exit code 0]");
    let output = yard.call("run_command", shell("echo out; echo err >&2; exit 3")).await;
    assert_eq!((output.how, output.text.as_str()), (ERROR, "out\n[standard error]\nerr\n[exit code 3]"));
    let output = yard.call("run_command", shell("kill -9 $$")).await;
    assert_eq!((output.how, output.text.as_str()), (ERROR, "[killed by signal 9]"));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_known_error() {
    let yard = Yard::new();
    yard.write("not-executable", "");
    let output = yard.call("run_command", json!({"argv": ["no-such-program"]})).await;
    assert_eq!((output.how, output.text.as_str()), (ERROR, "there is no program \"no-such-program\""));
    let output = yard.call("run_command", json!({"argv": ["./not-executable"]})).await;
    assert!(output.how == ERROR && output.text.contains("cannot be started"), "{}", output.text);
    let output = yard.call("run_command", json!({"argv": ["a\0b"]})).await;
    assert_eq!(output.how, ERROR);
}

#[tokio::test]
async fn the_environment_holds_what_is_listed_and_nothing_else() {
    let yard = Yard::new();
    let output = yard.call("run_command", json!({"argv": ["env"]})).await;
    let mut names: Vec<_> = output.text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    assert_eq!(names, ["HOME", "LANG", "PATH", "TERM", "TMPDIR"]);
    let output = tool(&command_choice("own", &["env"])).run(json!({}), &yard.ctx()).await;
    let key = yard.ctx().key;
    for line in [
        &format!("BOWLINE_KEY={key}"),
        "BOWLINE_RUN=run-1",
        "BOWLINE_ACTION=a1.0",
        "BOWLINE_EPOCH=7",
        "BOWLINE_ATTEMPT=1",
        "TERM=dumb",
    ] {
        assert!(output.text.lines().any(|found| found == line), "{line}: {}", output.text);
    }
}

#[tokio::test]
async fn a_time_out_kills_the_whole_family_and_keeps_what_was_printed() {
    let yard = Yard::new();
    let mut lifeline = Lifeline::new(&yard);
    let ctx = CallContext { timeout: Duration::from_secs(2), ..yard.ctx() };
    let script = shell(&format!("echo started; {FAMILY}"));
    let (output, ()) = tokio::join!(yard.call_in(&ctx, "run_command", script), lifeline.held());
    assert_eq!(output.how, Returned::Unknown, "a command must not be repeated");
    assert_eq!(output.text, "started\n[killed after 2 s: the time was up]");
    assert!(lifeline.is_let_go().await, "the grandchild lives on");
}

#[tokio::test]
async fn dropping_the_call_kills_the_whole_family() {
    let yard = Yard::new();
    let mut lifeline = Lifeline::new(&yard);
    let ctx = yard.ctx();
    {
        let call = yard.call_in(&ctx, "run_command", shell(FAMILY));
        tokio::select! {
            output = call => panic!("it ended by itself: {output:?}"),
            () = lifeline.held() => {}
        }
    }
    assert!(lifeline.is_let_go().await, "the grandchild lives on");
}

#[tokio::test]
async fn what_a_program_leaves_running_ends_with_it() {
    let yard = Yard::new();
    let mut lifeline = Lifeline::new(&yard);
    let script = shell("exec 3>lifeline; printf x >&3; sleep 60 & echo done");
    let (output, ()) = tokio::join!(yard.call("run_command", script), lifeline.held());
    assert_eq!((output.how, output.text.as_str()), (OK, "done\n[exit code 0]"));
    assert!(lifeline.is_let_go().await, "the child lives on");
}

#[tokio::test]
async fn a_flood_is_drained_and_head_and_tail_are_kept() {
    let yard = Yard::new();
    let script = "echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last";
    let output = yard.call("run_command", shell(script)).await;
    assert_eq!(output.how, OK);
    assert!(output.text.starts_with("first\nxx") && output.text.ends_with("xx\nlast\n[exit code 0]"));
    assert!(output.text.len() < 4 * 1024 * 1024 + 200);
    let dropped = 20_000_000 + "first\n\nlast\n".len() - 4 * 1024 * 1024;
    assert!(output.text.contains(&format!("[... {dropped} bytes left out ...]")));
}

#[tokio::test]
async fn input_that_is_not_read_does_not_stop_a_program() {
    let yard = Yard::new();
    let output = yard.call("run_command", json!({"argv": ["true"], "stdin": "x".repeat(200_000)})).await;
    assert_eq!(output.how, OK);
    let output = yard.call("run_command", json!({"argv": ["wc", "-c"], "stdin": "x".repeat(200_000)})).await;
    assert_eq!(output.text, "200000\n[exit code 0]");
}

#[tokio::test]
async fn a_command_tool_reads_its_arguments_and_prints_its_result() {
    let yard = Yard::new();
    let output = tool(&command_choice("own", &["cat"])).run(json!({"b": 1, "a": "x"}), &yard.ctx()).await;
    assert_eq!((output.how, output.text.as_str()), (OK, r#"{"a":"x","b":1}"#));
    let noisy = command_choice("own", &["sh", "-c", "echo result; echo chatter >&2"]);
    assert_eq!(tool(&noisy).run(json!({}), &yard.ctx()).await.text, "result\n");
    let failing = command_choice("own", &["sh", "-c", "echo why >&2; exit 2"]);
    let output = tool(&failing).run(json!({}), &yard.ctx()).await;
    assert_eq!((output.how, output.text.as_str()), (ERROR, "[standard error]\nwhy\n[exit code 2]"));
}

#[tokio::test]
async fn how_a_time_out_comes_back_depends_on_whether_it_may_be_repeated() {
    let yard = Yard::new();
    let timed_out = Returned::Known(Outcome::TimedOut);
    for (repeat, on_time_out) in
        [(Repeat::Never, Returned::Unknown), (Repeat::WithSameKey, timed_out), (Repeat::Freely, timed_out)]
    {
        let ruled = |argv: &[&str]| ToolChoice { repeat: Some(repeat), ..command_choice("own", argv) };
        assert_eq!(tool(&ruled(&["sleep", "60"])).run(json!({}), &short(&yard)).await.how, on_time_out);
        for nobody_knows in ["kill -9 $$", "exit 75"] {
            let ran = tool(&ruled(&["sh", "-c", nobody_knows])).run(json!({}), &yard.ctx()).await;
            assert_eq!(ran.how, Returned::Unknown, "{nobody_knows}");
        }
        let away = tool(&ruled(&["sh", "-c", "echo closed; exit 69"])).run(json!({}), &yard.ctx()).await;
        assert_eq!(away.how, Returned::Trouble { retry_after_ms: None });
        assert_eq!(away.text, "closed\n[exit code 69]");
        assert_eq!(tool(&ruled(&["no-such-program"])).run(json!({}), &yard.ctx()).await.how, ERROR);
    }
    let late = tool(&choice("run_command")).run(json!({"argv": ["sleep", "60"]}), &short(&yard)).await;
    assert_eq!(late.how, Returned::Unknown);
}

#[tokio::test]
async fn a_probe_tells_by_its_exit_code() {
    let yard = Yard::new();
    for (script, expected) in [
        ("cat; echo \" $BOWLINE_ACTION\"", Probed::Happened("{} a1.0\n".to_owned())),
        ("exit 1", Probed::DidNotHappen),
        ("exit 2", Probed::Unknown),
        ("kill -9 $$", Probed::Unknown),
    ] {
        let mut choice = command_choice("own", &["true"]);
        choice.command.as_mut().unwrap().probe = Some(strings(&["sh", "-c", script]));
        assert_eq!(tool(&choice).probe(json!({}), &yard.ctx()).await, expected, "{script}");
    }
    let mut slow = command_choice("own", &["true"]);
    slow.command.as_mut().unwrap().probe = Some(strings(&["sleep", "60"]));
    assert_eq!(tool(&slow).probe(json!({}), &short(&yard)).await, Probed::Unknown);
    assert_eq!(tool(&command_choice("own", &["true"])).probe(json!({}), &yard.ctx()).await, Probed::Unknown);
}

async fn serve(yard: &Yard, script: &str) -> Result<(Hosted, ServedPipes), String> {
    let argv = strings(&["sh", "-c", script]);
    let variables = vec![("WORD", "bowline".to_owned())];
    Served { argv: &argv, folder: yard.root(), sandbox: &Sandbox::Off, variables }.start().await
}

#[tokio::test]
async fn a_program_that_stays_is_spoken_to_and_ends_politely() {
    let yard = Yard::new();
    let (mut hosted, mut pipes) =
        serve(&yard, "read word; echo $word $WORD; read rest; echo bye >&2; exit 3").await.unwrap();
    pipes.input.write_all(b"hello\n").await.unwrap();
    let mut answer = [0; 14];
    pipes.output.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"hello bowline\n");
    assert_eq!(hosted.ended(), None);
    drop(pipes.input);
    let mut complaint = String::new();
    pipes.errors.read_to_string(&mut complaint).await.unwrap();
    assert_eq!(
        (complaint.as_str(), hosted.end(Duration::from_secs(20)).await),
        ("bye\n", Some(Ended::Exited(3)))
    );
}

#[tokio::test]
async fn a_program_that_stays_does_not_outlive_whoever_holds_it() {
    for polite in [true, false] {
        let yard = Yard::new();
        let mut lifeline = Lifeline::new(&yard);
        let (hosted, _pipes) = serve(&yard, FAMILY).await.unwrap();
        lifeline.held().await;
        if polite {
            hosted.end(Duration::ZERO).await;
        } else {
            drop(hosted);
        }
        assert!(lifeline.is_let_go().await);
    }
}

#[tokio::test]
async fn a_program_that_cannot_stay_says_why() {
    let argv = strings(&["no-such-program"]);
    let yard = Yard::new();
    let served = Served { argv: &argv, folder: yard.root(), sandbox: &Sandbox::Off, variables: Vec::new() };
    assert_eq!(served.start().await.unwrap_err(), "there is no program \"no-such-program\"");
}

#[tokio::test]
async fn a_program_has_its_whole_input_before_it_starts() {
    let yard = Yard::new();
    // Through a pipe it would read half of it whenever we die while we write.
    let script = "if [ -p /dev/stdin ]; then echo a pipe; else cat; fi";
    let args = serde_json::json!({"argv": ["sh", "-c", script], "stdin": "all of it"});
    let output = yard.call("run_command", args).await;
    assert!(output.text.contains("all of it"), "{}", output.text);
}
