//! The client that the official conformance suite drives: connects to the server
//! whose address is its last word, lists its tools and calls them.
//!
//! `MCP_CONFORMANCE_CONTEXT` may name the calls to make; otherwise every tool is
//! called once, with arguments made up from its schema.

#![allow(clippy::print_stderr, reason = "this is what the suite shows when something fails")]

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use bowline_core::agent::server::{Reach, Server, ServerName};
use bowline_core::id::{ActionId, RunId};
use bowline_core::provenance::Digest;
use bowline_mcp::{Connected, FirstUse, Network, Servers, Surroundings};
use bowline_net::{Gate, Policy, Trust, Url, Waits};
use bowline_tools::{CallContext, Sandbox, Workspace};
use serde_json::{Map, Value, json};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match client().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn client() -> Outcome<()> {
    // The gate wants a service of this machine named by its address.
    let address = std::env::args().next_back().ok_or("no address")?.replace("//localhost:", "//127.0.0.1:");
    let folder = std::env::temp_dir().join(format!("bowline-conformance-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let network = Some(Network { gate: gate(&address)?, trust: Trust::public() });
    let around = Surroundings { folder: folder.clone(), sandbox: Sandbox::Off, network };
    let how = Reach::Http { url: address, headers: BTreeMap::new() };
    let server = Server::new(ServerName::parse("conformance")?, how);
    let connected = Servers::new(&folder, around).connect(&server, FirstUse::Pin).await?;
    let ctx = CallContext {
        workspace: Workspace::open(&folder)?,
        sandbox: Sandbox::Off,
        secrets: Default::default(),
        reach: bowline_tools::Reach::nothing(),
        inference: Default::default(),
        run: RunId::parse("conformance")?,
        action: ActionId { step: 1, index: 0 },
        key: Digest::of(b"conformance"),
        epoch: 1,
        attempt: 1,
        image: None,
        timeout: Duration::from_secs(20),
    };
    for held in &connected.held {
        eprintln!("{} is held back: {}", held.tool, held.why);
    }
    for (name, args) in calls(&connected)? {
        let name = format!("conformance.{name}");
        let tools = connected.tools();
        let Some(tool) = tools.iter().find(|tool| tool.spec().name.as_str() == name) else { continue };
        let output = tool.run(args, &ctx).await;
        eprintln!("{name}: {:?} {}", output.how, output.text);
    }
    connected.close().await;
    Ok(std::fs::remove_dir_all(&folder)?)
}

/// A gate for this one service on this machine.
fn gate(address: &str) -> Outcome<Gate> {
    let port = Url::parse(address)?.port().ok_or("no port")?;
    let service = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    Ok(Gate::open(Policy::loopback(&[service])?, Waits::default())?)
}

fn calls(connected: &Connected) -> Outcome<Vec<(String, Value)>> {
    let context: Value = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(context) => serde_json::from_str(&context)?,
        Err(_) => Value::Null,
    };
    if let Some(calls) = context.get("toolCalls").and_then(Value::as_array) {
        let call =
            |call: &Value| Some((call.get("name")?.as_str()?.to_owned(), call.get("arguments")?.clone()));
        return Ok(calls.iter().filter_map(call).collect());
    }
    let made_up = |tool: &std::sync::Arc<dyn bowline_tools::Tool>| {
        let name = tool.spec().name.as_str().split_once('.').map(|(_, name)| name.to_owned());
        let mut args = arguments(&tool.spec().schema);
        // One scenario wants the schema of its other tool sent back as it came.
        let other = connected.tools().into_iter().find(|other| other.spec().name != tool.spec().name);
        if let (Some(schema), Some(other)) = (args.get_mut("schema"), other) {
            *schema = other.spec().schema.clone();
        }
        (name.unwrap_or_default(), args)
    };
    Ok(connected.tools().iter().map(made_up).collect())
}

fn arguments(schema: &Value) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let value = |schema: &Value| match schema.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => json!(5),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("test"),
    };
    let made_up = properties.into_iter().flatten().map(|(name, schema)| (name.clone(), value(schema)));
    Value::Object(made_up.collect::<Map<_, _>>())
}
