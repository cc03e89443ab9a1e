//! `fetch`, `http_request` and `wait_for` against a server on this machine.

use std::time::Duration;

use bowline_core::event::Outcome;
use bowline_core::input::Returned;
use bowline_core::task::{self, Task};
use bowline_tools::{CallContext, Reach};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::{ERROR, OK, Yard};

/// A server that sends these answers, one to a connection, the last one for ever, and tells what it was asked.
struct Server {
    at: String,
    asked: mpsc::Receiver<String>,
}

impl Server {
    async fn start(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let (tell, asked) = mpsc::channel(64);
        let answers: Vec<String> = answers.iter().map(|answer| (*answer).to_owned()).collect();
        tokio::spawn(async move {
            let mut count = 0;
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = vec![0; 8192];
                let read = stream.read(&mut head).await.unwrap_or(0);
                tell.send(String::from_utf8_lossy(&head[..read]).into_owned()).await.unwrap();
                let answer = answers.get(count).or(answers.last()).unwrap();
                count += 1;
                // A client that is gone has what it wanted.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { at, asked }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.at)
    }

    /// A context whose task grants this server and nothing else.
    fn granted(&self, yard: &Yard) -> CallContext {
        CallContext { reach: reach(&[&self.at], "standard"), ..yard.ctx() }
    }
}

fn task(hosts: &[&str], privacy: &str) -> Task {
    let raw = json!({"goal": "x", "model": "a:b", "network": {"hosts": hosts}, "privacy": privacy});
    task::parse(&raw).unwrap()
}

fn reach(hosts: &[&str], privacy: &str) -> Reach {
    Reach::of(&task(hosts, privacy)).unwrap()
}

fn answer(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn a_granted_host_is_read_with_its_status_and_headers() {
    let yard = Yard::new();
    let mut server =
        Server::start(&[&answer("200 OK\r\ncontent-type: text/plain\r\nx-other: 1", "hello")]).await;
    let args = json!({"url": server.url("/a?b=1"), "headers": {"accept": "text/plain"}});
    let output = yard.call_in(&server.granted(&yard), "fetch", args).await;
    let expected =
        format!("200 OK {}\ncontent-length: 5\ncontent-type: text/plain\n\nhello", server.url("/a?b=1"));
    assert_eq!((output.how, output.text), (OK, expected));
    let asked = server.asked.recv().await.unwrap();
    assert!(asked.starts_with("GET /a?b=1 HTTP/1.1\r\n") && asked.contains("accept: text/plain"), "{asked}");
}

#[tokio::test]
async fn a_host_that_was_not_granted_is_named_and_never_asked() {
    let yard = Yard::new();
    let mut server = Server::start(&[&answer("200 OK", "x")]).await;
    for reach in [Reach::nothing(), reach(&["api.example.com"], "private")] {
        let ctx = CallContext { reach, ..yard.ctx() };
        for (tool, args) in [
            ("fetch", json!({"url": server.url("/")})),
            ("http_request", json!({"url": server.url("/"), "method": "POST"})),
            ("wait_for", json!({"url": server.url("/")})),
        ] {
            let output = yard.call_in(&ctx, tool, args).await;
            assert_eq!(output.how, ERROR);
            assert!(output.text.contains("127.0.0.1 is not in allowed_hosts"), "{tool}: {}", output.text);
        }
    }
    assert!(server.asked.try_recv().is_err(), "it was asked");
}

#[tokio::test]
async fn a_sovereign_run_reaches_nothing_even_if_granted() {
    let yard = Yard::new();
    let mut server = Server::start(&[&answer("200 OK", "x")]).await;
    let ctx = CallContext { reach: reach(&[&server.at, "*"], "sovereign"), ..yard.ctx() };
    for (tool, args) in [
        ("fetch", json!({"url": server.url("/")})),
        ("http_request", json!({"url": server.url("/"), "method": "POST"})),
        ("wait_for", json!({"url": server.url("/")})),
    ] {
        let output = yard.call_in(&ctx, tool, args).await;
        assert!(output.how == ERROR && output.text.contains("sovereign"), "{tool}: {}", output.text);
    }
    assert!(server.asked.try_recv().is_err(), "it was asked");
}

#[tokio::test]
async fn a_model_brings_no_credentials_and_no_keys() {
    let yard = Yard::new();
    let mut server = Server::start(&[&answer("200 OK", "x")]).await;
    for header in ["Authorization", "cookie", "Host", "Idempotency-Key", "X-Api-Key", "Proxy-Authorization"] {
        let headers: Value = [(header, "x")]
            .into_iter()
            .collect::<std::collections::BTreeMap<_, _>>()
            .into_iter()
            .map(|(k, v)| (k.to_owned(), json!(v)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        for (tool, method) in [("fetch", "GET"), ("http_request", "POST")] {
            let args = json!({"url": server.url("/"), "method": method, "headers": headers});
            let output = yard.call_in(&server.granted(&yard), tool, args).await;
            assert!(
                output.how == ERROR && output.text.contains("cannot be sent"),
                "{header}: {}",
                output.text
            );
        }
    }
    assert!(server.asked.try_recv().is_err(), "it was asked");
}

#[tokio::test]
async fn a_request_that_acts_carries_the_key_of_its_action() {
    let yard = Yard::new();
    let mut server = Server::start(&[&answer("201 Created\r\nlocation: /things/7", "{}")]).await;
    let args = json!({"url": server.url("/things"), "method": "POST", "body": "{\"a\": 1}", "headers": {"content-type": "application/json"}});
    let output = yard.call_in(&server.granted(&yard), "http_request", args).await;
    assert!(output.how == OK && output.text.starts_with("201 Created"), "{}", output.text);
    assert!(output.text.contains("location: /things/7"), "{}", output.text);
    let asked = server.asked.recv().await.unwrap();
    let key = yard.ctx().key;
    assert!(
        asked.starts_with("POST /things") && asked.contains(&format!("idempotency-key: {key}\r\n")),
        "{asked}"
    );
    assert!(asked.ends_with("{\"a\": 1}"), "{asked}");
}

#[tokio::test]
async fn a_request_that_broke_off_is_in_doubt_and_a_look_is_not() {
    let yard = Yard::new();
    let server = Server::start(&[""]).await;
    let ctx = CallContext { timeout: Duration::from_secs(20), ..server.granted(&yard) };
    let post = json!({"url": server.url("/"), "method": "POST"});
    assert_eq!(yard.call_in(&ctx, "http_request", post.clone()).await.how, Returned::Unknown);
    let get = json!({"url": server.url("/")});
    assert_eq!(yard.call_in(&ctx, "fetch", get.clone()).await.how, ERROR);

    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = silent.local_addr().unwrap().to_string();
    let ctx =
        CallContext { timeout: Duration::from_millis(200), reach: reach(&[&at], "standard"), ..yard.ctx() };
    let url = format!("http://{at}/");
    let late = yard.call_in(&ctx, "http_request", json!({"url": url, "method": "PUT"})).await;
    assert_eq!(late.how, Returned::Unknown, "{}", late.text);
    let late = yard.call_in(&ctx, "fetch", json!({"url": url})).await;
    assert_eq!(late.how, Returned::Known(Outcome::TimedOut), "{}", late.text);
    // What was never sent did not happen.
    drop(silent);
    let refused = yard.call_in(&ctx, "http_request", json!({"url": url, "method": "PUT"})).await;
    assert!(refused.how == ERROR && refused.text.contains("cannot connect"), "{}", refused.text);
}

#[tokio::test]
async fn a_server_that_turns_a_request_away_is_tried_later_as_long_as_it_says() {
    let limited = answer("429 Too Many Requests\r\nretry-after: 7", "");
    let away = answer("503 Service Unavailable\r\nretry-after: 7", "");
    let silent = answer("503 Service Unavailable", "");
    let server = Server::start(&[&limited, &limited, &away, &away, &silent]).await;
    let yard = Yard::new();
    let ctx = server.granted(&yard);
    let look = || yard.call_in(&ctx, "fetch", json!({"url": server.url("/")}));
    let act = || yard.call_in(&ctx, "http_request", json!({"url": server.url("/"), "method": "POST"}));
    let later = Returned::Trouble { retry_after_ms: Some(7000) };
    assert_eq!(look().await.how, later);
    assert_eq!(act().await.how, later, "it was not looked at");
    assert_eq!(look().await.how, later);
    assert_eq!(act().await.how, ERROR, "part of it may have been done");
    assert_eq!(look().await.how, ERROR, "nobody says that it will be better");
}

#[tokio::test]
async fn a_redirect_is_judged_like_any_other_url() {
    let yard = Yard::new();
    let server = Server::start(&[
        "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n",
    ])
    .await;
    let output = yard.call_in(&server.granted(&yard), "fetch", json!({"url": server.url("/")})).await;
    assert_eq!(output.how, ERROR);
    assert!(output.text.contains("169.254.169.254 is not in allowed_hosts"), "{}", output.text);
}

#[tokio::test]
async fn what_is_no_text_is_measured_and_what_failed_is_an_error() {
    let yard = Yard::new();
    let server = Server::start(&[
        &answer("200 OK\r\ncontent-type: image/png", "a\0b"),
        &answer("404 Not Found", "nothing here"),
        &answer("200 OK\r\ncontent-type: text/html; charset=ISO-8859-1", "x"),
    ])
    .await;
    let ctx = server.granted(&yard);
    let get = |path: &str| json!({"url": server.url(path)});
    assert!(yard.call_in(&ctx, "fetch", get("/png")).await.text.ends_with("[3 bytes that are no text]"));
    let missing = yard.call_in(&ctx, "fetch", get("/no")).await;
    assert!(
        missing.how == ERROR
            && missing.text.contains("404 Not Found")
            && missing.text.ends_with("nothing here")
    );
    assert!(yard.call_in(&ctx, "fetch", get("/latin")).await.text.ends_with("\nx"));
}

#[tokio::test]
async fn a_page_is_waited_for_until_it_says_what_is_wanted() {
    let yard = Yard::new();
    let (busy, ready) = (answer("503 Busy", "no"), answer("200 OK", "all done"));
    let server = Server::start(&[&busy, &answer("200 OK", "working"), &ready]).await;
    let args = json!({"url": server.url("/"), "contains": "done", "every_seconds": 0.5, "max_seconds": 60});
    let output = yard.call_in(&server.granted(&yard), "wait_for", args).await;
    assert!(output.how == OK && output.text.contains("3 looks"), "{}", output.text);
    let server = Server::start(&[&busy]).await;
    let args = json!({"url": server.url("/"), "every_seconds": 0.5, "max_seconds": 0.7});
    let output = yard.call_in(&server.granted(&yard), "wait_for", args).await;
    assert!(output.how == ERROR && output.text.contains("answered 503"), "{}", output.text);
    let args = json!({"url": server.url("/"), "status": 503});
    assert_eq!(yard.call_in(&server.granted(&yard), "wait_for", args).await.how, OK);
}
