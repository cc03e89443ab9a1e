//! What a server says when it does not answer, and what that means.
//!
//! Codes decide where there are any; words only where servers have no code for it.
//! What is quoted is short, on one line and without the key.

use bowline_core::untrusted::escape_line;
use bowline_net::retry;
use serde_json::Value;

use crate::error::RemoteError;
use crate::key::Key;

/// How much of a server's words is quoted, in characters.
const QUOTED_MAX: usize = 300;

/// Whom an error is about.
#[derive(Clone, Copy)]
pub(crate) struct Who<'a> {
    pub(crate) host: &'a str,
    pub(crate) model: &'a str,
    pub(crate) key: Option<&'a Key>,
}

impl Who<'_> {
    /// A stranger's words, fit to be shown.
    pub(crate) fn quote(&self, text: &str) -> String {
        let text = match self.key {
            Some(key) => key.hide(text.to_owned()),
            None => text.to_owned(),
        };
        let line = escape_line(text.trim());
        if line.is_empty() { "it says nothing".to_owned() } else { line.chars().take(QUOTED_MAX).collect() }
    }
}

/// An error in a server's own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Its codes, in small letters.
    codes: Vec<String>,
    message: String,
    retry_after_ms: Option<u64>,
}

/// Reads the error an answer holds, if it is one that was meant as such.
pub(crate) fn complaint(body: &str) -> Option<Complaint> {
    let value: Value = serde_json::from_str(body).ok()?;
    // Some stream errors come as a list of one.
    let value = value.get(0).cloned().unwrap_or(value);
    let error = value.get("error").filter(|error| !error.is_null())?;
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let codes = ["type", "code", "status"].iter().filter_map(|key| error.get(*key).and_then(text));
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    let reasons = details.clone().filter_map(|detail| detail.get("reason").and_then(text));
    let limits = details.clone().flat_map(|detail| {
        let violations = detail.get("violations").and_then(Value::as_array).into_iter().flatten();
        violations.filter_map(|violation| violation.get("quotaId").and_then(text))
    });
    let waits = details.filter_map(|detail| detail.get("retryDelay").and_then(Value::as_str));
    let message = error.get("message").and_then(text).or_else(|| text(error));
    Some(Complaint {
        codes: codes.chain(reasons).chain(limits.clone()).map(|code| code.to_ascii_lowercase()).collect(),
        message: message.unwrap_or_else(|| error.to_string()),
        retry_after_ms: waits.filter_map(retry::duration_ms).max(),
    })
}

/// An event that is an error as a whole, or holds one deeper down.
pub(crate) fn event_complaint(data: &str) -> Complaint {
    let value: Value = serde_json::from_str(data).unwrap_or_default();
    let error = value.pointer("/response/error").or_else(|| value.get("error")).unwrap_or(&value);
    let text = |key: &str| error.get(key).and_then(Value::as_str);
    let codes = text("code").into_iter().map(str::to_ascii_lowercase).collect();
    Complaint { codes, message: text("message").unwrap_or(data).to_owned(), retry_after_ms: None }
}

const QUOTA: [&str; 4] =
    ["insufficient_quota", "billing_error", "billing_hard_limit_reached", "payment_required"];
const BAD_KEY: [&str; 6] = [
    "invalid_api_key",
    "authentication_error",
    "permission_error",
    "api_key_invalid",
    "permission_denied",
    "unauthenticated",
];
const UNKNOWN_MODEL: [&str; 2] = ["model_not_found", "not_found_error"];
const TOO_LONG: [&str; 2] = ["context_length_exceeded", "request_too_large"];
const RATE: [&str; 4] =
    ["rate_limit_exceeded", "rate_limit_error", "resource_exhausted", "too_many_requests"];

/// What servers without a code for it write when a prompt is too long, and when nothing is left to pay with.
const TOO_LONG_WORDS: [&str; 6] = [
    "maximum context length",
    "context window",
    "prompt is too long",
    "input token count",
    "exceeds the available context size",
    "too many tokens",
];
const QUOTA_WORDS: [&str; 2] = ["credit balance is too low", "exceeded your current quota"];

impl Complaint {
    fn of_text(message: &str) -> Self {
        Self { message: message.to_owned(), ..Self::default() }
    }

    fn has(&self, known: &[&str]) -> bool {
        self.codes.iter().any(|code| known.contains(&code.as_str()))
    }

    fn says(&self, words: &[&str]) -> bool {
        let message = self.message.to_ascii_lowercase();
        words.iter().any(|word| message.contains(word))
    }

    fn is_spent(&self) -> bool {
        // A limit for a day does not pass while anybody waits.
        let by_day = |code: &String| code.contains("perday");
        self.has(&QUOTA) || self.says(&QUOTA_WORDS) || self.codes.iter().any(by_day)
    }

    /// An error inside an answer that had begun well.
    pub(crate) fn in_answer(self, who: Who<'_>) -> RemoteError {
        let (host, said) = (who.host.to_owned(), who.quote(&self.message));
        match self.lasting(who, &said) {
            Some(lasting) => lasting,
            None if self.has(&RATE) => {
                RemoteError::RateLimited { host, said, retry_after_ms: self.retry_after_ms }
            }
            None => RemoteError::Unfinished { host, said },
        }
    }

