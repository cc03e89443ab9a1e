//! Servers over HTTP, through the gate.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_core::agent::server::{Given, Reach, Server, ServerName};
use bowline_core::event::Outcome;
use bowline_core::input::Returned;
use bowline_mcp::{Connected, FirstUse, McpError, Network, Servers, Surroundings};
use bowline_net::{Gate, Policy, Tier, Trust, Waits};
use bowline_tools::{Sandbox, ToolOutput};
use serde_json::json;

use super::World;
use super::webserver::{Age, Play, Web};

const SHORT: Duration = Duration::from_millis(300);

fn server(url: &str) -> Server {
    let how = Reach::Http { url: url.to_owned(), headers: BTreeMap::new() };
    Server::new(ServerName::parse("web").unwrap(), how)
}

fn servers(world: &World, hosts: &[String]) -> Servers {
    let policy = Policy::new(Tier::Private, hosts).unwrap();
    let gate = Gate::open(policy, Waits::default()).unwrap();
    let network = Some(Network { gate, trust: Trust::public() });
    let around = Surroundings { folder: world.work(), sandbox: Sandbox::Off, network };
    Servers::new(&world.folder.path().join("home"), around)
}

async fn connect(world: &World, web: &Web) -> Connected {
    let servers = servers(world, &[web.address.to_string()]);
    servers.connect(&server(&web.url()), FirstUse::Pin).await.unwrap()
}

async fn call(world: &World, connected: &Connected, tool: &str, max: Duration) -> ToolOutput {
    world.call_with(connected, tool, json!({}), max).await
}

const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn both_kinds_of_answers_are_read_from_both_ages_of_servers() {
    for (age, version) in [(Age::Newest, "2026-07-28"), (Age::Older, "2025-06-18")] {
        let (world, web) = (World::new(), Web::start(age, vec![Play::Json, Play::Stream]).await);
        let connected = connect(&world, &web).await;
        assert_eq!(connected.version, version);
        assert_eq!(call(&world, &connected, "pay", LONG).await, ToolOutput::ok("done"), "{age:?}");
        assert_eq!(call(&world, &connected, "pay", LONG).await, ToolOutput::ok("streamed"), "{age:?}");
        let (head, body) = &web.requests("tools/call")[0];
        assert!(head.contains(&format!("mcp-protocol-version: {version}")), "{head}");
        assert!(body["params"]["_meta"]["bowline/idempotency-key"].is_string());
        connected.close().await;
    }
}

#[tokio::test]
async fn what_may_have_arrived_is_in_doubt_or_sent_again_with_the_same_key() {
    for play in [Play::BrokenStream, Play::HangUp, Play::Status(502), Play::Huge, Play::Nonsense] {
        let (world, web) = (World::new(), Web::start(Age::Newest, vec![play.clone()]).await);
        let connected = connect(&world, &web).await;
        let output = call(&world, &connected, "pay", LONG).await;
        assert_eq!(output.how, Returned::Unknown, "{play:?}: {}", output.text);
        assert!(!output.text.contains('\u{1b}'), "{play:?}");
        assert_eq!(web.requests("tools/call").len(), 1, "{play:?}");

        let (world, web) = (World::new(), Web::start(Age::Newest, vec![play.clone()]).await);
        let connected = connect(&world, &web).await;
        assert_eq!(call(&world, &connected, "look", LONG).await, ToolOutput::ok("done"), "{play:?}");
        let sent = web.requests("tools/call");
        let key = |at: usize| sent[at].1["params"]["_meta"]["bowline/idempotency-key"].clone();
        assert_eq!((sent.len(), key(0)), (2, key(1)), "{play:?}");
        assert_ne!(sent[0].1["id"], sent[1].1["id"], "{play:?}");
    }
}

