//! The tools of a server as it lists them, within bounds.

use std::time::Duration;

use bowline_core::agent::server::ServerName;
use bowline_core::provenance::Digest;
use bowline_core::untrusted::description::{Concern, Described};
use bowline_core::untrusted::escape_line;
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams, ServerResult, Tool};
use rmcp::service::PeerRequestOptions;
use rmcp::{Peer, RoleClient, ServiceError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::limits::{LIST_BYTES_MAX, PAGES_MAX, TOOL_BYTES_MAX, TOOLS_MAX};
use crate::secret::Secrets;

/// A tool in its server's words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// What the server calls it.
    pub name: String,
    /// What it says about it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub schema: Value,
    /// What it claims about its effects; `{}` when it claims nothing.
    pub annotations: Value,
}

/// Why a list could not be read.
#[derive(Debug)]
pub(crate) enum NotListed {
    /// The server or the way to it.
    Service(ServiceError),
    /// What it sent.
    Unusable(String),
}

impl Listed {
    fn of(tool: Tool) -> Result<Self, String> {
        let annotations = match &tool.annotations {
            Some(annotations) => serde_json::to_value(annotations).map_err(|error| error.to_string())?,
            None => json!({}),
        };
        Ok(Self {
            name: tool.name.into_owned(),
            description: tool.description.unwrap_or_default().into_owned(),
            schema: Value::Object(tool.input_schema.as_ref().clone()),
            annotations,
        })
    }

    /// The same without secrets, so that they are neither pinned nor shown nor told.
    pub(crate) fn masked(self, secrets: &Secrets) -> Self {
        Self {
            name: secrets.mask(&self.name),
            description: secrets.mask(&self.description),
            schema: secrets.mask_json(self.schema),
            annotations: secrets.mask_json(self.annotations),
        }
    }

    fn bytes(&self) -> usize {
        let [schema, annotations] = self.texts();
        self.name.len() + self.description.len() + schema.len() + annotations.len()
    }

    fn texts(&self) -> [String; 2] {
        [self.schema.to_string(), self.annotations.to_string()]
    }

    /// Names everything a person agrees to.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.described(|described| described.digest())
    }

    /// What a person should know, given the names of the tools beside it.
    #[must_use]
    pub fn concerns(&self, others: &[&str]) -> Vec<Concern> {
        self.described(|described| described.concerns(others))
    }

    fn described<T>(&self, look: impl FnOnce(&Described<'_>) -> T) -> T {
        let [schema, annotations] = self.texts();
        look(&Described {
            name: &self.name,
            description: &self.description,
            schema: &schema,
            annotations: &annotations,
        })
    }

    /// Whether the server claims this about the tool.
    pub(crate) fn claims(&self, hint: &str) -> bool {
        self.annotations.get(hint).and_then(Value::as_bool).unwrap_or(false)
    }
}

/// Names a whole list, in whatever order it came.
pub(crate) fn digest(tools: &[Listed]) -> Digest {
    let mut digests: Vec<Digest> = tools.iter().map(Listed::digest).collect();
    digests.sort_unstable();
    let parts: Vec<&[u8]> = digests.iter().map(|digest| digest.0.as_slice()).collect();
    Digest::of_parts(&parts)
}

/// Asks for the whole list, page by page. Whoever calls sets the deadline.
pub(crate) async fn list(peer: &Peer<RoleClient>, page_max: Duration) -> Result<Vec<Listed>, NotListed> {
    let (mut tools, mut bytes, mut cursor) = (Vec::new(), 0_usize, None);
    for _ in 0..PAGES_MAX {
        let (page, next) = page(peer, cursor.clone(), page_max).await?;
        for tool in page {
            let listed = Listed::of(tool).map_err(NotListed::Unusable)?;
            bytes = bytes.saturating_add(admitted(&listed, &tools).map_err(NotListed::Unusable)?);
            tools.push(listed);
        }
        if bytes > LIST_BYTES_MAX {
            return unusable(format!("it has more than {LIST_BYTES_MAX} bytes"));
        }
        match next {
            None => return Ok(tools),
            Some(next) if cursor.as_ref() == Some(&next) => {
                return unusable("a page leads to itself".to_owned());
            }
            next => cursor = next,
        }
    }
    unusable(format!("it has more than {PAGES_MAX} pages"))
}

fn unusable<T>(why: String) -> Result<T, NotListed> {
    Err(NotListed::Unusable(why))
}

/// The size of a tool that may join the others.
fn admitted(tool: &Listed, others: &[Listed]) -> Result<usize, String> {
    let name = || escape_line(&tool.name).chars().take(80).collect::<String>();
    let bytes = tool.bytes();
    if others.len() >= TOOLS_MAX {
        Err(format!("it has more than {TOOLS_MAX} tools"))
    } else if bytes > TOOL_BYTES_MAX {
        Err(format!("the tool {:?} has {bytes} bytes; {TOOL_BYTES_MAX} are accepted", name()))
    } else if others.iter().any(|other| other.name == tool.name) {
        Err(format!("it has two tools called {:?}", name()))
    } else {
        Ok(bytes)
    }
}

async fn page(
    peer: &Peer<RoleClient>,
    cursor: Option<String>,
    page_max: Duration,
) -> Result<(Vec<Tool>, Option<String>), NotListed> {
    let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
    let request = ListToolsRequest { method: Default::default(), params, extensions: Default::default() };
    // Not the library's own list: it would answer from its memory.
    let options = PeerRequestOptions::with_timeout(page_max);
    let sent = peer.send_request_with_option(ClientRequest::ListToolsRequest(request), options);
    let answer = async { sent.await?.await_response().await }.await.map_err(NotListed::Service)?;
    match answer {
        ServerResult::ListToolsResult(result) => {
            Ok((result.tools, result.next_cursor.filter(|cursor| !cursor.is_empty())))
        }
        _ => Err(NotListed::Service(ServiceError::UnexpectedResponse)),
    }
}

/// The concerns about a server's tools, tool by tool.
pub(crate) fn concerns(tools: &[Listed]) -> Vec<Vec<Concern>> {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    tools.iter().map(|tool| tool.concerns(&names)).collect()
}

/// An error of a server in words that may be shown.
pub(crate) fn refusal(server: &ServerName, stage: crate::Stage, error: &rmcp::ErrorData) -> crate::McpError {
    let message = escape_line(&error.message).chars().take(400).collect();
    crate::McpError::Refused { server: server.clone(), stage, code: error.code.0, message }
}
