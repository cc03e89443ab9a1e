//! `[[mcp]]` of a manifest: the servers whose tools an agent may call.

use std::collections::BTreeMap;

use super::SecretRef;
use super::server::{ENTRIES_MAX, Given, Reach, Server, ServerName, TEXT_MAX, TIMEOUT_MS, ToolRules};
use crate::task::field::{Field, Table};
use crate::task::limits::Bound;
use crate::task::section::Section;
use crate::task::undo;
use crate::tool::{Consent, Repeat, Touch};

/// Most servers of an agent.
const SERVERS_MAX: usize = 32;

const TIMEOUT: Bound = Bound::seconds("timeout_seconds", 3600);

pub(super) fn servers(top: &Table<'_>) -> Vec<Server> {
    let Some(field) = top.get("mcp") else { return Vec::new() };
    let mut servers: Vec<Server> = Vec::new();
    for table in field.tables(Section::Mcp, SERVERS_MAX) {
        let Some(server) = server(&table) else { continue };
        if servers.iter().any(|known| known.name == server.name) {
            field.wrong(format!("two servers are called {}", server.name), "name each server once");
        }
        if let Err(bad) = server.check() {
            field.wrong(bad.to_string(), bad.remedy());
        }
        servers.push(server);
    }
    servers
}

fn server(table: &Table<'_>) -> Option<Server> {
    let name =
        table.require("name", "say what the server is called, as in name = \"git\"").and_then(|field| {
            let name = ServerName::parse(field.text(TEXT_MAX)?);
            if let Err(bad) = &name {
                field.wrong(bad.to_string(), bad.remedy());
            }
            name.ok()
        });
    let how = reach(table);
    let names = |field: Field<'_>| -> Vec<String> {
        let items = field.list(ENTRIES_MAX).unwrap_or_default();
        items.iter().filter_map(|item| item.text(TEXT_MAX).map(str::to_owned)).collect()
    };
    let rules =
        table.get("tool").map(|field| field.tables(Section::McpTool, ENTRIES_MAX)).unwrap_or_default();
    Some(Server {
        tools: table.get("tools").map(names),
        timeout_ms: table
            .get("timeout_seconds")
            .and_then(|field| field.amount(&TIMEOUT))
            .unwrap_or(TIMEOUT_MS),
        rules: rules.iter().filter_map(tool_rules).collect(),
        name: name?,
        how: how?,
    })
}

fn reach(table: &Table<'_>) -> Option<Reach> {
    let given = |key: &str| table.get(key).map(|field| values(&field)).unwrap_or_default();
    match (table.get("command"), table.get("url")) {
        (Some(command), None) => {
            if let Some(field) = table.get("headers") {
                field.wrong("a program gets no headers", "write `env` for its variables");
            }
            Some(Reach::Stdio { argv: command.argv()?, env: given("env") })
        }
        (None, Some(url)) => {
            if let Some(field) = table.get("env") {
                field.wrong(
                    "a service gets no variables",
                    "write `headers` for what is sent with every request",
                );
            }
            Some(Reach::Http { url: url.text(TEXT_MAX)?.to_owned(), headers: given("headers") })
        }
        (Some(field), Some(_)) => {
            field.wrong("a server is a program or a service", "write `command` or `url`, not both");
            None
        }
        (None, None) => {
            table.require("command", "say how it is started (`command`), or where it is (`url`)");
            None
        }
    }
}

fn values(field: &Field<'_>) -> BTreeMap<String, Given> {
    let value = |(name, field): (&str, Field<'_>)| Some((name.to_owned(), given(&field)?));
    field.members().into_iter().filter_map(value).collect()
}

/// A plain text, or where a secret is, with what stands before it.
fn given(field: &Field<'_>) -> Option<Given> {
    if !field.is_table() {
        return field.text(TEXT_MAX).map(|text| Given::Text(text.to_owned()));
    }
    let table = field.table(Section::Given)?;
    let prefix = table.get("prefix").and_then(|field| field.text(TEXT_MAX).map(str::to_owned));
    let prefix = prefix.unwrap_or_default();
    Some(match super::parse::place(field, &table)? {
        SecretRef::Env(env) => Given::Variable { env, prefix },
        SecretRef::File(file) => Given::File { file, prefix },
    })
}

fn tool_rules(table: &Table<'_>) -> Option<(String, ToolRules)> {
    let name = table.require("name", "say which tool of the server, by the server's own name");
    let consents = [("ask", Consent::Ask), ("not-needed", Consent::NotNeeded)];
    let repeats =
        [("freely", Repeat::Freely), ("with-same-key", Repeat::WithSameKey), ("never", Repeat::Never)];
    let rules = ToolRules {
        touch: table
            .get("touch")
            .and_then(|field| field.one_of(&[("read", Touch::Read), ("exec", Touch::Exec)])),
        repeat: table.get("repeat").and_then(|field| field.one_of(&repeats)),
        consent: table.get("consent").and_then(|field| field.one_of(&consents)),
        effect: table.get("effect").and_then(|field| field.one_of(&crate::task::EFFECTS)),
        timeout_ms: table.get("timeout_seconds").and_then(|field| field.amount(&TIMEOUT)),
        undo: undo::read(table, undo::By::Server),
    };
    Some((name?.text(TEXT_MAX)?.to_owned(), rules))
}