#[tokio::test]
async fn what_was_turned_away_is_an_error_and_no_doubt() {
    for play in [Play::Status(400), Play::Status(401), Play::Status(429)] {
        let (world, web) = (World::new(), Web::start(Age::Newest, vec![play.clone()]).await);
        let connected = connect(&world, &web).await;
        let output = call(&world, &connected, "pay", LONG).await;
        assert_eq!(output.how, Returned::Known(Outcome::Error), "{play:?}: {}", output.text);
        assert_eq!(web.requests("tools/call").len(), 1, "{play:?}");
    }
}

#[tokio::test]
async fn silence_and_dripping_end_by_the_clock() {
    for play in [Play::Silent, Play::Drip] {
        let (world, web) = (World::new(), Web::start(Age::Newest, vec![play.clone()]).await);
        let connected = connect(&world, &web).await;
        let output = call(&world, &connected, "pay", SHORT).await;
        assert_eq!(output.how, Returned::Unknown, "{play:?}: {}", output.text);
        assert_eq!(call(&world, &connected, "pay", LONG).await, ToolOutput::ok("done"), "{play:?}");
    }
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_not_followed() {
    for place in [
        "http://10.0.0.1/mcp",
        "http://169.254.169.254/latest",
        "https://example.com/mcp",
        "http://127.0.0.1:1/mcp",
    ] {
        for status in [302, 307] {
            let play = Play::Redirect(status, place.to_owned());
            let (world, web) = (World::new(), Web::start(Age::Newest, vec![play]).await);
            let connected = connect(&world, &web).await;
            let output = call(&world, &connected, "pay", LONG).await;
            // The server has read the call before it sent us on.
            assert_eq!(output.how, Returned::Unknown, "{place} {status}: {}", output.text);
            assert!(output.text.contains("redirect 1"), "{place} {status}: {}", output.text);
        }
    }
}

#[tokio::test]
async fn a_session_that_is_gone_is_opened_again_and_nothing_is_lost() {
    let (world, web) = (World::new(), Web::start(Age::Older, Vec::new()).await);
    let connected = connect(&world, &web).await;
    assert_eq!(call(&world, &connected, "pay", LONG).await, ToolOutput::ok("done"));
    web.restart();
    assert_eq!(call(&world, &connected, "pay", LONG).await, ToolOutput::ok("done"));
    assert_eq!(web.requests("initialize").len(), 2);
}

#[tokio::test]
async fn headers_with_secrets_are_sent_and_never_shown() {
    let (world, web) = (World::new(), Web::start(Age::Newest, vec![Play::Status(403)]).await);
    let secret = world.folder.path().join("secret");
    std::fs::write(&secret, "correct-horse").unwrap();
    let mut server = server(&web.url());
    let Reach::Http { headers, .. } = &mut server.how else { unreachable!() };
    let file = secret.to_str().unwrap().to_owned();
    headers.insert("Authorization".to_owned(), Given::File { file, prefix: "Bearer ".to_owned() });
    let servers = servers(&world, &[web.address.to_string()]);
    let connected = servers.connect(&server, FirstUse::Pin).await.unwrap();
    let output = call(&world, &connected, "pay", LONG).await;
    assert!(!output.text.contains("correct-horse") && output.text.contains("403"), "{}", output.text);
    assert!(web.requests("tools/call")[0].0.contains("authorization: bearer correct-horse"));
}

#[tokio::test]
async fn without_a_way_out_or_a_grant_nothing_is_reached() {
    let (world, web) = (World::new(), Web::start(Age::Newest, Vec::new()).await);
    let error = world.servers().connect(&server(&web.url()), FirstUse::Pin).await.err().unwrap();
    assert!(matches!(error, McpError::NoNetwork { .. }), "{error}");
    let others = servers(&world, &["api.example.com".to_owned()]);
    let error = others.connect(&server(&web.url()), FirstUse::Pin).await.err().unwrap();
    assert!(matches!(error, McpError::Broken { .. }) && error.to_string().contains("not"), "{error}");
    assert_eq!(web.requests("server/discover").len(), 0);
}
