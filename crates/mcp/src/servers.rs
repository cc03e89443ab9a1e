//! Servers as the engine and the command line use them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bowline_core::agent::server::{Reach, Server, ServerName};
use bowline_core::provenance::Digest;
use bowline_core::untrusted::description::Concern;
use bowline_core::untrusted::escape_line;
use bowline_net::{Gate, Trust};
use bowline_tools::{Sandbox, Tool, check_schema};

use crate::difference::Difference;
use crate::error::McpError;
use crate::limits::LIST_MAX;
use crate::link::Link;
use crate::listing::{self, Listed};
use crate::name::tool_name;
use crate::pins::{Pin, PinnedBy, PinnedTool, Pins};
use crate::session::Session;
use crate::tool::{self, ServerTool};

/// Where servers are started, and how they are reached. Cheap to clone.
#[derive(Clone)]
pub struct Surroundings {
    /// Where a server's program runs; it may change what lies below.
    pub folder: PathBuf,
    /// In what it runs.
    pub sandbox: Sandbox,
    /// The way out; `None`: there is none.
    pub network: Option<Network>,
}

/// The way out.
#[derive(Clone)]
pub struct Network {
    /// Decides about every connection.
    pub gate: Gate,
    /// Whose certificates are believed.
    pub trust: Trust,
}

/// What to do about a server that was never used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstUse {
    /// Its tools are pinned as they are, but those that need reading held back.
    Pin,
    /// It is refused until a person has approved it.
    Refuse,
}

/// The servers of an engine.
#[derive(Clone)]
pub struct Servers {
    pins: Pins,
    around: Surroundings,
}

/// A server whose tools can be used.
pub struct Connected {
    /// Which.
    pub server: ServerName,
    /// The version of the protocol that was settled on.
    pub version: String,
    /// True when nobody had used it before and its tools were pinned just now.
    pub is_first_use: bool,
    /// Tools it has that may not be used.
    pub held: Vec<Held>,
    tools: Vec<Arc<dyn Tool>>,
    link: Arc<Link>,
}

/// A tool that is held back.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// As the server calls it.
    pub tool: String,
    /// Why, in words that may be shown.
    pub why: String,
}

/// A server's tools as they are now, beside what was agreed to.
#[derive(Clone, Debug)]
pub struct Look {
    /// Which server.
    pub server: ServerName,
    /// Its program or its address, as a hash.
    of: Digest,
    /// The version of the protocol that was settled on.
    pub version: String,
    /// Its tools now.
    pub tools: Vec<Listed>,
    /// What a person should know about each, in the same order.
    pub concerns: Vec<Vec<Concern>>,
    /// What was agreed to, if anything.
    pub pin: Option<Pin>,
}

impl Look {
    /// What changed since it was agreed to; everything is new when nothing was.
    #[must_use]
    pub fn difference(&self) -> Difference {
        let agreed = self.pin.as_ref().map(Pin::listed).unwrap_or_default();
        Difference::between(&agreed, &self.tools)
    }

    /// Tools of the pin that are held back until a person approves them.
    #[must_use]
    pub fn held(&self) -> Vec<&PinnedTool> {
        let pinned = self.pin.iter().flat_map(|pin| &pin.tools);
        pinned.filter(|tool| !tool.held.is_empty()).collect()
    }

    /// Why a person must read a description, in words that may be shown.
    #[must_use]
    pub fn worded(concerns: &[Concern]) -> String {
        worded(concerns)
    }
}

impl Servers {
    /// The servers of an engine whose pins lie in this folder.
    #[must_use]
    pub fn new(home: &Path, around: Surroundings) -> Self {
        Self { pins: Pins::of(home), around }
    }

    /// What was agreed to.
    #[must_use]
    pub fn pins(&self) -> &Pins {
        &self.pins
    }

    /// Connects to a server and gives its tools, if they are the pinned ones.
    pub async fn connect(&self, server: &Server, first_use: FirstUse) -> Result<Connected, McpError> {
        let (session, tools) = self.open(server).await?;
        let known = match self.pins.get(&server.name).await {
            Ok(known) => known,
            Err(bad) => return closed(session, bad.into()).await,
        };
        let known = known.filter(|pin| pin.of == Some(identity(server)));
        let is_first_use = known.is_none();
        let pin = match (known, first_use) {
            (Some(pin), _) => pin,
            (None, FirstUse::Refuse) => {
                let error = McpError::Unapproved { server: server.name.clone(), count: tools.len() };
                return closed(session, error).await;
            }
            (None, FirstUse::Pin) => {
                let pin = as_found(server, &tools, listing::concerns(&tools));
                match self.pins.put_first(&server.name, pin).await {
                    Ok(pin) => pin,
                    Err(bad) => return closed(session, bad.into()).await,
                }
            }
        };
        let agreed = pin.listed();
        if listing::digest(&agreed) != listing::digest(&tools) {
            let difference = Box::new(Difference::between(&agreed, &tools));
            let error = McpError::Changed { server: server.name.clone(), difference };
            return closed(session, error).await;
        }
        Ok(self.connected(server, session, pin, is_first_use))
    }

