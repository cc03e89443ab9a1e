//! A request, as the caller wants it. What a request may not carry is refused
//! here, before anything is looked up.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};

const HEADERS_MAX: usize = 64;
const HEADER_BYTES_MAX: usize = 32 * 1024;

/// The client writes these itself, or they would turn the connection into
/// something else.
const RESERVED: [&str; 12] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// A request that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// Not one of the methods there are.
    #[error("the method {method:?} is not allowed")]
    Method {
        /// As asked, cut short.
        method: String,
    },
    /// A name or value that is none, or a header the client writes itself.
    #[error("the header {name:?} cannot be sent: {why}")]
    Header {
        /// As asked, cut short.
        name: String,
        /// What is wrong.
        why: &'static str,
    },
}

impl BadRequest {
    /// One word for logs and counters.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Method { .. } => "method",
            Self::Header { .. } => "header",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Method { .. } => "use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS",
            Self::Header { .. } => "leave the header out, or write it as a plain line",
        }
    }
}

/// What to ask.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    header_bytes: usize,
}

impl Request {
    /// A GET of this URL. Whether it may be reached is judged when it is sent.
    #[must_use]
    pub fn get(url: &str) -> Self {
        Self {
            method: Method::GET,
            url: url.to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            header_bytes: 0,
        }
    }

    /// A request with another method, in any case.
    pub fn new(method: &str, url: &str) -> Result<Self, BadRequest> {
        let known = [
            Method::GET,
            Method::HEAD,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
            Method::OPTIONS,
        ];
        match known.into_iter().find(|known| known.as_str().eq_ignore_ascii_case(method)) {
            Some(method) => Ok(Self { method, ..Self::get(url) }),
            None => Err(BadRequest::Method { method: method.chars().take(32).collect() }),
        }
    }

    /// Where it is meant to go.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The same with one more header.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, BadRequest> {
        let bad = |why| BadRequest::Header { name: name.chars().take(64).collect(), why };
        let parsed: HeaderName = name.parse().map_err(|_| bad("that is no name"))?;
        if RESERVED.contains(&parsed.as_str()) {
            return Err(bad("the client writes it itself"));
        }
        let mut value: HeaderValue =
            value.parse().map_err(|_| bad("its value holds a line break or another control character"))?;
        self.header_bytes = self.header_bytes.saturating_add(name.len()).saturating_add(value.len());
        if self.headers.len() >= HEADERS_MAX || self.header_bytes > HEADER_BYTES_MAX {
            return Err(bad("there are too many, or they are too long"));
        }
        // Keeps it out of debug output; any header may carry a key.
        value.set_sensitive(true);
        self.headers.append(parsed, value);
        Ok(self)
    }

    /// The same with this body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_is_not_plain_http_is_refused() {
        for method in ["CONNECT", "TRACE", "connect", "GET\r\nX: 1", "PROPFIND", ""] {
            assert!(matches!(Request::new(method, "u"), Err(BadRequest::Method { .. })), "{method:?}");
        }
        assert_eq!(Request::new("post", "u").unwrap().method, Method::POST);
    }

    #[test]
    fn a_header_the_client_owns_or_that_breaks_the_line_is_refused() {
        for (name, value) in [
            ("Host", "evil.test"),
            ("Content-Length", "0"),
            ("Transfer-Encoding", "chunked"),
            ("Proxy-Authorization", "x"),
            ("Upgrade", "websocket"),
            ("X-A", "b\r\nX-Evil: 1"),
            ("X-A", "b\nc"),
            ("X-A", "b\0"),
            ("X A", "b"),
            ("X:A", "b"),
            ("", "b"),
        ] {
            let refused = Request::get("u").header(name, value).unwrap_err();
            assert_eq!(refused.reason(), "header", "{name:?}: {value:?}");
        }
    }

    #[test]
    fn headers_are_counted_and_measured_and_never_shown() {
        let add = |request: Request, n: usize| request.header(&format!("x-{n}"), "secret-word");
        let full = (0..HEADERS_MAX).try_fold(Request::get("u"), add).unwrap();
        assert!(!format!("{full:?}").contains("secret-word"));
        assert!(add(full, HEADERS_MAX).is_err());
        assert!(Request::get("u").header("x", &"a".repeat(HEADER_BYTES_MAX)).is_err());
        assert!(Request::get("u").header("x", &"a".repeat(HEADER_BYTES_MAX - 1)).is_ok());
    }
}
