//! The proxy, over real local sockets, with the double of the network behind it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline_net::double::{Names, Play, Wire};
use bowline_net::{Decision, Listener, Outcome, Proxy, ProxyError, ProxyLimits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener, UnixStream};

use crate::{Machine, SITE, at, body, socket};

struct Caged {
    machine: Machine,
    proxy: Proxy,
    decisions: Arc<Mutex<Vec<Decision>>>,
    folder: tempfile::TempDir,
}

impl Caged {
    fn new(machine: Machine, limits: ProxyLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("proxy")).unwrap();
        let decisions = Arc::new(Mutex::new(Vec::new()));
        let log = decisions.clone();
        let told = Arc::new(move |decision: &Decision| log.lock().unwrap().push(decision.clone()));
        let proxy = Proxy::start(machine.gate(), Listener::Unix(listener), limits, told).unwrap();
        Self { machine, proxy, decisions, folder }
    }

    fn plays(plays: Vec<Play>) -> Self {
        Self::new(Machine::new(plays), ProxyLimits::default())
    }

    async fn connect(&self) -> UnixStream {
        UnixStream::connect(self.folder.path().join("proxy")).await.unwrap()
    }

    /// Sends the text and reads until the proxy closes.
    async fn say(&self, text: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // A reset after the answer is as good as an end.
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A connection that has become a tunnel.
    async fn tunnel(&self, to: &str) -> UnixStream {
        let mut stream = self.connect().await;
        stream.write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&head));
        stream
    }

    fn decisions(&self) -> Vec<Decision> {
        self.decisions.lock().unwrap().clone()
    }
}

fn ask(method: &str, url: &str) -> String {
    format!("{method} {url} HTTP/1.1\r\nHost: lie.example\r\nConnection: close\r\n\r\n")
}

