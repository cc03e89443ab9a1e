//! What a server was asked, after the first time: what stands in it, and who says it.

use anyhow::{Result, ensure};
use serde_json::Value;

use super::form::{Oracle, SaidRole};
use super::server::Asked;

/// Every fact about requests.
pub(crate) fn check(oracle: &Oracle, asked: &[Asked]) -> Result<()> {
    let later = asked.get(1..).unwrap_or_default();
    for want in &oracle.request_has {
        ensure!(later.iter().any(|asked| holds(asked, want)), "no later request has {want:?}");
    }
    for want in &oracle.request_lacks {
        ensure!(!later.iter().any(|asked| holds(asked, want)), "a later request has {want:?}");
    }
    for want in oracle.last_request_has_once.iter().flat_map(|texts| texts.all()) {
        let times = asked.last().map_or(0, |last| count(last, want));
        ensure!(times == 1, "the last request has {want:?} {times} times");
    }
    if let Some(max) = oracle.later_request_bytes_max {
        let longest = later.iter().map(|asked| asked.body.len()).max().unwrap_or(0);
        ensure!(longest <= max, "a later request has {longest} bytes");
    }
    for said in oracle.said_as.iter().flat_map(|said| said.all()) {
        later.iter().try_for_each(|asked| is_said_as(asked, said))?;
    }
    Ok(())
}

/// The refusal stands in a later request, whatever it is escaped as.
pub(crate) fn is_told(asked: &[Asked], message: &str) -> bool {
    let start: String =
        message.chars().take_while(|c| c.is_ascii_alphanumeric() || " ,'.:".contains(*c)).collect();
    let start = start.trim();
    start.len() >= 8 && asked.iter().skip(1).any(|asked| holds(asked, start))
}

/// As written, or in one of its strings.
fn holds(asked: &Asked, text: &str) -> bool {
    asked.body.contains(text) || count(asked, text) > 0
}

fn count(asked: &Asked, text: &str) -> usize {
    match serde_json::from_str::<Value>(&asked.body) {
        Ok(body) => {
            let mut strings = Vec::new();
            gather(&body, &mut strings);
            strings.iter().map(|string| string.matches(text).count()).sum()
        }
        Err(_) => asked.body.matches(text).count(),
    }
}

fn gather<'a>(value: &'a Value, into: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => into.push(text),
        Value::Array(items) => items.iter().for_each(|item| gather(item, into)),
        Value::Object(members) => members.values().for_each(|member| gather(member, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn says(value: &Value, text: &str) -> bool {
    let mut strings = Vec::new();
    gather(value, &mut strings);
    strings.iter().any(|string| string.contains(text))
}

fn is_said_as(asked: &Asked, said: &SaidRole) -> Result<()> {
    let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let allowed = |role: &str| said.roles.iter().any(|allowed| allowed == role);
    if body.get("system").is_some_and(|system| says(system, &said.text)) {
        ensure!(allowed("system"), "{:?} is said by system", said.text);
    }
    for message in body.get("messages").and_then(Value::as_array).into_iter().flatten() {
        if !says(message, &said.text) {
            continue;
        }
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        // What a tool gave is in one format a block of a message of the user.
        let blocks = message.get("content").and_then(Value::as_array);
        let given = blocks.is_some_and(|blocks| {
            let mut saying = blocks.iter().filter(|block| says(block, &said.text)).peekable();
            saying.peek().is_some()
                && saying.all(|block| block.get("type").and_then(Value::as_str) == Some("tool_result"))
        });
        ensure!(allowed(role) || (given && allowed("tool")), "{:?} is said by {role}", said.text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(facts: &str, bodies: &[&str]) -> bool {
        let oracle: Oracle = serde_json::from_str(facts).unwrap();
        let asked = bodies.iter().map(|body| Asked { head: String::new(), body: (*body).to_owned() });
        super::check(&oracle, &asked.collect::<Vec<_>>()).is_ok()
    }

    const FIRST: &str = r#"{"messages": [{"role": "user", "content": "first"}]}"#;
    const SECOND: &str = r#"{"system": "rules", "messages": [{"role": "user", "content": "a\nb"},
        {"role": "user", "content": [{"type": "tool_result", "content": "evil"}]}]}"#;

    #[test]
    fn facts_about_later_requests_hold_or_do_not() {
        for (facts, holds) in [
            (r#"{"request_has": ["a\nb"]}"#, true),
            (r#"{"request_has": ["first"]}"#, false),
            (r#"{"request_lacks": ["first"]}"#, true),
            (r#"{"request_lacks": ["evil"]}"#, false),
            (r#"{"request_lacks": ["\\n"]}"#, false),
            (r#"{"last_request_has_once": "evil"}"#, true),
            (r#"{"last_request_has_once": ["evil", "e"]}"#, false),
            (r#"{"later_request_bytes_max": 1000}"#, true),
            (r#"{"later_request_bytes_max": 10}"#, false),
            (r#"{"said_as": {"text": "evil", "roles": ["tool"]}}"#, true),
            (r#"{"said_as": {"text": "evil", "roles": ["user"]}}"#, true),
            (r#"{"said_as": {"text": "evil", "roles": ["system", "assistant"]}}"#, false),
            (r#"{"said_as": {"text": "rules", "roles": ["user"]}}"#, false),
        ] {
            assert_eq!(check(facts, &[FIRST, SECOND]), holds, "{facts}");
        }
    }
}
