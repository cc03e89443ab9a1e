//! Servers over pipes.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_core::agent::server::{Given, Reach, Server, ServerName, ToolRules};
use bowline_core::event::Outcome;
use bowline_core::input::Returned;
use bowline_core::tool::{Consent, Repeat, Touch};
use bowline_mcp::{Fault, FirstUse, McpError};
use bowline_tools::{Cages, Launcher, Missing, Sandbox, ToolOutput};
use serde_json::json;

use super::{World, example, find};

const SHORT: Duration = Duration::from_millis(300);

async fn short(world: &World, connected: &bowline_mcp::Connected, tool: &str) -> ToolOutput {
    world.call_with(connected, tool, json!({}), SHORT).await
}

#[tokio::test]
async fn the_newest_protocol_is_spoken_and_the_key_goes_along() {
    let world = World::new();
    let connected = world.connect("new").await.unwrap();
    assert_eq!(connected.version, "2026-07-28");
    let output = world.call(&connected, "echo").await;
    assert_eq!(output, ToolOutput::ok("{\"text\":\"hello\"}"));
    assert!(!world.sent().iter().any(|message| message["method"] == "initialize"));
    let meta = &world.calls_sent("echo")[0]["params"]["_meta"];
    let key = bowline_core::provenance::Digest::of(b"key").to_string();
    assert_eq!((&meta["bowline/idempotency-key"], &meta["bowline/run"]), (&json!(key), &json!("run-1")));
    assert_eq!(
        (&meta["bowline/action"], &meta["io.modelcontextprotocol/protocolVersion"]),
        (&json!("a3.1"), &json!("2026-07-28"))
    );
}

#[tokio::test]
async fn older_servers_are_opened_the_older_way() {
    for (mode, version) in [("old", "2024-11-05"), ("deaf", "2025-11-25"), ("chatty", "2025-11-25")] {
        let world = World::new();
        let connected = world.connect(mode).await.unwrap();
        assert_eq!(connected.version, version, "{mode}");
        assert_eq!(world.call(&connected, "echo").await, ToolOutput::ok("{\"text\":\"hello\"}"), "{mode}");
    }
}

#[tokio::test]
async fn what_a_server_claims_is_a_guess_and_the_manifest_knows_better() {
    let world = World::new();
    let mut server = world.double("new");
    let rules =
        ToolRules { consent: Some(Consent::NotNeeded), touch: Some(Touch::Exec), ..ToolRules::default() };
    server.rules = BTreeMap::from([("die-read".to_owned(), rules)]);
    server.tools = Some(["echo", "pay", "die-put", "die-read"].map(str::to_owned).to_vec());
    let connected = world.servers().connect(&server, FirstUse::Pin).await.unwrap();
    assert_eq!(connected.tools().len(), 4);
    for (tool, touch, repeat, consent) in [
        ("echo", Touch::Read, Repeat::Freely, Consent::Ask),
        ("pay", Touch::Exec, Repeat::Never, Consent::Ask),
        ("die-put", Touch::Exec, Repeat::WithSameKey, Consent::Ask),
        // Nobody is asked about this one, so nothing rests on what the server claims.
        ("die-read", Touch::Exec, Repeat::Never, Consent::NotNeeded),
    ] {
        let found = find(&connected, tool);
        let spec = found.spec();
        assert_eq!((spec.touch, spec.repeat, spec.consent), (touch, repeat, consent), "{tool}");
    }
}