    /// What no waiting mends.
    fn lasting(&self, who: Who<'_>, said: &str) -> Option<RemoteError> {
        let (host, said) = (who.host.to_owned(), said.to_owned());
        let model = who.model.to_owned();
        if self.is_spent() {
            return Some(RemoteError::Quota { host, said });
        }
        if self.has(&BAD_KEY) {
            let variable = who.key.map(|key| key.variable().to_owned());
            return Some(RemoteError::BadKey { host, said, variable });
        }
        if self.has(&UNKNOWN_MODEL) {
            return Some(RemoteError::UnknownModel { host, model, said });
        }
        if self.has(&TOO_LONG) || self.says(&TOO_LONG_WORDS) {
            return Some(RemoteError::TooLong { model, said });
        }
        None
    }
}

/// An answer with a status that is no success.
pub(crate) fn of_status(who: Who<'_>, status: u16, body: &str, retry_after_ms: Option<u64>) -> RemoteError {
    let complaint = complaint(body).unwrap_or_else(|| Complaint::of_text(body));
    let (host, said) = (who.host.to_owned(), who.quote(&complaint.message));
    let retry_after_ms = retry_after_ms.or(complaint.retry_after_ms);
    let of_server =
        || RemoteError::Failing { host: host.clone(), status, said: said.clone(), retry_after_ms };
    if status >= 500 {
        return of_server();
    }
    if let Some(lasting) = complaint.lasting(who, &said) {
        return lasting;
    }
    let model = who.model.to_owned();
    match status {
        402 => RemoteError::Quota { host, said },
        429 => RemoteError::RateLimited { host, said, retry_after_ms },
        401 | 403 => {
            let variable = who.key.map(|key| key.variable().to_owned());
            RemoteError::BadKey { host, said, variable }
        }
        404 if complaint.says(&["model"]) => RemoteError::UnknownModel { host, model, said },
        413 => RemoteError::TooLong { model, said },
        408 | 409 | 425 | 300..=399 => of_server(),
        _ => RemoteError::Refused { host, status, said },
    }
}

/// Whether a request is turned away because it asks how likely the model finds its words.
/// Providers have no code of their own for it, and one answers as to a key that may not.
pub(crate) fn untold(who: Who<'_>, status: u16, body: &str) -> Option<RemoteError> {
    let is_about_it = (400..500).contains(&status) && body.to_ascii_lowercase().contains("logprob");
    let said = complaint(body).unwrap_or_else(|| Complaint::of_text(body)).message;
    let (host, model) = (who.host.to_owned(), who.model.to_owned());
    is_about_it.then(|| RemoteError::Untold { host, model, said: who.quote(&said) })
}

#[cfg(test)]
mod tests {
    use bowline_core::event::StepTrouble;

    use super::*;

    fn kind(status: u16, body: &str) -> (StepTrouble, String) {
        let key = Key::new("A_KEY", "sk-0123456789");
        let who = Who { host: "llm.example", model: "m", key: Some(&key) };
        let error = of_status(who, status, body, None);
        (error.kind(), format!("{error}; {}", error.remedy()))
    }

    /// What a server says, what kind of trouble that is, and what a person is told.
    const SAID: [(u16, &str, StepTrouble, &str); 17] = [
        (
            401,
            r#"{"error":{"message":"bad sk-0123456789","type":"invalid_request_error","code":"invalid_api_key"}}"#,
            StepTrouble::Permanent,
            "set A_KEY",
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
            StepTrouble::Permanent,
            "no credit",
        ),
        (
            429,
            r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#,
            StepTrouble::RateLimited,
            "slow down",
        ),
        (
            404,
            r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#,
            StepTrouble::Permanent,
            "has no model \"m\"",
        ),
        (
            400,
            r#"{"error":{"message":"long","code":"context_length_exceeded"}}"#,
            StepTrouble::Permanent,
            "does not fit",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
            StepTrouble::Permanent,
            "does not fit",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
            StepTrouble::Permanent,
            "no credit",
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            StepTrouble::Transient,
            "fails (529)",
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
            StepTrouble::Permanent,
            "does not accept the key",
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"q","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"34s"}]}}"#,
            StepTrouble::RateLimited,
            "slow down",
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"q","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}"#,
            StepTrouble::Permanent,
            "no credit",
        ),
        (404, r#"{"error":"model 'x' not found"}"#, StepTrouble::Permanent, "has no model"),
        (404, "<html>no such page</html>", StepTrouble::Permanent, "refuses the request (404)"),
        (500, "", StepTrouble::Transient, "it says nothing"),
        (502, "<html>Bad gateway</html>", StepTrouble::Transient, "fails (502)"),
        (403, "", StepTrouble::Permanent, "does not accept"),
        (400, r#"{"error":{"message":"odd"}}"#, StepTrouble::Permanent, "refuses the request (400): odd"),
    ];

    #[test]
    fn each_provider_s_errors_mean_what_they_say() {
        for (status, body, want, named) in SAID {
            let (kind, words) = kind(status, body);
            assert_eq!(kind, want, "{status} {body}");
            assert!(words.contains(named), "{body}: {words}");
            assert!(!words.contains("sk-0123456789"), "{words}");
        }
    }

    #[test]
    fn a_stranger_s_words_are_short_and_on_one_line() {
        let who = Who { host: "h", model: "m", key: None };
        let quoted = who.quote(&format!("a\nb\u{1b}[31m{}", "x".repeat(1000)));
        assert!(quoted.chars().count() <= QUOTED_MAX && !quoted.contains(char::is_control), "{quoted}");
    }

    #[test]
    fn how_long_to_wait_is_found_in_the_body_too() {
        let body = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"34s"}]}}"#;
        assert_eq!(complaint(body).unwrap().retry_after_ms, Some(34_000));
        assert_eq!(complaint("{\"ok\": 1}"), None);
        assert_eq!(complaint("{\"error\": null}"), None);
    }
}
