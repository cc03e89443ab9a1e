//! `bowline mcp`: servers of tools, what was agreed to, and what they offer now.

use std::io::BufRead as _;

use bowline_core::agent::server::{Reach, Server};
use bowline_mcp::{Look, McpError, PinnedBy};

use super::Desk;
use crate::error::CliError;
use crate::exit::Exit;
use crate::mcp_args::{McpApproveArgs, McpCommand, McpListArgs, McpTestArgs};
use crate::output::tools as output;
use crate::render::{Look as Colour, escape};
use crate::serverfile::ServerFile;

/// Does what the words say.
pub(crate) async fn mcp(desk: &Desk<'_>, command: &McpCommand) -> Result<Exit, CliError> {
    match command {
        McpCommand::List(args) => list(desk, args).await,
        McpCommand::Test(args) => test(desk, args).await,
        McpCommand::Approve(args) => approve(desk, args).await,
    }
}

async fn list(desk: &Desk<'_>, args: &McpListArgs) -> Result<Exit, CliError> {
    let file = ServerFile::read(desk, &args.place)?;
    let pins = file.reached.pins().all().await.map_err(|bad| refused(&bad.into()))?;
    for server in &file.servers {
        let pin = pins.get(&server.name);
        let (tools, held) = pin.map_or((0, 0), |pin| {
            (pin.tools.len(), pin.tools.iter().filter(|tool| !tool.held.is_empty()).count())
        });
        let by = match pin.map(|pin| pin.by) {
            None => "never used",
            Some(PinnedBy::FirstUse) => "pinned on first use",
            Some(PinnedBy::Person) => "approved by a person",
        };
        if args.json {
            let (server, at) = (&server.name, place(server));
            desk.screen.json(&output::Server { server, at, pinned: by, tools, held });
        } else {
            let held = if held > 0 { format!(", {held} held back") } else { String::new() };
            let line = format!("{:<20} {by}, {tools} tools{held}  {}", server.name, place(server));
            desk.screen.line(&line);
        }
    }
    Ok(Exit::Committed)
}

async fn test(desk: &Desk<'_>, args: &McpTestArgs) -> Result<Exit, CliError> {
    let file = ServerFile::read(desk, &args.place)?;
    let servers = &file.reached;
    let chosen: Vec<&Server> = match &args.server {
        Some(name) => vec![file.named(name)?],
        None => file.servers.iter().collect(),
    };
    let mut exit = Exit::Committed;
    for server in chosen {
        match servers.look(server).await {
            Ok(look) => exit = exit.worse(offered(desk, &look)),
            Err(error) => {
                exit = exit.worse(Exit::Failed);
                failed(desk, server, &error);
            }
        }
    }
    Ok(exit)
}

/// What a server offers now, and how that stands to what was agreed to.
fn offered(desk: &Desk<'_>, look: &Look) -> Exit {
    let difference = look.difference();
    let (standing, exit) = match &look.pin {
        None => ("never used".to_owned(), Exit::Committed),
        Some(_) if difference.is_empty() => ("as agreed to".to_owned(), Exit::Committed),
        Some(_) => (format!("changed: {difference}"), Exit::Failed),
    };
    if desk.screen.is_json() {
        let tools: Vec<_> = look
            .tools
            .iter()
            .zip(&look.concerns)
            .map(|(tool, concerns)| output::OfferedTool { tool: &tool.name, concerns })
            .collect();
        let (server, protocol, standing) = (&look.server, look.version.as_str(), standing.as_str());
        desk.screen.json(&output::Offered { server, protocol, standing, tools });
        return exit;
    }
    let mark = if exit == Exit::Committed { Colour::Good } else { Colour::Bad };
    let standing = desk.screen.paint(mark, &standing);
    desk.screen.line(&format!(
        "{}  {standing}, protocol {}, {} tools",
        look.server,
        look.version,
        look.tools.len()
    ));
    for (tool, concerns) in look.tools.iter().zip(&look.concerns) {
        let first = tool.description.lines().next().unwrap_or_default();
        let told = format!("  {}  {}", escape::line(&tool.name), escape::cut(&escape::line(first), 70));
        desk.screen.line(&told);
        if !concerns.is_empty() {
            desk.screen.line(&format!("    must be read first: {}", Look::worded(concerns)));
        }
    }
    exit
}

fn failed(desk: &Desk<'_>, server: &Server, error: &McpError) {
    if desk.screen.is_json() {
        let (error, remedy) = (error.to_string(), error.remedy());
        desk.screen.json(&output::Unreached { server: &server.name, error, remedy });
    } else {
        desk.screen.line(&format!("{}  {}", server.name, desk.screen.paint(Colour::Bad, "failed")));
        desk.screen.line(&format!("  {}", escape::multiline(&told(error))));
        desk.screen.line(&format!("  → {}", error.remedy()));
    }
}

async fn approve(desk: &Desk<'_>, args: &McpApproveArgs) -> Result<Exit, CliError> {
    let file = ServerFile::read(desk, &args.place)?;
    let servers = &file.reached;
    let look = servers.look(file.named(&args.server)?).await.map_err(|error| refused(&error))?;
    let (difference, held) = (look.difference(), look.held());
    if look.pin.is_some() && difference.is_empty() && held.is_empty() {
        desk.screen.line(&format!("{} offers what was agreed to: nothing to approve", look.server));
        servers.approve(&look).await.map_err(|error| refused(&error))?;
        return Ok(Exit::Committed);
    }
    desk.screen.line(&format!(
        "{} offers {} tools; since they were agreed to: {difference}",
        look.server,
        look.tools.len()
    ));
    for line in difference.lines() {
        desk.screen.line(&format!("  {line}"));
    }
    for tool in held {
        desk.screen.line(&format!(
            "  held back: {} ({})",
            escape::line(&tool.tool.name),
            Look::worded(&tool.held)
        ));
        for line in escape::multiline(&tool.tool.description).lines() {
            desk.screen.line(&format!("    │ {line}"));
        }
    }
    for (tool, concerns) in look.tools.iter().zip(&look.concerns).filter(|(_, concerns)| !concerns.is_empty())
    {
        desk.screen.line(&format!("  careful with {}: {}", escape::line(&tool.name), Look::worded(concerns)));
    }
    if !args.yes && !agrees(desk).await? {
        desk.screen.line("not approved; nothing was changed");
        return Ok(Exit::Unfinished);
    }
    servers.approve(&look).await.map_err(|error| refused(&error))?;
    desk.screen.line(&format!("approved: {} tools of {}", look.tools.len(), look.server));
    Ok(Exit::Committed)
}

async fn agrees(desk: &Desk<'_>) -> Result<bool, CliError> {
    if !desk.screen.can_ask() {
        return Err(CliError::refused(
            "nobody can be asked here: this is no terminal",
            "read what is shown above, then repeat the command with --yes",
        ));
    }
    desk.screen.ask("approve all of this? [y/n] ");
    let read = || {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| line)
    };
    let answer = tokio::task::spawn_blocking(read).await;
    Ok(matches!(answer, Ok(Ok(line)) if matches!(line.trim(), "y" | "yes")))
}

fn place(server: &Server) -> String {
    match &server.how {
        Reach::Stdio { argv, .. } => escape::cut(&escape::line(&argv.join(" ")), 60),
        Reach::Http { url, .. } => escape::cut(&escape::line(url), 60),
    }
}

fn refused(error: &McpError) -> CliError {
    CliError::refused(told(error), error.remedy())
}

/// An error with its causes.
fn told(error: &McpError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = cause.source();
    }
    text
}
