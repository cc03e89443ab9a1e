//! What a request takes along.

use http::HeaderValue;

use super::*;

fn outgoing(method: Method, body: &'static str) -> Outgoing {
    let mut headers = HeaderMap::new();
    for name in ["accept", "authorization", "cookie", "x-api-key", "content-type", "user-agent", "range"] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static("v"));
    }
    Outgoing { method, headers, body: Bytes::from_static(body.as_bytes()) }
}

fn after(status: u16, method: Method, body: &'static str, same_origin: bool) -> (Method, String, usize) {
    let mut request = outgoing(method, body);
    request.moved(StatusCode::from_u16(status).unwrap(), same_origin, 1).unwrap();
    let mut names: Vec<&str> = request.headers.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    (request.method, names.join(" "), request.body.len())
}

const ALL: &str = "accept authorization content-type cookie range user-agent x-api-key";
const NO_BODY: &str = "accept authorization cookie range user-agent x-api-key";
const HARMLESS_NAMES: &str = "accept range user-agent";

#[test]
fn within_an_origin_everything_goes_along_that_fits_the_method() {
    for (status, method, becomes, names, body) in [
        (301, Method::GET, Method::GET, ALL, 1),
        (301, Method::POST, Method::GET, NO_BODY, 0),
        (302, Method::POST, Method::GET, NO_BODY, 0),
        (302, Method::PUT, Method::PUT, ALL, 1),
        (303, Method::PUT, Method::GET, NO_BODY, 0),
        (303, Method::HEAD, Method::HEAD, ALL, 1),
        (307, Method::POST, Method::POST, ALL, 1),
        (308, Method::DELETE, Method::DELETE, ALL, 1),
    ] {
        let found = after(status, method.clone(), "b", true);
        assert_eq!(found, (becomes, names.to_owned(), body), "{status} {method}");
    }
}

#[test]
fn to_another_origin_go_neither_credentials_nor_a_body() {
    assert_eq!(after(302, Method::GET, "", false), (Method::GET, HARMLESS_NAMES.to_owned(), 0));
    assert_eq!(after(302, Method::POST, "b", false), (Method::GET, HARMLESS_NAMES.to_owned(), 0));
    let refused = outgoing(Method::POST, "b").moved(StatusCode::TEMPORARY_REDIRECT, false, 3);
    assert!(matches!(refused, Err(FetchError::RedirectBody { hop: 3 })));
}

#[test]
fn only_a_redirect_with_one_place_is_one() {
    let mut headers = HeaderMap::new();
    let found = |status: u16, headers: &HeaderMap| {
        location(StatusCode::from_u16(status).unwrap(), headers, 1).map(|place| place.map(str::to_owned))
    };
    assert!(matches!(found(302, &headers), Ok(None)));
    headers.append("location", HeaderValue::from_static("/a"));
    for status in [301, 302, 303, 307, 308] {
        assert_eq!(found(status, &headers).unwrap().as_deref(), Some("/a"), "{status}");
    }
    for status in [200, 201, 300, 304, 305, 306, 404] {
        assert!(matches!(found(status, &headers), Ok(None)), "{status}");
    }
    headers.append("location", HeaderValue::from_static("/b"));
    assert!(matches!(found(302, &headers), Err(FetchError::Location { hop: 1 })));
    headers.insert("location", HeaderValue::from_bytes(b"/\xff").unwrap());
    assert!(matches!(found(302, &headers), Err(FetchError::Location { .. })));
}
