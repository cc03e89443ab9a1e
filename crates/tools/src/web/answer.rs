//! What a model reads of an HTTP answer: its status, the headers that say what it
//! is, and its text.

use std::fmt;

use bowline_net::{Fetched, HeaderMap, StatusCode, Url};

use crate::files::is_binary;

/// Headers that help to understand or repeat an answer.
const SHOWN: [&str; 10] = [
    "allow",
    "content-language",
    "content-length",
    "content-range",
    "content-type",
    "etag",
    "last-modified",
    "link",
    "location",
    "retry-after",
];

/// Longest header value that is shown.
const VALUE_MAX: usize = 500;

/// The first lines.
pub(super) struct Head {
    pub(super) is_success: bool,
    text: String,
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

pub(super) fn head(status: StatusCode, headers: HeaderMap, url: &Url) -> Head {
    let mut text = format!("{status} {url}\n");
    for name in SHOWN {
        for value in headers.get_all(name) {
            let value = String::from_utf8_lossy(value.as_bytes());
            let shown: String = value.chars().take(VALUE_MAX).collect();
            text.push_str(&format!("{name}: {shown}\n"));
        }
    }
    Head { is_success: !status.is_client_error() && !status.is_server_error(), text }
}

pub(super) fn body(fetched: &Fetched) -> String {
    let mut text =
        text_of(fetched).unwrap_or_else(|| format!("[{} bytes that are no text]", fetched.body.len()));
    if fetched.cut {
        text.push_str("\n[there is more: the body was cut off here]");
    }
    text
}

/// The body as text, if it is one.
pub(crate) fn text_of(fetched: &Fetched) -> Option<String> {
    if is_binary(&fetched.body) {
        return None;
    }
    let kind = fetched.headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.to_ascii_lowercase();
    // Every byte is a character there, and a wrong guess would only garble letters beyond ASCII.
    let is_latin = ["charset=iso-8859-1", "charset=\"iso-8859-1\"", "charset=latin1"];
    if is_latin.iter().any(|charset| kind.replace(' ', "").contains(charset)) {
        return Some(fetched.body.iter().map(|byte| char::from(*byte)).collect());
    }
    Some(String::from_utf8_lossy(&fetched.body).into_owned())
}
