//! Decoding into bounded room.

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use http::HeaderValue;

use super::*;

fn decoder(encoding: &'static str, bytes_max: usize) -> Option<Decoder> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    Decoder::of(&headers, FetchLimits { bytes_max, ..FetchLimits::default() })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Feeds the bytes in pieces; what came out, and whether it was full.
fn through(mut decoder: Decoder, bytes: &[u8], piece: usize) -> Result<(Vec<u8>, bool), Damaged> {
    let mut out = Vec::new();
    for piece in bytes.chunks(piece) {
        out.extend(decoder.feed(piece)?);
        if decoder.is_full() {
            return Ok((out, true));
        }
    }
    out.extend(decoder.finish()?);
    Ok((out, decoder.is_full()))
}

#[test]
fn encoded_bodies_come_out_whole_in_pieces_of_any_size() {
    let text = "how now brown cow ".repeat(500).into_bytes();
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    zlib.write_all(&text).unwrap();
    let two_members = [gzip(&text[..4000]), gzip(&text[4000..])].concat();
    for (encoding, bytes) in [
        ("identity", text.clone()),
        ("gzip", gzip(&text)),
        ("X-GZip", two_members),
        ("deflate", zlib.finish().unwrap()),
    ] {
        for piece in [1, 7, 100_000] {
            let found = through(decoder(encoding, text.len()).unwrap(), &bytes, piece).unwrap();
            assert!(found == (text.clone(), false), "{encoding} by {piece}");
        }
    }
}

#[test]
fn one_byte_over_the_limit_is_cut_off() {
    for (encoding, bytes) in [("identity", vec![b'x'; 1001]), ("gzip", gzip(&[b'x'; 1001]))] {
        let (out, full) = through(decoder(encoding, 1000).unwrap(), &bytes, 100_000).unwrap();
        assert_eq!((out.len(), full), (1000, true), "{encoding}");
    }
}

#[test]
fn a_bomb_takes_no_more_room_than_the_limit() {
    let bomb = gzip(&vec![0; 20 << 20]);
    assert!(bomb.len() < 40_000);
    let mut decoder = decoder("gzip", 100_000).unwrap();
    let out = decoder.feed(&bomb).unwrap();
    assert_eq!(out.len(), 100_000);
    assert!(decoder.is_full());
}

#[test]
fn what_we_did_not_offer_is_not_decoded() {
    for encoding in ["br", "zstd", "gzip, gzip", "gzip,br", "compress"] {
        assert!(decoder(encoding, 1).is_none(), "{encoding}");
    }
    let mut headers = HeaderMap::new();
    headers.append(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.append(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    assert!(Decoder::of(&headers, FetchLimits::default()).is_none());
    assert!(Decoder::of(&HeaderMap::new(), FetchLimits::default()).is_some());
}

#[test]
fn a_damaged_or_torn_body_is_an_error() {
    let whole = gzip(b"a body of some length");
    let torn = &whole[..whole.len() - 3];
    let mut wrong = whole.clone();
    *wrong.last_mut().unwrap() ^= 1;
    wrong[whole.len() - 6] ^= 1;
    for bytes in [torn, &wrong, b"not gzip at all, sorry"] {
        assert_eq!(through(decoder("gzip", 1000).unwrap(), bytes, 5), Err(Damaged));
    }
}
