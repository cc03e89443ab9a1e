//! Models on servers from the command line, against a server on this machine.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::{Place, ran};

const KEY: &str = "sk-test-0123456789";

/// A server that answers every request with these words, and keeps what it was asked.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(status: &'static str, answer: &'static str) -> Self {
        Self::plays(vec![(status, answer)])
    }

    /// The same with an answer for each request; the last one stays. A status may bring headers.
    fn plays(answers: Vec<(&'static str, &'static str)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        // It ends with the test's process.
        std::thread::spawn(move || {
            for (count, stream) in listener.incoming().enumerate() {
                let Ok(stream) = stream else { return };
                let (status, answer) = answers.get(count).or(answers.last()).unwrap();
                kept.lock().unwrap().push(answered(stream, status, answer));
            }
        });
        Self { address, asked }
    }

    fn task(&self, more: &str) -> String {
        format!(
            "goal = \"Say it\"\nmodel = \"here\"\nreview = \"never\"\nsandbox = \"none\"\n{more}\n[models.here]\nformat = \"openai\"\n\
             name = \"m\"\nbase_url = \"http://{}/v1\"\nkey_env = \"HERE_KEY\"\nprivacy = \"local\"\n",
            self.address
        )
    }
}

fn answered(mut stream: TcpStream, status: &str, answer: &str) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let kind = if answer.starts_with("data:") { "text/event-stream" } else { "application/json" };
    let reply = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    );
    stream.write_all(reply.as_bytes()).unwrap();
    format!("{head}{}", String::from_utf8(body).unwrap())
}

const STREAM: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"It is sk-test-\"}}]}\n\n\
    data: {\"choices\":[{\"delta\":{\"content\":\"0123456789.\"},\"finish_reason\":\"stop\"}]}\n\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":50,\"completion_tokens\":5}}\n\ndata: [DONE]\n\n";

#[test]
fn a_sovereign_run_is_done_by_a_server_on_this_machine_and_the_key_is_never_kept() {
    let (place, server) = (Place::new(), Server::start("200 OK", STREAM));
    place.write("task/task.toml", &server.task("privacy = \"sovereign\""));
    let mut command = place.command(&["run", "task"]);
    command.env("HERE_KEY", KEY);
    ran(command).ends(0).says("committed");
    let asked = server.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with("POST /v1/chat/completions") && asked[0].contains(KEY), "{}", asked[0]);
    let output = place.read(&format!("home/results/{}/output.txt", place.last()));
    assert_eq!(output.trim(), "It is [secret HERE_KEY].");
    let shown = place.bowline(&["show", &place.last(), "--json"]).good();
    assert!(!shown.contains(KEY));
}

#[test]
fn a_key_that_is_missing_or_refused_is_told_with_what_to_do() {
    let (place, server) =
        (Place::new(), Server::start("401 Unauthorized", "{\"error\":{\"message\":\"who?\"}}"));
    place.write("task/task.toml", &server.task(""));
    let mut command = place.command(&["run", "task"]);
    command.env_remove("HERE_KEY");
    ran(command).complains("the variable HERE_KEY is not set");
    let mut command = place.command(&["run", "task"]);
    command.env("HERE_KEY", KEY);
    let told = ran(command);
    assert!(told.out.contains("set HERE_KEY to a valid key"), "{told:?}");
    assert_eq!(server.asked.lock().unwrap().len(), 1, "what no retry mends is not tried again");
}

const LIMITED: (&str, &str) =
    ("429 Too Many Requests\r\nretry-after: 1", "{\"error\":{\"message\":\"slow down\"}}");

#[test]
fn a_server_that_limits_the_rate_is_asked_again_after_as_long_as_it_says() {
    let (place, server) = (Place::new(), Server::plays(vec![LIMITED, ("200 OK", STREAM)]));
    place.write("task/task.toml", &server.task(""));
    let mut command = place.command(&["run", "task", "--json"]);
    command.env("HERE_KEY", KEY);
    let told = ran(command).ends(0).objects();
    assert_eq!(server.asked.lock().unwrap().len(), 2);
    let asked = told.iter().filter(|line| line["event"].get("step_started").is_some());
    let at: Vec<u64> = asked.map(|line| line["at"].as_u64().unwrap()).collect();
    assert!(at.len() == 2 && at[1] - at[0] >= 1_000, "{at:?}");
}

#[test]
fn a_server_that_stays_limited_is_stood_in_for_by_another_model() {
    let (place, server) = (Place::new(), Server::plays(vec![LIMITED]));
    place.write("task/task.toml", &server.task("fallbacks = [\"scripted:other.yaml\"]"));
    place.write("task/other.yaml", "script: 1\nconversations:\n  main:\n    - say: done by the other\n");
    let mut command = place.command(&["run", "task"]);
    command.env("HERE_KEY", KEY);
    ran(command).ends(0).says("another model is asked").says("│ done by the other");
    assert_eq!(server.asked.lock().unwrap().len(), 3, "all its attempts, each after the time it asked for");
}

#[test]
fn a_doctor_says_which_keys_are_set_and_never_a_key() {
    let place = Place::new();
    let mut command = place.command(&["doctor", "--json"]);
    command.env("OPENAI_API_KEY", KEY).env_remove("GEMINI_API_KEY");
    let told = ran(command);
    let found: Vec<String> = told
        .objects()
        .iter()
        .filter(|line| line["check"] == "models")
        .map(|line| line["found"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(found.len(), 5);
    assert!(found.iter().any(|line| line.contains("OPENAI_API_KEY is set")), "{found:?}");
    assert!(found.iter().any(|line| line.contains("GEMINI_API_KEY is not set")), "{found:?}");
    assert!(found.iter().any(|line| line.starts_with("ollama:NAME") && line.ends_with("needs no key")));
    assert!(!told.out.contains(KEY));
    assert!(told.objects().iter().all(|line| line["health"] != Value::Null));
}
