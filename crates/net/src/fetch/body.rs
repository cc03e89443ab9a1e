//! The answer, and how much of its body is taken.
//!
//! Bytes are counted on the wire and again inflated; at the limit the body is
//! cut off and says so. Memory is bounded by the limit, whatever the server
//! claims or compresses.

use std::io::Write;

use bytes::Bytes;
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::{FetchError, FetchLimits, Stage};
use crate::exchange::Driven;
use crate::policy::{Host, Target};

/// Compressed bytes may exceed the limit of inflated ones by this much: framing
/// of a body that does not compress.
const WIRE_SLACK: usize = 64 * 1024;

/// The head of an answer, with its body still to come.
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers, as sent.
    pub headers: HeaderMap,
    /// The URL that answered, after redirects.
    pub url: Url,
    host: Host,
    body: Driven,
    decoder: Decoder,
    wire_left: usize,
    limits: FetchLimits,
    until: Instant,
    cut: bool,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The status.
    pub status: StatusCode,
    /// The headers, as sent.
    pub headers: HeaderMap,
    /// The URL that answered, after redirects.
    pub url: Url,
    /// The body, inflated.
    pub body: Vec<u8>,
    /// True when there was more than the limit.
    pub cut: bool,
}

impl Response {
    pub(super) fn new(
        answer: http::Response<Driven>,
        target: Target,
        bodiless: bool,
        limits: FetchLimits,
        until: Instant,
    ) -> Result<Self, FetchError> {
        let (head, body) = answer.into_parts();
        let host = target.host().clone();
        let encoded = if bodiless { Some(Decoder::plain(0)) } else { Decoder::of(&head.headers, limits) };
        let Some(decoder) = encoded else { return Err(FetchError::Encoding { host }) };
        Ok(Self {
            status: head.status,
            headers: head.headers,
            url: target.url().clone(),
            host,
            body,
            decoder,
            wire_left: wire_max(limits),
            limits,
            until,
            cut: false,
        })
    }

    /// The next bytes of the body, inflated; `None` at its end or at the limit.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, FetchError> {
        while !self.cut {
            let Ok(frame) = timeout_at(self.until, self.body.frame()).await else {
                return Err(FetchError::Deadline { stage: Stage::Total, waited: self.limits.total });
            };
            let out = match frame {
                None => return self.finish(),
                Some(Err(source)) => return Err(FetchError::Exchange { host: self.host.clone(), source }),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => self.take(bytes)?,
                    Err(_trailers) => continue,
                },
            };
            if !out.is_empty() {
                return Ok(Some(out));
            }
        }
        Ok(None)
    }

    /// True when the body was longer than the limit and its rest was left behind.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Reads the body to its end or to the limit.
    pub async fn read(mut self) -> Result<Fetched, FetchError> {
        let mut body = Vec::new();
        while let Some(bytes) = self.chunk().await? {
            body.extend_from_slice(&bytes);
        }
        Ok(Fetched { status: self.status, headers: self.headers, url: self.url, body, cut: self.cut })
    }

    fn take(&mut self, bytes: Bytes) -> Result<Bytes, FetchError> {
        let fits = bytes.slice(..bytes.len().min(self.wire_left));
        self.wire_left = self.wire_left.saturating_sub(bytes.len());
        self.cut = fits.len() < bytes.len();
        let fed = self.decoder.feed(&fits);
        self.cut |= self.decoder.is_full();
        match fed {
            Ok(out) => Ok(out),
            Err(Damaged) => Err(FetchError::Encoding { host: self.host.clone() }),
        }
    }

    fn finish(&mut self) -> Result<Option<Bytes>, FetchError> {
        // An empty body never began to be compressed, whatever its head says.
        if self.wire_left == wire_max(self.limits) {
            return Ok(None);
        }
        match self.decoder.finish() {
            Ok(rest) if rest.is_empty() => Ok(None),
            Ok(rest) => Ok(Some(rest)),
            Err(Damaged) => Err(FetchError::Encoding { host: self.host.clone() }),
        }
    }
}

fn wire_max(limits: FetchLimits) -> usize {
    limits.bytes_max.saturating_add(WIRE_SLACK)
}

/// The compressed bytes are not what they claim to be.
#[derive(Debug, PartialEq, Eq)]
struct Damaged;

/// Undoes a content encoding into bounded room.
enum Decoder {
    Plain(Room),
    Gzip(Box<MultiGzDecoder<Room>>),
    Zlib(Box<ZlibDecoder<Room>>),
}

/// Where inflated bytes go; refuses what is over.
#[derive(Default)]
struct Room {
    out: Vec<u8>,
    left: usize,
    full: bool,
}

impl Decoder {
    fn plain(left: usize) -> Self {
        Self::Plain(Room { left, ..Room::default() })
    }

    /// For the encoding the headers name; `None` for one we did not offer, or several.
    fn of(headers: &HeaderMap, limits: FetchLimits) -> Option<Self> {
        let room = Room { left: limits.bytes_max, ..Room::default() };
        let mut named = headers.get_all(header::CONTENT_ENCODING).iter();
        let encoding = match (named.next(), named.next()) {
            (None, _) => return Some(Self::Plain(room)),
            (Some(encoding), None) => encoding.to_str().ok()?.trim().to_ascii_lowercase(),
            (Some(_), Some(_)) => return None,
        };
        match encoding.as_str() {
            "" | "identity" => Some(Self::Plain(room)),
            "gzip" | "x-gzip" => Some(Self::Gzip(Box::new(MultiGzDecoder::new(room)))),
            "deflate" => Some(Self::Zlib(Box::new(ZlibDecoder::new(room)))),
            _ => None,
        }
    }

    fn room(&mut self) -> &mut Room {
        match self {
            Self::Plain(room) => room,
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Zlib(decoder) => decoder.get_mut(),
        }
    }

    fn is_full(&mut self) -> bool {
        self.room().full
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<Bytes, Damaged> {
        let fed = match self {
            Self::Plain(room) => room.write_all(bytes),
            Self::Gzip(decoder) => decoder.write_all(bytes).and_then(|()| decoder.flush()),
            Self::Zlib(decoder) => decoder.write_all(bytes).and_then(|()| decoder.flush()),
        };
        self.taken(fed)
    }

    /// A compressed body that stops before its end is damaged, too.
    fn finish(&mut self) -> Result<Bytes, Damaged> {
        let ended = match self {
            Self::Plain(_) => Ok(()),
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Zlib(decoder) => decoder.try_finish(),
        };
        self.taken(ended)
    }

    fn taken(&mut self, outcome: std::io::Result<()>) -> Result<Bytes, Damaged> {
        let room = self.room();
        match outcome {
            Err(_) if !room.full => Err(Damaged),
            Ok(()) | Err(_) => Ok(std::mem::take(&mut room.out).into()),
        }
    }
}

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let fits = bytes.len().min(self.left);
        self.left -= fits;
        self.out.extend_from_slice(bytes.get(..fits).unwrap_or_default());
        self.full |= fits < bytes.len();
        if fits == 0 && !bytes.is_empty() { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(fits) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
