//! What becomes of a request when the server sends it elsewhere.
//!
//! Where it may go is the policy's business; here is what it may take along. To
//! another origin nothing goes that could be a credential: of the caller's
//! headers only those listed here, and never the body.

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName};
use http::{Method, StatusCode};

use super::FetchError;

/// Headers that say what is wanted, not who wants it.
const HARMLESS: [HeaderName; 4] =
    [header::ACCEPT, header::ACCEPT_LANGUAGE, header::USER_AGENT, header::RANGE];

/// What is sent, apart from where.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// The place a response redirects to; `None` when it is the answer.
pub(super) fn location(
    status: StatusCode,
    headers: &HeaderMap,
    hop: u32,
) -> Result<Option<&str>, FetchError> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let mut places = headers.get_all(header::LOCATION).iter();
    match (places.next(), places.next()) {
        (None, _) => Ok(None),
        (Some(place), None) => place.to_str().map(Some).map_err(|_| FetchError::Location { hop }),
        (Some(_), Some(_)) => Err(FetchError::Location { hop }),
    }
}

impl Outgoing {
    /// The request as it goes on, after this status.
    pub(super) fn moved(
        &mut self,
        status: StatusCode,
        same_origin: bool,
        hop: u32,
    ) -> Result<(), FetchError> {
        let becomes_get = match status.as_u16() {
            303 => self.method != Method::HEAD,
            301 | 302 => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = Bytes::new();
            let about_body = |name: &&HeaderName| name.as_str().starts_with("content-");
            let gone: Vec<HeaderName> = self.headers.keys().filter(about_body).cloned().collect();
            gone.iter().for_each(|name| drop(self.headers.remove(name)));
        }
        if same_origin {
            return Ok(());
        }
        if !self.body.is_empty() {
            return Err(FetchError::RedirectBody { hop });
        }
        let mut kept = HeaderMap::new();
        for name in &HARMLESS {
            for value in self.headers.get_all(name) {
                kept.append(name.clone(), value.clone());
            }
        }
        self.headers = kept;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
