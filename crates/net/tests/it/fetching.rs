//! The client: what it sends, what it takes, what it refuses.

use std::time::Duration;

use bowline_net::double::{Names, Play, Wire};
use bowline_net::{Fetch, FetchError, Fetched, Request, Stage, Trust};

use crate::{Machine, SITE, at, body, certificates, socket};

const URL: &str = "https://api.example.com/v1?q=1";

async fn get(machine: &Machine) -> Result<Fetched, FetchError> {
    machine.client().fetch(Request::get(URL)).await
}

fn raw(head: &str, body: &[u8]) -> Play {
    Play::Raw([format!("HTTP/1.1 {head}\r\n\r\n").as_bytes(), body].concat())
}

#[tokio::test(start_paused = true)]
async fn a_listed_host_is_fetched_over_tls_from_its_checked_address() {
    let machine = Machine::new(vec![body("hello")]);
    let fetched = get(&machine).await.unwrap();
    assert_eq!((fetched.status.as_u16(), fetched.body.as_slice(), fetched.cut), (200, &b"hello"[..], false));
    assert_eq!(fetched.url.as_str(), URL);
    assert_eq!(machine.wire.dialed(), [socket("93.184.216.34:443")]);
    let head = machine.wire.heads().concat();
    assert!(head.starts_with("GET /v1?q=1 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("host: api.example.com\r\n"), "{head}");
    assert!(head.contains("user-agent: bowline/"), "{head}");
    for unwanted in ["cookie", "authorization", "referer", "via", "forwarded"] {
        assert!(!head.contains(unwanted), "{head}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_and_headers_are_sent_as_given() {
    let machine = Machine::new(vec![body("")]);
    let request = Request::new("POST", "http://127.0.0.1:8080/x").unwrap();
    let request = request.header("Authorization", "Bearer k").unwrap().body("payload");
    machine.client().fetch(request).await.unwrap();
    let head = machine.wire.heads().concat();
    assert!(head.starts_with("POST /x HTTP/1.1\r\n"), "{head}");
    for line in ["host: 127.0.0.1:8080\r\n", "authorization: Bearer k\r\n", "content-length: 7\r\n"] {
        assert!(head.contains(line), "{head}");
    }
    assert!(machine.names.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_not_listed_costs_no_look_up() {
    let machine = Machine::new(vec![body("x")]);
    let error = machine.client().fetch(Request::get("https://evil.test/")).await.unwrap_err();
    assert_eq!(error.to_string(), "evil.test is not in allowed_hosts");
    assert_eq!((error.reason(), error.remedy().is_empty()), ("host_not_allowed", false));
    assert!(machine.names.asked().is_empty() && machine.wire.dialed().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_name_is_looked_up_anew_for_each_connection_and_judged_each_time() {
    let names = Names::new(at(&[SITE])).with("api.example.com", vec![at(&[SITE]), at(&["169.254.169.254"])]);
    let machine = Machine::over(names, Wire::new(vec![body("x")]));
    let client = machine.client();
    assert!(client.fetch(Request::get(URL)).await.is_ok());
    assert_eq!(client.fetch(Request::get(URL)).await.unwrap_err().reason(), "ip_class");
    assert_eq!(machine.wire.dialed(), [socket("93.184.216.34:443")]);
}

#[tokio::test(start_paused = true)]
async fn a_server_nobody_vouches_for_is_not_spoken_to() {
    let machine = Machine::new(vec![body("x")]);
    let client = Fetch::new(machine.gate(), machine.limits, Trust::public()).unwrap();
    assert!(matches!(client.fetch(Request::get(URL)).await, Err(FetchError::Tls { .. })));
    assert!(machine.wire.heads().is_empty());
    // A certificate for another name is no better.
    let other = machine.client().fetch(Request::get("https://b.cdn.example.net/")).await;
    assert!(matches!(other, Err(FetchError::Tls { .. })));
}

#[test]
fn trust_is_made_from_certificates_only() {
    assert!(Trust::only(b"nothing").is_err());
    assert!(Trust::only(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").is_err());
    assert!(Trust::public().and(certificates::authority().as_bytes()).is_ok());
}

#[tokio::test(start_paused = true)]
async fn credentials_stay_with_the_origin_they_were_given_for() {
    let to = Play::Redirect("https://a.cdn.example.net/file".into());
    let machine = Machine::new(vec![Play::Redirect("/same".into()), to, body("there")]);
    let mut request = Request::get(URL).header("Accept", "text/plain").unwrap();
    for name in ["Authorization", "Cookie", "X-Api-Key"] {
        request = request.header(name, "canary").unwrap();
    }
    let fetched = machine.client().fetch(request).await.unwrap();
    assert_eq!(fetched.url.as_str(), "https://a.cdn.example.net/file");
    let canaries: Vec<usize> =
        machine.wire.heads().iter().map(|head| head.matches("canary").count()).collect();
    assert_eq!(canaries, [3, 3, 0]);
    assert!(machine.wire.heads()[2].contains("accept: text/plain"));
    assert!(machine.wire.heads()[2].contains("host: a.cdn.example.net"));
}

#[tokio::test(start_paused = true)]
async fn a_redirect_passes_the_whole_gate() {
    for (place, why) in [
        ("http://169.254.169.254/", "169.254.169.254 is not in allowed_hosts"),
        ("http://api.example.com/", "a redirect leads from https to http"),
        ("https://b.cdn.example.net/", "b.cdn.example.net leads to 10.0.0.8, a private address"),
        ("https://api.example.com:8443/", "port 8443 of api.example.com is not allowed"),
        ("file:///etc/passwd", "the scheme \"file\" is not allowed"),
    ] {
        let names = Names::new(at(&[SITE])).with("b.cdn.example.net", vec![at(&["10.0.0.8"])]);
        let machine = Machine::over(names, Wire::new(vec![Play::Redirect(place.into()), body("inside")]));
        let error = get(&machine).await.unwrap_err();
        let FetchError::Redirect { hop: 1, source } = &error else { panic!("{place}: {error}") };
        assert_eq!(source.to_string(), why, "{place}");
        assert_eq!(error.reason(), "redirect");
        assert_eq!(machine.wire.dialed(), [socket("93.184.216.34:443")], "{place}");
    }
}

#[tokio::test(start_paused = true)]
async fn five_redirects_are_followed_and_not_six() {
    let hops = |count: usize| {
        let moves = (0..count).map(|hop| Play::Redirect(format!("/{hop}")));
        Machine::new(moves.chain([body("there")]).collect())
    };
    assert_eq!(get(&hops(5)).await.unwrap().body, b"there");
    assert!(matches!(get(&hops(6)).await, Err(FetchError::RedirectLimit { max: 5 })));
}

#[tokio::test(start_paused = true)]
async fn a_body_does_not_follow_to_another_origin() {
    let moved = raw("307 Moved\r\nlocation: https://a.cdn.example.net/\r\ncontent-length: 0", b"");
    let machine = Machine::new(vec![moved, body("x")]);
    let request = Request::new("POST", URL).unwrap().body("secret");
    let refused = machine.client().fetch(request).await;
    assert!(matches!(refused, Err(FetchError::RedirectBody { hop: 1 })));
    assert_eq!(machine.wire.heads().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_body_without_end_is_cut_at_the_limit() {
    for play in [Play::Endless, Play::Inflating] {
        let mut machine = Machine::new(vec![play.clone()]);
        machine.limits.bytes_max = 100_000;
        let fetched = get(&machine).await.unwrap();
        assert_eq!((fetched.body.len(), fetched.cut), (100_000, true), "{play:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn compressed_nothing_without_end_is_cut_on_the_wire() {
    // Empty stored blocks: bytes that inflate to none.
    let head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\xff";
    let nothing = [0, 0, 0, 0xff, 0xff].repeat(50_000);
    let mut machine = Machine::new(vec![Play::Raw([&head[..], &nothing].concat())]);
    machine.limits.bytes_max = 1000;
    let fetched = get(&machine).await.unwrap();
    assert_eq!((fetched.body.len(), fetched.cut), (0, true));
}

#[tokio::test(start_paused = true)]
async fn every_wait_has_its_deadline() {
    let machine = Machine::new(vec![Play::Slow]);
    let start = tokio::time::Instant::now();
    let late = get(&machine).await;
    assert!(matches!(late, Err(FetchError::Deadline { stage: Stage::Total, .. })));
    assert_eq!(start.elapsed(), Duration::from_secs(30));

    let mut machine = Machine::new(vec![Play::Silent]);
    machine.limits.first_byte = Duration::from_secs(3);
    let start = tokio::time::Instant::now();
    let late = get(&machine).await;
    assert!(matches!(late, Err(FetchError::Deadline { stage: Stage::FirstByte, .. })));
    assert_eq!(start.elapsed(), Duration::from_secs(3));

    // The echo sends a handshake's first message back, half of it only if cut; here nobody speaks TLS.
    let mut machine = Machine::new(vec![Play::Silent]);
    machine.wire = std::sync::Arc::new(Wire::new(vec![Play::Silent]));
    let start = tokio::time::Instant::now();
    let late = get(&machine).await;
    assert!(matches!(late, Err(FetchError::Deadline { stage: Stage::Handshake, .. })), "{late:?}");
    assert_eq!(start.elapsed(), Duration::from_secs(10));
    assert_eq!(late.unwrap_err().reason(), "limits");
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_read_as_it_comes() {
    let machine = Machine::new(vec![Play::Slow]);
    let mut response = machine.client().send(Request::get(URL)).await.unwrap();
    assert_eq!(response.chunk().await.unwrap().as_deref(), Some(&b"x"[..]));
    assert_eq!(response.chunk().await.unwrap().as_deref(), Some(&b"x"[..]));
    assert!(!response.is_cut());
}

#[tokio::test(start_paused = true)]
async fn what_is_no_http_is_an_error() {
    for play in [
        Play::Raw(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()),
        Play::Raw(vec![]),
        raw("200 OK\r\ncontent-length: 10", b"short"),
        raw("200 OK\r\ncontent-length: 1\r\ncontent-length: 2", b"xx"),
        raw("200 OK\r\ntransfer-encoding: chunked", b"zz\r\n"),
        raw(&format!("200 OK\r\nx: {}", "a".repeat(200_000)), b""),
        raw(&format!("200 OK{}", "\r\nx: y".repeat(200)), b""),
    ] {
        let shown = format!("{play:?}").chars().take(80).collect::<String>();
        let outcome = get(&Machine::new(vec![play])).await;
        assert!(matches!(outcome, Err(FetchError::Exchange { .. })), "{shown}: {outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn encodings_we_did_not_ask_for_are_refused_and_empty_bodies_have_none() {
    let brotli =
        get(&Machine::new(vec![raw("200 OK\r\ncontent-encoding: br\r\ncontent-length: 1", b"x")])).await;
    assert_eq!(brotli.unwrap_err().reason(), "encoding");
    let empty = raw("200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 0", b"");
    assert_eq!(get(&Machine::new(vec![empty])).await.unwrap().body, b"");
    let head = raw("200 OK\r\ncontent-encoding: br\r\ncontent-length: 500", b"");
    let asked = Machine::new(vec![head]).client().fetch(Request::new("HEAD", URL).unwrap()).await.unwrap();
    assert_eq!((asked.body.len(), asked.cut), (0, false));
}

#[tokio::test(start_paused = true)]
async fn an_error_status_is_an_answer() {
    let missing = raw("404 Not Found\r\ncontent-length: 2", b"no");
    let fetched = get(&Machine::new(vec![missing])).await.unwrap();
    assert_eq!((fetched.status.as_u16(), fetched.body.as_slice()), (404, &b"no"[..]));
}

#[tokio::test(start_paused = true)]
async fn a_part_of_a_body_is_asked_for_as_it_is() {
    let machine = Machine::new(vec![body("art")]);
    let request = Request::get(URL).header("Range", "bytes=1-3").unwrap();
    machine.client().fetch(request).await.unwrap();
    let head = machine.wire.heads().concat();
    assert!(head.contains("accept-encoding: identity\r\n") && !head.contains("gzip"), "{head}");
}