    /// Looks at what a server offers now, and lets it go again.
    pub async fn look(&self, server: &Server) -> Result<Look, McpError> {
        let (session, tools) = self.open(server).await?;
        let version = session.version();
        session.end().await;
        let pin = self.pins.get(&server.name).await?.filter(|pin| pin.of == Some(identity(server)));
        let (concerns, of) = (listing::concerns(&tools), identity(server));
        Ok(Look { server: server.name.clone(), of, version, tools, concerns, pin })
    }

    /// Pins what a person has looked at, all of it.
    pub async fn approve(&self, look: &Look) -> Result<(), McpError> {
        let approved = |tool: &Listed| PinnedTool { tool: tool.clone(), held: Vec::new() };
        let pin =
            Pin { by: PinnedBy::Person, of: Some(look.of), tools: look.tools.iter().map(approved).collect() };
        Ok(self.pins.put(&look.server, pin).await?)
    }

    async fn open(&self, server: &Server) -> Result<(Session, Vec<Listed>), McpError> {
        server.check()?;
        let mut session = Session::open(server, &self.around).await?;
        match session.list(LIST_MAX).await {
            Ok(tools) => Ok((session, tools)),
            Err(error) => closed(session, error).await,
        }
    }

    fn connected(&self, server: &Server, session: Session, pin: Pin, is_first_use: bool) -> Connected {
        let version = session.version();
        let link = Link::new(server.clone(), self.around.clone(), session, pin.listed());
        let (link, mut tools, mut held) = (Arc::new(link), Vec::<Arc<dyn Tool>>::new(), Vec::new());
        for pinned in &pin.tools {
            match usable(server, pinned) {
                Choice::NotWanted => {}
                Choice::Held(why) => held.push(Held { tool: pinned.tool.name.clone(), why }),
                Choice::Use(spec) if tools.iter().any(|tool| tool.spec().name == spec.name) => {
                    held.push(Held {
                        tool: pinned.tool.name.clone(),
                        why: format!("{} is taken", spec.name),
                    });
                }
                Choice::Use(spec) => {
                    let raw = pinned.tool.name.clone();
                    tools.push(Arc::new(ServerTool::new(*spec, raw, Arc::clone(&link))));
                }
            }
        }
        Connected { server: server.name.clone(), version, is_first_use, held, tools, link }
    }
}

impl Connected {
    /// The tools, in the order of the pin.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }

    /// Ends the connection, and the server's program, politely. Calls that are still
    /// made are refused. Dropping everything that uses the server ends it too.
    pub async fn close(self) {
        self.link.close().await;
    }
}

enum Choice {
    NotWanted,
    Held(String),
    Use(Box<bowline_core::tool::ToolSpec>),
}

fn usable(server: &Server, pinned: &PinnedTool) -> Choice {
    let tool = &pinned.tool;
    if server.tools.as_ref().is_some_and(|wanted| !wanted.contains(&tool.name)) {
        return Choice::NotWanted;
    }
    if !pinned.held.is_empty() {
        return Choice::Held(worded(&pinned.held));
    }
    if let Err(why) = check_schema(&tool.schema) {
        return Choice::Held(format!("its schema cannot be used: {why}"));
    }
    match tool_name(&server.name, &tool.name) {
        Ok(name) => Choice::Use(Box::new(tool::spec(server, tool, name))),
        Err(bad) => Choice::Held(bad.to_string()),
    }
}

/// Why a person must read a description, in words.
fn worded(concerns: &[Concern]) -> String {
    let words: Vec<String> = concerns
        .iter()
        .map(|concern| match concern {
            Concern::Suspicious(family) => format!("it talks to the model ({family:?})"),
            Concern::TooLong { chars } => format!("its description has {chars} characters"),
            Concern::Padded => "white space pushes text out of sight".to_owned(),
            Concern::Invisible => "it holds characters nobody sees".to_owned(),
            Concern::BadName => "its name is none".to_owned(),
            Concern::Lookalike { of } => format!("its name looks like {}", escape_line(of)),
        })
        .collect();
    words.join("; ")
}

/// What a server is recognised by besides its name: its program, or its address.
fn identity(server: &Server) -> Digest {
    match &server.how {
        Reach::Stdio { argv, .. } => {
            let words: Vec<&[u8]> = argv.iter().map(String::as_bytes).collect();
            Digest::of_parts(&[b"program".as_slice()].into_iter().chain(words).collect::<Vec<_>>())
        }
        Reach::Http { url, .. } => Digest::of_parts(&[b"address", url.as_bytes()]),
    }
}

fn as_found(server: &Server, tools: &[Listed], concerns: Vec<Vec<Concern>>) -> Pin {
    let held = |(tool, held): (&Listed, Vec<Concern>)| PinnedTool { tool: tool.clone(), held };
    Pin {
        by: PinnedBy::FirstUse,
        of: Some(identity(server)),
        tools: tools.iter().zip(concerns).map(held).collect(),
    }
}

/// Ends a connection that is of no use.
async fn closed<T>(session: Session, error: McpError) -> Result<T, McpError> {
    session.end().await;
    Err(error)
}
