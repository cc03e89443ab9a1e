//! What an agent may and may not do, in words, from what is enforced.

use super::server::{Reach, Server};
use super::{Gate, Manifest, Paths, Privacy, Programs, SecretRef};
use crate::budget::word::amount;
use crate::budget::{Limit, Limits};
use crate::task::Sandbox;
use crate::tool::Consent;

/// Lines for a person: what it may do, what it may not, when somebody is asked.
#[must_use]
pub fn explain(manifest: &Manifest) -> Vec<String> {
    let agent = &manifest.agent;
    let held = &agent.capabilities;
    let version = agent.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let mut lines = vec![format!("agent {}{version}", agent.name)];
    lines.extend(agent.description.iter().map(|description| format!("  {description}")));
    let mut may = Vec::new();
    let mut may_not = Vec::new();
    let mut put = |granted: Option<String>, otherwise: &str| match granted {
        Some(words) => may.push(words),
        None => may_not.push(otherwise.to_owned()),
    };
    put(paths(&held.file_read, "read"), "read files");
    put(paths(&held.file_write, "write"), "write files");
    put(programs(&held.shell), "run programs of its choice");
    put(listed("reach", &held.network), "reach the network");
    put(
        listed("call", &held.mcp.iter().map(ToString::to_string).collect::<Vec<_>>()),
        "call tools of servers",
    );
    put(held.inference.then(|| "ask a model side questions".to_owned()), "ask a model side questions");
    put((held.spawn > 0).then(|| format!("start agents, {} levels deep", held.spawn)), "start other agents");
    lines.extend(may.iter().map(|words| format!("  may      {words}")));
    lines.extend(may_not.iter().map(|words| format!("  may not  {words}")));
    lines.push(format!("  privacy  {}", tier(agent.privacy)));
    lines.push(format!("  sandbox  {}", walls(&manifest.sandbox)));
    lines.push(format!("  tools    {}", tools(manifest)));
    lines.extend(agent.servers.iter().map(|server| format!("  server   {}", reached(server))));
    lines.extend(asks(manifest).into_iter().map(|words| format!("  asks     {words}")));
    lines.extend(
        agent.secrets.iter().map(|(name, place)| format!("  secret   {name}, from {}", origin(place))),
    );
    let limits = manifest.limits.clone().unwrap_or_default();
    lines.push(format!("  limits   {}", bounds(&limits)));
    lines.push(format!("  policy   sha256 {}", agent.policy()));
    lines
}

fn walls(sandbox: &Sandbox) -> String {
    match sandbox {
        Sandbox::Cage { read, write } => {
            let also = |verb: &str, paths: &[String]| {
                listed(&format!("; programs also {verb}"), paths).unwrap_or_default()
            };
            format!("a cage around the workspace{}{}", also("read", read), also("write", write))
        }
        Sandbox::IfAvailable => {
            "a cage where the machine has one, else none: then programs may do what you may do".into()
        }
        Sandbox::None => "none: programs and servers may do what you may do, network and all".into(),
    }
}

fn reached(server: &Server) -> String {
    match &server.how {
        Reach::Stdio { argv, .. } => format!("{}, started as {}", server.name, argv.join(" ")),
        Reach::Http { url, .. } => format!("{}, at {url}", server.name),
    }
}

fn tier(privacy: Privacy) -> &'static str {
    match privacy {
        Privacy::Standard => "standard: what it knows may go to the hosts that are granted",
        Privacy::Private => "private: what it knows may go to declared hosts only, never to any host",
        Privacy::Sovereign => "sovereign: nothing leaves the machine, whatever is granted",
    }
}

fn paths(paths: &Paths, verb: &str) -> Option<String> {
    if paths.is_whole() {
        return Some(format!("{verb} every file of its workspace that is not protected"));
    }
    listed(verb, &paths.0).map(|words| format!("{words} of its workspace"))
}

fn programs(programs: &Programs) -> Option<String> {
    match programs {
        Programs::Any => Some("run every program".into()),
        Programs::Named(names) => listed("run", names),
    }
}

fn listed(verb: &str, names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| format!("{verb} {}", names.join(", ")))
}

fn tools(manifest: &Manifest) -> String {
    let names: Vec<&str> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    if names.is_empty() { "none; a task can name no other".into() } else { names.join(", ") }
}

fn asks(manifest: &Manifest) -> Vec<String> {
    let gates = manifest.agent.gates;
    let gate = |gate: Gate, about: &str| match gate {
        Gate::Ask => Some(format!("a person about {about}")),
        Gate::Refuse => Some(format!("nobody: {about} is refused")),
        Gate::Allow => Some(format!("nobody: {about} is allowed")),
    };
    let always = manifest.tools.iter().filter(|tool| tool.consent == Some(Consent::Ask));
    let always: Vec<&str> = always.map(|tool| tool.name.as_str()).collect();
    let always = (!always.is_empty()).then(|| format!("a person before {}", always.join(", ")));
    [
        always,
        gate(gates.tainted, "a value that only untrusted text has named"),
        gate(gates.secrets, "a call with a secret in its arguments"),
        gate(gates.out_of_policy, "what its capabilities do not cover"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn origin(place: &SecretRef) -> String {
    match place {
        SecretRef::Env(name) => format!("the variable {name}"),
        SecretRef::File(path) => format!("the file {path}"),
    }
}

fn bounds(limits: &Limits) -> String {
    let line = |limit: Limit| {
        let amount = amount(&limit, limits.allowed(&limit));
        format!("{} {amount}", limit.word())
    };
    [Limit::Steps, Limit::ToolCalls, Limit::Tokens, Limit::Money, Limit::ActiveTime].map(line).join(", ")
}
