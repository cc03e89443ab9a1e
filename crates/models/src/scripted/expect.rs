//! What a script expects of a request, and the words for a request that is not so.

use crate::{Request, Said};

/// Longest piece of a request quoted in a message, in characters.
const QUOTE_MAX: usize = 400;

/// What must hold of a request before its reply is given.
#[derive(Clone, Debug, Default)]
pub(super) struct Expect {
    pub(super) last_contains: Vec<String>,
    pub(super) contains: Vec<String>,
    pub(super) system_contains: Vec<String>,
    pub(super) tools: Vec<String>,
    pub(super) schema: Option<bool>,
    pub(super) answers: Option<usize>,
    pub(super) error: Option<bool>,
}

impl Expect {
    /// Every expectation that does not hold, in one message.
    pub(super) fn check(&self, request: &Request) -> Result<(), String> {
        let mut wrong = Vec::new();
        self.check_texts(request, &mut wrong);
        self.check_offer(request, &mut wrong);
        self.check_results(request, &mut wrong);
        if wrong.is_empty() { Ok(()) } else { Err(format!("expects {}", wrong.join("; and "))) }
    }

    fn check_texts(&self, request: &Request, wrong: &mut Vec<String>) {
        let last = request.messages.last().map(text_of).unwrap_or_default();
        for needle in self.last_contains.iter().filter(|needle| !last.contains(needle.as_str())) {
            wrong.push(format!("the last message to contain {needle:?}, but {}", describe_last(request)));
        }
        for needle in &self.contains {
            if !request.messages.iter().any(|said| text_of(said).contains(needle.as_str())) {
                let count = request.messages.len();
                wrong.push(format!(
                    "the conversation to contain {needle:?}, but none of its {count} messages does"
                ));
            }
        }
        let system: Vec<_> = request
            .messages
            .iter()
            .filter_map(|said| if let Said::System(text) = said { Some(text.as_str()) } else { None })
            .collect();
        for needle in &self.system_contains {
            if !system.iter().any(|text| text.contains(needle.as_str())) {
                let came = quote(&system.join("\n"));
                wrong.push(format!("the system message to contain {needle:?}, but it is {came}"));
            }
        }
    }

    fn check_offer(&self, request: &Request, wrong: &mut Vec<String>) {
        let offered: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        for tool in self.tools.iter().filter(|tool| !offered.contains(&tool.as_str())) {
            let came = if offered.is_empty() { "none is".to_owned() } else { offered.join(", ") };
            wrong.push(format!("the tool {tool:?} to be offered, but offered: {came}"));
        }
        match (self.schema, request.schema.is_some()) {
            (Some(true), false) => wrong.push("a schema for the answer, but none came".to_owned()),
            (Some(false), true) => wrong.push("no schema for the answer, but one came".to_owned()),
            (Some(_) | None, _) => {}
        }
    }

    fn check_results(&self, request: &Request, wrong: &mut Vec<String>) {
        let fresh: Vec<_> = request
            .messages
            .iter()
            .rev()
            .take_while(|said| !matches!(said, Said::Assistant { .. }))
            .filter_map(
                |said| if let Said::ToolResult { is_error, .. } = said { Some(*is_error) } else { None },
            )
            .collect();
        if let Some(answers) = self.answers.filter(|answers| *answers != fresh.len()) {
            wrong.push(format!("{answers} tool results since the last reply, but {} came", fresh.len()));
        }
        match (self.error, fresh.first()) {
            (Some(true), Some(false)) => {
                wrong.push(format!(
                    "the last tool result to be an error, but it is not: {}",
                    describe_last(request)
                ));
            }
            (Some(false), Some(true)) => {
                wrong.push(format!("the last tool result to be no error, but {}", describe_last(request)));
            }
            (Some(_), None) => wrong.push("a tool result, but none came since the last reply".to_owned()),
            (Some(_) | None, Some(_)) | (None, None) => {}
        }
    }
}

/// The last message, for a message.
pub(super) fn describe_last(request: &Request) -> String {
    let Some(last) = request.messages.last() else { return "there is no message".to_owned() };
    let kind = match last {
        Said::System(_) => "system message".to_owned(),
        Said::User(_) => "user message".to_owned(),
        Said::Assistant { .. } => "reply of the model itself".to_owned(),
        Said::ToolResult { call, is_error: false, .. } => format!("result of {call}"),
        Said::ToolResult { call, is_error: true, .. } => format!("error of {call}"),
    };
    format!("the last message is the {kind}: {}", quote(text_of(last)))
}

fn text_of(said: &Said) -> &str {
    match said {
        Said::System(text) | Said::User(text) | Said::Assistant { text, .. } => text,
        Said::ToolResult { output, .. } => output,
    }
}

fn quote(text: &str) -> String {
    match text.char_indices().nth(QUOTE_MAX) {
        Some((at, _)) => format!("{:?} and {} bytes more", text.get(..at).unwrap_or(text), text.len() - at),
        None => format!("{text:?}"),
    }
}
