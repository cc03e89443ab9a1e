//! What a model reads of a server's answer: text as it is, and of everything
//! else what it was and how much was left out.

use rmcp::model::{
    CallToolResult, ContentBlock, InputRequest, InputRequiredResult, InputResponses, ResourceContents,
};
use serde_json::{Value, json};

/// For what newer servers may send.
const UNKNOWN: &str = "[content of a kind that is not known here, left out]";

/// The whole answer as text.
pub(crate) fn text(result: &CallToolResult) -> String {
    let mut parts: Vec<String> = result.content.iter().map(block).collect();
    if let Some(structured) = &result.structured_content
        && !is_told(structured, &parts)
    {
        parts.push(format!("[structured content]\n{structured}"));
    }
    parts.join("\n")
}

/// What a server asked for instead of answering, in a few words.
pub(crate) fn asked_for(required: &InputRequiredResult) -> String {
    let mut asked: Vec<&str> = required
        .input_requests
        .iter()
        .flat_map(|requests| requests.values())
        .map(|request| match request {
            InputRequest::CreateMessage(_) => "a model's answer",
            InputRequest::Elicitation(_) => "a person's answer",
            InputRequest::ListRoots(_) => "a list of folders",
            _ => "something else",
        })
        .collect();
    asked.sort_unstable();
    asked.dedup();
    if asked.is_empty() { "another try".to_owned() } else { asked.join(" and ") }
}

/// The answer "no" to everything a server asked for; `None` where the protocol has
/// no such answer, as for a model's.
pub(crate) fn refusal(required: &InputRequiredResult) -> Option<InputResponses> {
    let requests = required.input_requests.iter().flatten();
    let refused = requests.map(|(key, request)| match request {
        InputRequest::Elicitation(_) => Some((key.clone(), json!({"action": "decline"}))),
        _ => None,
    });
    let refused: Option<serde_json::Map<String, Value>> = refused.collect();
    serde_json::from_value(Value::Object(refused?)).ok()
}

fn block(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("[resource {uri}]\n{text}"),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.as_deref().unwrap_or("bytes");
                left_out(&format!("resource {uri}"), kind, blob)
            }
            _ => UNKNOWN.to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[link to the resource {:?}: {}]", link.name, link.uri),
        _ => UNKNOWN.to_owned(),
    }
}

fn left_out(what: &str, kind: &str, base64: &str) -> String {
    let bytes = base64.len() / 4 * 3;
    format!("[{what}: {kind}, about {bytes} bytes, left out]")
}

/// Servers should say in text what they say in structure; then it is said once.
fn is_told(structured: &Value, parts: &[String]) -> bool {
    parts.iter().any(|part| serde_json::from_str::<Value>(part).is_ok_and(|told| told == *structured))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(result: Value, expected: &str) {
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        assert_eq!(text(&result), expected);
    }

    #[test]
    fn text_is_kept_and_the_rest_is_named() {
        check(
            json!({"content": [
                {"type": "text", "text": "one"},
                {"type": "image", "data": "AAAABBBB", "mimeType": "image/png"},
                {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "f:///a", "text": "body"}},
                {"type": "resource", "resource": {"uri": "f:///b", "blob": "AAAA"}},
                {"type": "resource_link", "uri": "f:///c", "name": "c"},
            ]}),
            "one\n[image: image/png, about 6 bytes, left out]\n[audio: audio/wav, about 3 bytes, left out]\n\
[resource f:///a]\nbody\n[resource f:///b: bytes, about 3 bytes, left out]\n[link to the resource \"c\": f:///c]",
        );
    }

    #[test]
    fn structure_is_told_once() {
        check(
            json!({"content": [{"type": "text", "text": "{ \"a\": 1 }"}], "structuredContent": {"a": 1}}),
            "{ \"a\": 1 }",
        );
        check(
            json!({"content": [{"type": "text", "text": "done"}], "structuredContent": {"a": 1}}),
            "done\n[structured content]\n{\"a\":1}",
        );
    }
}
