//! Real servers through the client, in the cage: `real FOLDER`.
//!
//! FOLDER holds what npm and pip installed (`node_modules`, `venv`). For each server
//! one line says whether its tools could be listed, called and refused as they
//! should. Ends with 0 only if every line passes. Started with `cage-launch` it is
//! the first process of a cage instead.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is what the person at the terminal reads"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use bowline_core::agent::server::{Reach, Server, ServerName};
use bowline_core::event::Outcome as Ended;
use bowline_core::id::{ActionId, RunId};
use bowline_core::input::Returned;
use bowline_core::provenance::Digest;
use bowline_mcp::{Connected, Servers, Surroundings};
use bowline_tools::{Cages, CallContext, Launcher, Missing, Sandbox, Workspace};
use serde_json::{Value, json};
use tokio::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A call, and a word that its answer must hold. An empty tool name is never asked for.
struct Try {
    tool: &'static str,
    args: Value,
    how: Ended,
    holds: &'static str,
}

struct Case {
    name: &'static str,
    argv: Vec<String>,
    tries: Vec<Try>,
}

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == "cage-launch") {
        std::process::exit(bowline_cage::launch::main(words.into_iter().skip(1)));
    }
    let Some(folder) = words.first().map(PathBuf::from) else {
        eprintln!("usage: real FOLDER");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let passed = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(all(&folder)));
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("real: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn all(folder: &Path) -> Outcome<bool> {
    let work = folder.join("work");
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work)?;
    std::fs::write(work.join("note.txt"), "a bowline holds\n")?;
    for words in [
        &["init", "-q"][..],
        &["add", "note.txt"],
        &["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "a knot"],
    ] {
        let status = Command::new("git").current_dir(&work).args(words).status()?;
        if !status.success() {
            return Err(format!("git {words:?} ended with {status}").into());
        }
    }
    let mut all_passed = true;
    for case in cases(folder, &work)? {
        let name = case.name;
        let began = Instant::now();
        let line = match run(folder, &work, case).await {
            Ok(line) => format!("pass  {name}: {line}"),
            Err(error) => {
                all_passed = false;
                format!("FAIL  {name}: {error}")
            }
        };
        println!("{line} ({:.1} s)", began.elapsed().as_secs_f64());
    }
    Ok(all_passed)
}

fn cases(folder: &Path, work: &Path) -> Outcome<Vec<Case>> {
    let text = |path: PathBuf| path.to_str().map(str::to_owned).ok_or("a path that is no text");
    let module =
        |name: &str| text(folder.join("node_modules/@modelcontextprotocol").join(name).join("dist/index.js"));
    let python = text(folder.join("venv/bin/python3"))?;
    let root = text(work.to_owned())?;
    let ok = |tool, args, holds| Try { tool, args, how: Ended::Ok, holds };
    let error = |tool, args, holds| Try { tool, args, how: Ended::Error, holds };
    Ok(vec![
        Case {
            name: "server-everything",
            argv: vec!["node".into(), module("server-everything")?, "stdio".into()],
            tries: vec![
                ok("echo", json!({"message": "hello"}), "hello"),
                ok("get-sum", json!({"a": 2, "b": 3}), "5"),
                ok("get-tiny-image", json!({}), "left out]"),
                ok("get-structured-content", json!({"location": "Chicago"}), "temperature"),
            ],
        },
        Case {
            name: "server-filesystem",
            argv: vec!["node".into(), module("server-filesystem")?, root.clone()],
            tries: vec![
                ok("read_text_file", json!({"path": format!("{root}/note.txt")}), "a bowline holds"),
                ok("write_file", json!({"path": format!("{root}/new.txt"), "content": "x"}), "new.txt"),
                ok("list_directory", json!({"path": root}), "new.txt"),
                error("read_text_file", json!({"path": "/etc/passwd"}), "denied"),
                // The cage, not the server: the repository's own folder stays as it is.
                error("write_file", json!({"path": format!("{root}/.git/config"), "content": "x"}), ""),
            ],
        },
        Case {
            name: "mcp-server-git",
            argv: vec![
                python.clone(),
                "-m".into(),
                "mcp_server_git".into(),
                "--repository".into(),
                root.clone(),
            ],
            tries: vec![
                ok("git_status", json!({"repo_path": root}), "new.txt"),
                ok("git_log", json!({"repo_path": root}), "a knot"),
            ],
        },
        Case {
            name: "mcp-server-fetch",
            argv: vec![python, "-m".into(), "mcp_server_fetch".into()],
            // Without a grant there is no network in the cage.
            tries: vec![error("fetch", json!({"url": "http://127.0.0.1:1/"}), "")],
        },
    ])
}

async fn run(folder: &Path, work: &Path, case: Case) -> Outcome<String> {
    let server =
        Server::new(ServerName::parse(case.name)?, Reach::Stdio { argv: case.argv, env: BTreeMap::new() });
    let launcher = Launcher::this_program(["cage-launch"])?;
    let read = vec![folder.join("node_modules"), folder.join("venv"), python_home(folder)?];
    let sandbox = Sandbox::Caged {
        cages: Cages::with(launcher),
        read,
        write: Vec::new(),
        narrow: None,
        outlet: None,
        missing: Missing::Refuse,
    };
    let around = Surroundings { folder: work.to_owned(), sandbox, network: None };
    let servers = Servers::new(&folder.join("home"), around);
    let look = servers.look(&server).await?;
    let flagged = look.concerns.iter().filter(|concerns| !concerns.is_empty()).count();
    servers.approve(&look).await?;
    let connected = servers.connect(&server, bowline_mcp::FirstUse::Refuse).await?;
    let (version, listed) = (connected.version.clone(), connected.tools().len());
    let count = case.tries.len();
    for attempt in case.tries {
        tried(&connected, work, attempt).await?;
    }
    connected.close().await;
    Ok(format!(
        "{listed} tools listed ({flagged} flagged for reading), {count} calls as expected, protocol {version}"
    ))
}

/// Where the interpreter of the virtual environment really lies.
fn python_home(folder: &Path) -> Outcome<PathBuf> {
    let real = folder.join("venv/bin/python3").canonicalize()?;
    Ok(real.ancestors().nth(2).ok_or("python lies nowhere")?.to_owned())
}

async fn tried(connected: &Connected, work: &Path, attempt: Try) -> Outcome<()> {
    let name = format!("{}.{}", connected.server, attempt.tool);
    let tools = connected.tools();
    let tool =
        tools.iter().find(|tool| tool.spec().name.as_str() == name).ok_or_else(|| format!("no {name}"))?;
    let ctx = CallContext {
        workspace: Workspace::open(work)?,
        sandbox: Sandbox::Off,
        secrets: Default::default(),
        reach: bowline_tools::Reach::nothing(),
        inference: Default::default(),
        run: RunId::parse("real")?,
        action: ActionId { step: 1, index: 0 },
        key: Digest::of(name.as_bytes()),
        epoch: 1,
        attempt: 1,
        image: None,
        timeout: Duration::from_secs(60),
    };
    let output = tool.run(attempt.args, &ctx).await;
    if output.how == Returned::Known(attempt.how) && output.text.contains(attempt.holds) {
        return Ok(());
    }
    let told: String = output.text.chars().take(300).collect();
    Err(format!("{name}: expected {:?} with {:?}, got {:?}: {told}", attempt.how, attempt.holds, output.how)
        .into())
}