#[tokio::test]
async fn a_time_out_tells_the_server_and_the_run_goes_on() {
    let world = World::new();
    let connected = world.connect("new").await.unwrap();
    let output = short(&world, &connected, "hang").await;
    assert_eq!(output.how, Returned::Unknown, "{}", output.text);
    assert!(output.text.contains("took longer than 0.3 s"), "{}", output.text);
    // The server is looked after before the next call, which then goes through.
    assert_eq!(world.call(&connected, "echo").await.how, Returned::Known(Outcome::Ok));
    let cancelled: Vec<_> =
        world.sent().into_iter().filter(|message| message["method"] == "notifications/cancelled").collect();
    assert_eq!(cancelled[0]["params"]["requestId"], world.calls_sent("hang")[0]["id"]);
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_too() {
    let world = World::new();
    let connected = world.connect("old").await.unwrap();
    let dropped = tokio::time::timeout(SHORT, world.call(&connected, "hang")).await;
    assert!(dropped.is_err());
    world.call(&connected, "echo").await;
    assert!(world.sent().iter().any(|message| message["method"] == "notifications/cancelled"));
}

#[tokio::test]
async fn a_server_that_dies_leaves_a_call_in_doubt_and_is_started_again() {
    let world = World::new();
    let connected = world.connect("new").await.unwrap();
    let output = world.call(&connected, "die").await;
    assert_eq!(output.how, Returned::Unknown, "{}", output.text);
    assert!(output.text.contains("nobody knows whether the call happened"), "{}", output.text);
    assert_eq!(world.calls_sent("die").len(), 1, "it is never sent twice");
    assert_eq!(world.call(&connected, "echo").await.how, Returned::Known(Outcome::Ok));
}

#[tokio::test]
async fn what_may_be_repeated_is_sent_again_with_the_same_key() {
    for tool in ["die-read", "die-put"] {
        let world = World::new();
        let connected = world.connect("new").await.unwrap();
        assert_eq!(world.call(&connected, tool).await.how, Returned::Known(Outcome::Ok), "{tool}");
        let sent = world.calls_sent(tool);
        let key = |at: usize| sent[at]["params"]["_meta"]["bowline/idempotency-key"].clone();
        assert_eq!((sent.len(), key(0)), (2, key(1)), "{tool}");
    }
}

#[tokio::test]
async fn a_tool_that_may_not_be_repeated_any_more_is_not() {
    let world = World::new();
    let connected = world.connect("new").await.unwrap();
    let tool = find(&connected, "die-read");
    let mut spec = tool.spec().clone();
    spec.repeat = Repeat::Never;
    let output = tool.under(&spec).unwrap().run(json!({}), &world.ctx(Duration::from_secs(20))).await;
    assert_eq!((output.how, world.calls_sent("die-read").len()), (Returned::Unknown, 1));
}

#[tokio::test]
async fn a_flood_of_news_and_questions_is_dropped_and_the_answer_found() {
    let world = World::new();
    let connected = world.connect("new").await.unwrap();
    let output = world.call_with(&connected, "flood", json!({}), Duration::from_secs(60)).await;
    assert_eq!(output, ToolOutput::ok("flooded"));
}

#[tokio::test]
async fn nonsense_and_too_much_end_the_connection_and_say_so() {
    let world = World::new();
    let connected = world.connect("new").await.unwrap();
    for (tool, told) in [
        ("nonsense", "no messages"),
        ("huge", "more than 8388608 bytes"),
        ("deep", "nested deeper than 127 levels"),
    ] {
        let output = world.call(&connected, tool).await;
        assert_eq!(output.how, Returned::Unknown, "{}", output.text);
        assert!(output.text.contains(told) && !output.text.contains('\u{1b}'), "{}", output.text);
    }
    assert_eq!(world.call(&connected, "echo").await.how, Returned::Known(Outcome::Ok));
}

#[tokio::test]
async fn an_answer_to_nobody_and_an_answer_that_drips_end_by_the_clock() {
    let world = World::new();
    let connected = world.connect("new").await.unwrap();
    for tool in ["wrong", "drip"] {
        let output = short(&world, &connected, tool).await;
        assert_eq!(output.how, Returned::Unknown, "{tool}: {}", output.text);
    }
    assert_eq!(world.call(&connected, "echo").await.how, Returned::Known(Outcome::Ok));
}

#[tokio::test]
async fn what_a_server_wants_of_us_is_refused() {
    let world = World::new();
    let old = world.connect("old").await.unwrap();
    let output = world.call(&old, "ask").await.text;
    assert!(output.contains("-32601") && output.contains("\"action\":\"decline\""), "{output}");
    old.close().await;
    let new = world.connect("new").await.unwrap();
    let output = world.call(&new, "input").await;
    assert_eq!(output, ToolOutput::ok("[the server asked for a person's answer and was refused]\nthen not"));
    let again = &world.calls_sent("input")[1];
    assert_eq!(again["params"]["inputResponses"], json!({"a": {"action": "decline"}}));
    assert_eq!(again["params"]["requestState"], json!("opaque"));
    let output = world.call(&new, "sample").await;
    assert_eq!(output.how, Returned::Known(Outcome::Error));
    assert!(
        output.text.contains("wants a model's answer") && output.text.contains("refused"),
        "{}",
        output.text
    );
    assert_eq!(world.calls_sent("sample").len(), 1);
}

#[tokio::test]
async fn an_error_of_the_tool_is_an_error_of_the_call() {
    let world = World::new();
    let connected = world.connect("new").await.unwrap();
    assert_eq!(world.call(&connected, "fail").await, ToolOutput::error("it is broken"));
}

#[tokio::test]
async fn secrets_reach_the_server_and_come_back_masked() {
    let world = World::new();
    let secret = world.folder.path().join("secret");
    std::fs::write(&secret, "correct-horse\n").unwrap();
    let mut server = world.double("new");
    let Reach::Stdio { env, .. } = &mut server.how else { unreachable!() };
    let file = secret.to_str().unwrap().to_owned();
    env.insert("API_TOKEN".to_owned(), Given::File { file, prefix: String::new() });
    env.insert("MODE".to_owned(), Given::Text("fast".to_owned()));
    let connected = world.servers().connect(&server, FirstUse::Pin).await.unwrap();
    for (name, expected) in [
        ("API_TOKEN", "Ok(\"[secret of the server]\")"),
        ("MODE", "Ok(\"fast\")"),
        ("USER", "Err(NotPresent)"),
    ] {
        let args = json!({"text": name});
        let output = world.call_with(&connected, "env", args, Duration::from_secs(20)).await;
        assert_eq!(output.text, expected, "{name}");
    }
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let world = World::new();
    let mut server = world.double("new");
    server.how = Reach::Stdio { argv: vec!["no-such-server".into()], env: BTreeMap::new() };
    let error = world.servers().connect(&server, FirstUse::Pin).await.err().unwrap();
    assert!(matches!(&error, McpError::Start { why, .. } if why.contains("no-such-server")), "{error}");
    server.how = Reach::Stdio {
        argv: ["sh", "-c", "echo no config >&2; exit 4"].map(str::to_owned).to_vec(),
        env: BTreeMap::new(),
    };
    let error = world.servers().connect(&server, FirstUse::Pin).await.err().unwrap();
    let McpError::Broken { fault: Fault::Ended { how }, complaint, .. } = &error else { panic!("{error}") };
    assert_eq!((how.as_str(), complaint.as_str()), ("[exit code 4]", "no config"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up() {
    let world = World::new();
    let error = world.connect("mute").await.err().unwrap();
    assert!(matches!(error, McpError::Late { .. }), "{error}");
}

#[tokio::test]
async fn closing_ends_the_program_and_refuses_further_calls() {
    let world = World::new();
    let connected = world.connect("new").await.unwrap();
    let tool = find(&connected, "echo");
    connected.close().await;
    let output = tool.run(json!({}), &world.ctx(SHORT)).await;
    assert!(
        output.how == Returned::Known(Outcome::Error) && output.text.contains("was closed"),
        "{}",
        output.text
    );
    assert_eq!(world.calls_sent("echo").len(), 0);
}

#[tokio::test]
async fn a_server_lives_in_the_cage() {
    let world = World::new();
    let launcher = Launcher { program: example("double"), args: vec!["cage-launch".into()] };
    let sandbox = Sandbox::Caged {
        cages: Cages::with(launcher),
        read: Vec::new(),
        write: Vec::new(),
        narrow: None,
        outlet: None,
        missing: Missing::Refuse,
    };
    let connected = world.servers_in(sandbox).connect(&world.double("new"), FirstUse::Pin).await.unwrap();
    let args = json!({"text": "HOME"});
    let home = world.call_with(&connected, "env", args, Duration::from_secs(20)).await;
    assert_eq!(home.text, "Ok(\"/tmp/home\")");
    assert_eq!(world.call(&connected, "die").await.how, Returned::Unknown);
    assert_eq!(world.call(&connected, "echo").await.how, Returned::Known(Outcome::Ok));
    connected.close().await;
    assert!(!world.work().join(".git").exists(), "the cage leaves nothing behind");
}

#[tokio::test]
async fn a_call_that_may_have_arrived_is_in_doubt_when_it_cannot_be_sent_again() {
    for tool in ["die-read", "die-put"] {
        let world = World::new();
        let connected = world.connect("new").await.unwrap();
        // It dies in the middle of the call and comes back with another list.
        std::fs::write(world.log().with_extension("changed"), "").unwrap();
        let output = world.call(&connected, tool).await;
        assert_eq!(output.how, Returned::Unknown, "{tool}: {}", output.text);
        assert!(output.text.contains("nobody knows whether the call happened"), "{tool}: {}", output.text);
        assert_eq!(world.calls_sent(tool).len(), 1, "{tool}");
        // A call that was never sent is a plain error.
        let output = world.call(&connected, "echo").await;
        assert_eq!(output.how, Returned::Known(Outcome::Error), "{}", output.text);
    }
}

#[tokio::test]
async fn secrets_of_a_server_are_taken_out_of_its_list_and_its_complaints() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("key");
    std::fs::write(&key, "hunter2-hunter2").unwrap();
    let given = || Given::File { file: key.to_str().unwrap().to_owned(), prefix: String::new() };
    let list = r#"{"resultType":"complete","tools":[{"name":"add","description":"Key is '"$API_TOKEN"'.","inputSchema":{"type":"object","title":"'"$API_TOKEN"'"}}]}"#;
    let hello = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,"cacheScope":"private","capabilities":{"tools":{}}}"#;
    let script = format!(
        r#"while read -r line; do
          id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
          case "$line" in
            *server/discover*) result='{hello}' ;;
            *tools/list*) result='{list}' ;;
            *) continue ;;
          esac
          printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$result"
        done"#
    );
    let server = |script: &str| {
        let argv = vec!["sh".to_owned(), "-c".to_owned(), script.to_owned()];
        let how = Reach::Stdio { argv, env: BTreeMap::from([("API_TOKEN".to_owned(), given())]) };
        Server::new(ServerName::parse("leaky").unwrap(), how)
    };
    let look = world.servers().look(&server(&script)).await.unwrap();
    assert_eq!(look.tools[0].description, "Key is [secret of the server].");
    assert_eq!(look.tools[0].schema["title"], "[secret of the server]");
    let refusing = r#"read -r line; id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/');
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"not with %s"}}\n' "$id" "$API_TOKEN"; read -r line;
        id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/');
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"not with %s"}}\n' "$id" "$API_TOKEN"; sleep 5"#;
    for script in [refusing, "echo \"bad $API_TOKEN\" >&2; exit 3", "while :; do echo \"$API_TOKEN\"; done"] {
        let told = world.servers().look(&server(script)).await.err().unwrap().to_string();
        assert!(!told.contains("hunter2") && told.contains("[secret of the server]"), "{told}");
    }
    assert_eq!(
        bowline_mcp::secrets_of(&server(&script)).unwrap(),
        [("API_TOKEN of leaky".to_owned(), "hunter2-hunter2".to_owned())]
    );
}