#[tokio::test]
async fn a_plain_request_goes_to_the_checked_address_under_its_own_name() {
    let caged = Caged::plays(vec![body("hello")]);
    let request = "GET http://api.example.com/x?y=1 HTTP/1.1\r\nHost: lie.example\r\nProxy-Authorization: secret\r\n\
                   Connection: close, x-hop\r\nX-Hop: 1\r\nX-Kept: 2\r\n\r\n";
    let answer = caged.say(request).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("hello"), "{answer}");
    let head = caged.machine.wire.heads().concat();
    assert!(head.starts_with("GET /x?y=1 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("host: api.example.com\r\n") && head.contains("x-kept: 2"), "{head}");
    assert!(!head.contains("lie.example") && !head.contains("secret") && !head.contains("x-hop"), "{head}");
    let allowed = Outcome::Allowed { addresses: vec![socket("93.184.216.34:80")] };
    let decision = Decision { method: "GET".into(), asked: "api.example.com".into(), outcome: allowed };
    assert_eq!(caged.decisions(), [decision]);
}

#[tokio::test]
async fn a_body_goes_through_in_both_directions() {
    let caged = Caged::plays(vec![body("done")]);
    let request = "POST http://api.example.com/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                   Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let answer = caged.say(request).await;
    assert!(answer.ends_with("done"), "{answer}");
}

#[tokio::test]
async fn what_the_policy_refuses_is_refused_with_its_words() {
    let names = Names::new(at(&[SITE])).with("b.cdn.example.net", vec![at(&["10.0.0.8"])]);
    let caged = Caged::new(Machine::over(names, Wire::new(vec![body("inside")])), ProxyLimits::default());
    for (request, status, words) in [
        (ask("GET", "http://evil.test/"), 403, "evil.test is not in allowed_hosts"),
        (ask("CONNECT", "evil.test:443"), 403, "evil.test is not in allowed_hosts"),
        (ask("CONNECT", "169.254.169.254:80"), 403, "not in allowed_hosts"),
        (ask("CONNECT", "api.example.com:22"), 403, "port 22"),
        (ask("CONNECT", "b.cdn.example.net:443"), 403, "10.0.0.8"),
        (ask("GET", "http://b.cdn.example.net/"), 403, "10.0.0.8"),
        (ask("GET", "https://api.example.com/"), 403, "CONNECT"),
        (ask("GET", "http://u:p@api.example.com/"), 403, "user name"),
        (ask("GET", "/no-host"), 403, "names no scheme"),
        (ask("GET", "ftp://api.example.com/"), 403, "ftp"),
    ] {
        let answer = caged.say(&request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {answer}");
        assert!(answer.contains(words), "{request}: {answer}");
    }
    assert!(caged.machine.wire.dialed().is_empty());
    let decisions = caged.decisions();
    assert_eq!(decisions.len(), 10);
    assert!(decisions.iter().all(|decision| matches!(decision.outcome, Outcome::Refused { .. })));
    assert!(decisions.iter().all(|decision| !decision.asked.contains("u:p")), "{decisions:?}");
}

#[tokio::test]
async fn a_tunnel_goes_to_the_checked_address_whatever_is_said_inside() {
    let caged = Caged::plays(vec![Play::Echo]);
    let mut tunnel = caged.tunnel("api.example.com:80").await;
    tunnel.write_all(b"GET / HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n").await.unwrap();
    tunnel.shutdown().await.unwrap();
    let mut echoed = String::new();
    tunnel.read_to_string(&mut echoed).await.unwrap();
    assert!(echoed.contains("169.254.169.254"), "{echoed}");
    assert_eq!(caged.machine.wire.dialed(), [socket("93.184.216.34:80")]);
    assert_eq!(caged.machine.names.asked(), ["api.example.com"]);
}

#[tokio::test]
async fn requests_on_one_connection_are_judged_one_by_one() {
    let caged = Caged::plays(vec![body("one")]);
    let first = "GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n";
    let answer = caged.say(&format!("{first}{}", ask("GET", "http://evil.test/"))).await;
    assert!(answer.contains("one") && answer.contains("403 Forbidden"), "{answer}");
    assert_eq!(caged.decisions().len(), 2);
}

#[tokio::test]
async fn silence_and_bytes_are_bounded() {
    let quick = ProxyLimits { idle: Duration::from_millis(20), ..ProxyLimits::default() };
    let caged = Caged::new(Machine::new(vec![Play::Echo]), quick);
    let mut tunnel = caged.tunnel("api.example.com:80").await;
    let mut rest = Vec::new();
    let _ = tunnel.read_to_end(&mut rest).await;
    assert!(rest.is_empty());

    let small = ProxyLimits { bytes_max: 100_000, ..ProxyLimits::default() };
    let caged = Caged::new(Machine::new(vec![Play::Endless]), small);
    let answer = caged.say(&ask("GET", "http://api.example.com/")).await;
    assert!((50_000..200_000).contains(&answer.len()), "{}", answer.len());
}

#[tokio::test]
async fn a_life_has_an_end_and_a_head_must_arrive() {
    let short = ProxyLimits { lifetime: Duration::from_millis(20), ..ProxyLimits::default() };
    let caged = Caged::new(Machine::new(vec![Play::Slow]), short);
    assert!(caged.say(&ask("GET", "http://api.example.com/")).await.len() < 1000);

    let hasty = ProxyLimits { head: Duration::from_millis(20), ..ProxyLimits::default() };
    let caged = Caged::new(Machine::new(vec![body("x")]), hasty);
    let answer = caged.say("GET http://api.example.com/ HT").await;
    assert!(!answer.contains("200 OK"), "{answer}");
    assert_eq!(caged.say("").await, "");
    assert!(caged.decisions().is_empty());
    let kept_open = caged.say("GET http://api.example.com/ HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(kept_open.ends_with("x"), "{kept_open}");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_a_gateway_timeout() {
    let hasty = ProxyLimits { first_byte: Duration::from_millis(20), ..ProxyLimits::default() };
    let caged = Caged::new(Machine::new(vec![Play::Silent]), hasty);
    let answer = caged.say(&ask("GET", "http://api.example.com/")).await;
    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
}

#[tokio::test]
async fn no_more_connections_are_served_than_allowed() {
    let narrow = ProxyLimits { connections_max: 1, ..ProxyLimits::default() };
    let caged = Caged::new(Machine::new(vec![Play::Echo]), narrow);
    let first = caged.tunnel("api.example.com:80").await;
    let mut second = caged.connect().await;
    second.write_all(ask("GET", "http://evil.test/").as_bytes()).await.unwrap();
    let waits = tokio::time::timeout(Duration::from_millis(50), second.read_u8()).await;
    assert!(waits.is_err(), "the second was served beside the first");
    drop(first);
    assert_eq!(second.read_u8().await.unwrap(), b'H');
}

#[tokio::test]
async fn the_proxy_and_its_tunnels_end_with_its_owner() {
    let Caged { machine: _machine, proxy, folder, decisions } = Caged::plays(vec![Play::Echo]);
    let caged = Caged { machine: Machine::new(vec![]), proxy, decisions, folder };
    let mut tunnel = caged.tunnel("api.example.com:80").await;
    let path = caged.folder.path().join("proxy");
    caged.proxy.close().await;
    let mut rest = Vec::new();
    let _ = tunnel.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
    assert!(UnixStream::connect(path).await.is_err(), "the socket still listens");
}

#[tokio::test]
async fn a_listener_others_can_reach_is_refused() {
    let gate = || Machine::new(vec![]).gate();
    let start = |listener| {
        Proxy::start(
            gate(),
            Listener::Loopback(listener),
            ProxyLimits::default(),
            Arc::new(|_: &Decision| {}),
        )
    };
    let open = start(TcpListener::bind("0.0.0.0:0").await.unwrap());
    assert!(matches!(open, Err(ProxyError::NotLoopback { .. })));
    assert!(start(TcpListener::bind("127.0.0.1:0").await.unwrap()).is_ok());
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_silence_too() {
    let limits =
        ProxyLimits { connections_max: 1, idle: Duration::from_millis(50), ..ProxyLimits::default() };
    let caged = Caged::new(Machine::new(vec![Play::Endless]), limits);
    let mut deaf = caged.connect().await;
    deaf.write_all(ask("GET", "http://api.example.com/").as_bytes()).await.unwrap();
    // There is room for the next only when the first has been given up.
    let mut next = caged.connect().await;
    next.write_all(ask("GET", "http://evil.test/").as_bytes()).await.unwrap();
    let answered = tokio::time::timeout(Duration::from_secs(20), next.read_u8()).await;
    assert_eq!(answered.expect("the deaf client is given up").unwrap(), b'H');
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_waits_for_connections_that_are_still_at_work() {
    let folder = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(folder.path().join("proxy")).unwrap();
    let (arrived, arrivals) = std::sync::mpsc::sync_channel(1);
    let (go_on, wait) = std::sync::mpsc::sync_channel::<()>(1);
    let wait = Mutex::new(wait);
    let busy = Arc::new(move |_: &Decision| {
        arrived.send(()).unwrap();
        wait.lock().unwrap().recv().unwrap();
    });
    let gate = Machine::new(vec![]).gate();
    let proxy = Proxy::start(gate, Listener::Unix(listener), ProxyLimits::default(), busy).unwrap();
    let mut client = UnixStream::connect(folder.path().join("proxy")).await.unwrap();
    client.write_all(ask("GET", "http://evil.test/").as_bytes()).await.unwrap();
    tokio::task::spawn_blocking(move || arrivals.recv().unwrap()).await.unwrap();
    let mut closing = std::pin::pin!(proxy.close());
    let early = tokio::time::timeout(Duration::from_millis(100), &mut closing).await;
    assert!(early.is_err(), "it says it has closed while a connection is at work");
    go_on.send(()).unwrap();
    closing.await;
}
