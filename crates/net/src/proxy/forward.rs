//! A plain-HTTP request on its way through: what is taken off it, what is put on.
//!
//! Headers about the connection end here, in both directions, and so do
//! credentials meant for a proxy. `Host` is written from the judged target.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::body::Incoming;

use crate::policy::{Malformed, Target};

/// They speak of one connection, not of the message.
const HOP_BY_HOP: [&str; 11] = [
    "connection",
    "expect",
    "forwarded",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Takes off what ends here, the headers named by `Connection` included.
pub(super) fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // Whoever names these wants the message misread by the next one.
        .filter(|name| name != header::HOST && name != header::CONTENT_LENGTH)
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

/// The request as the target gets it.
pub(super) fn rewrite(
    request: http::Request<Incoming>,
    target: &Target,
) -> Result<http::Request<Incoming>, Malformed> {
    let (mut head, body) = request.into_parts();
    head.uri = target.place()?;
    head.version = http::Version::HTTP_11;
    head.extensions = http::Extensions::new();
    strip(&mut head.headers);
    let host = target.authority().parse().map_err(|_| Malformed::Character)?;
    head.headers.insert(header::HOST, host);
    head.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    Ok(http::Request::from_parts(head, body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_of_the_connection_ends_at_the_proxy() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "x-secret, close"),
            ("x-secret", "1"),
            ("proxy-authorization", "Basic eA=="),
            ("te", "trailers"),
            ("upgrade", "websocket"),
            ("expect", "100-continue"),
            ("accept", "*/*"),
            ("authorization", "Bearer x"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        strip(&mut headers);
        let mut left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["accept", "authorization"]);
    }

    #[test]
    fn a_connection_header_cannot_take_the_framing_away() {
        let mut headers = HeaderMap::new();
        headers.append("connection", HeaderValue::from_static("content-length, host"));
        headers.append("content-length", HeaderValue::from_static("3"));
        strip(&mut headers);
        assert_eq!(headers.len(), 1);
    }
}
