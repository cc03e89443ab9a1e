//! The gate: one look-up, checked addresses, the right peer.

use std::sync::Arc;
use std::time::Duration;

use bowline_net::double::{Answer, Names, Wire};
use bowline_net::{Fetch, FetchLimits, Gate, GateError, Policy, Refusal, Request, Tier, Trust, Waits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{Machine, at, body, socket};

#[tokio::test(start_paused = true)]
async fn no_gate_opens_in_the_sovereign_tier() {
    let policy = Policy::new(Tier::Sovereign, &["*"]).unwrap();
    let refused = Gate::open(policy, Waits::default()).err().unwrap();
    assert_eq!(refused, Refusal::Sovereign);
    assert!(refused.to_string().contains("sovereign"));
}

#[tokio::test(start_paused = true)]
async fn addresses_are_tried_in_order_until_one_answers() {
    let names = Names::new(at(&["1.1.1.1", "2606:4700::1111", "8.8.8.8"]));
    let wire =
        Wire::new(vec![body("x")]).without(socket("1.1.1.1:80")).without(socket("[2606:4700::1111]:80"));
    let machine = Machine::over(names, wire);
    let gate = machine.gate();
    let checked = gate.admit(gate.policy().judge("http://api.example.com/").unwrap()).await.unwrap();
    assert!(gate.connect(&checked).await.is_ok());
    let dialed = machine.wire.dialed();
    assert_eq!(dialed, [socket("1.1.1.1:80"), socket("[2606:4700::1111]:80"), socket("8.8.8.8:80")]);
    assert_eq!(machine.names.asked(), ["api.example.com"]);
}

#[tokio::test(start_paused = true)]
async fn when_nobody_answers_the_last_address_is_named() {
    let wire = Wire::new(vec![]).without(socket("93.184.216.34:80"));
    let gate = Machine::over(Names::new(at(&[crate::SITE])), wire).gate();
    let checked = gate.admit(gate.policy().judge("http://api.example.com/").unwrap()).await.unwrap();
    let error = gate.connect(&checked).await.err().unwrap();
    assert_eq!(error.to_string(), "cannot connect to api.example.com at 93.184.216.34:80");
    assert_eq!(error.reason(), "connect");
}

#[tokio::test(start_paused = true)]
async fn somebody_else_at_the_other_end_is_refused() {
    let wire = Wire::new(vec![body("x")]).hijacked_by(socket("127.0.0.1:3128"));
    let gate = Machine::over(Names::new(at(&[crate::SITE])), wire).gate();
    let checked = gate.admit(gate.policy().judge("http://api.example.com/").unwrap()).await.unwrap();
    assert!(matches!(gate.connect(&checked).await, Err(GateError::Peer { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_says_nothing_is_given_up_on() {
    let start = tokio::time::Instant::now();
    let gate = Machine::over(Names::new(Answer::Silent), Wire::new(vec![])).gate();
    let refused = gate.admit(gate.policy().judge("http://api.example.com/").unwrap()).await;
    assert!(matches!(refused, Err(GateError::ResolveDeadline { .. })));
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

struct Swallows;

#[async_trait::async_trait]
impl bowline_net::Dial for Swallows {
    async fn dial(&self, to: std::net::SocketAddr) -> std::io::Result<bowline_net::Dialed> {
        if to.ip() != crate::address("8.8.8.8") {
            std::future::pending::<()>().await;
        }
        let (stream, _) = tokio::io::duplex(1);
        Ok(bowline_net::Dialed { stream: Box::new(stream), peer: to })
    }

    fn is_own(&self, _: std::net::IpAddr) -> bool {
        false
    }
}

#[tokio::test(start_paused = true)]
async fn an_address_that_swallows_packets_leaves_time_for_the_next() {
    let policy = Policy::new(Tier::Standard, &["*"]).unwrap();
    let names = Arc::new(Names::new(at(&["1.1.1.1", "8.8.8.8"])));
    let gate = Gate::over(policy, Waits::default(), names, Arc::new(Swallows)).unwrap();
    let start = tokio::time::Instant::now();
    let checked = gate.admit(gate.policy().judge("http://a.example/").unwrap()).await.unwrap();
    assert!(gate.connect(&checked).await.is_ok());
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

#[tokio::test]
async fn a_model_server_on_this_machine_is_reached_over_real_sockets() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let service = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = [0; 1024];
        let read = stream.read(&mut head).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nlocal").await.unwrap();
        String::from_utf8_lossy(&head[..read]).into_owned()
    });
    let gate = Gate::open(Policy::loopback(&[service]).unwrap(), Waits::default()).unwrap();
    let client = Fetch::new(gate, FetchLimits::default(), Trust::public()).unwrap();
    let fetched = client.fetch(Request::get(&format!("http://{service}/api"))).await.unwrap();
    assert_eq!(fetched.body, b"local");
    assert!(served.await.unwrap().starts_with("GET /api HTTP/1.1\r\n"));
    assert!(client.fetch(Request::get("http://127.0.0.1:1/")).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn the_machine_itself_is_not_a_public_host() {
    let own = "93.184.216.34";
    let open = |hosts: &[&str]| {
        let wire = Wire::new(vec![]).on_machine(crate::address(own));
        let policy = Policy::new(Tier::Standard, hosts).unwrap();
        Gate::over(policy, Waits::default(), Arc::new(Names::new(at(&[own]))), Arc::new(wire)).unwrap()
    };
    for (hosts, url, reached) in [
        (&["*"][..], "http://a.example/", false),
        (&["*"], "http://93.184.216.34/", false),
        (&["a.example"], "http://a.example/", false),
        (&["a.example", "93.184.216.34:80"], "http://a.example/", true),
        (&["93.184.216.34"], "http://93.184.216.34/", true),
    ] {
        let gate = open(hosts);
        let admitted = gate.admit(gate.policy().judge(url).unwrap()).await;
        assert_eq!(admitted.is_ok(), reached, "{hosts:?}: {url}");
        if let Err(refused) = admitted {
            assert!(refused.to_string().contains("of this machine itself"), "{refused}");
        }
    }
}

#[test]
fn the_system_knows_which_addresses_are_its_own() {
    use bowline_net::{Dial as _, SystemDial};
    assert!(SystemDial.is_own(crate::address("127.0.0.1")));
    assert!(!SystemDial.is_own(crate::address("192.0.2.1")));
}

#[tokio::test(start_paused = true)]
async fn a_failure_has_a_word_for_logs_and_says_what_to_do() {
    let told = |error: GateError| (error.reason(), error.remedy());
    let refused = GateError::Refused(Refusal::Downgrade);
    assert_eq!(told(refused), ("redirect", Refusal::Downgrade.remedy()));
    let gate = Machine::over(Names::new(Answer::Silent), Wire::new(vec![])).gate();
    let silent = gate.admit(gate.policy().judge("http://api.example.com/").unwrap()).await.err().unwrap();
    assert_eq!(told(silent), ("dns", "check the name and the machine's resolver, then try again"));
    let wire = Wire::new(vec![body("x")]).hijacked_by(socket("127.0.0.1:3128"));
    let gate = Machine::over(Names::new(at(&[crate::SITE])), wire).gate();
    let checked = gate.admit(gate.policy().judge("http://api.example.com/").unwrap()).await.unwrap();
    let (reason, remedy) = told(gate.connect(&checked).await.err().unwrap());
    assert!(reason == "peer" && remedy.contains("find it before trusting it"), "{reason}: {remedy}");
}
