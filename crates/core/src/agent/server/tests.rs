//! A server comes through serde, and what cannot be used is told.

use serde_json::json;

use super::*;

fn server(value: serde_json::Value) -> Server {
    serde_json::from_value(value).unwrap()
}

fn stdio(more: serde_json::Value) -> Server {
    let mut value = json!({"name": "files", "transport": "stdio", "argv": ["server"]});
    for (key, item) in more.as_object().unwrap() {
        value[key] = item.clone();
    }
    server(value)
}

#[test]
fn a_server_comes_through_serde_as_it_is() {
    let full = json!({
        "name": "issues",
        "transport": "http",
        "url": "https://api.example.com/mcp",
        "headers": {"Authorization": {"env": "TOKEN", "prefix": "Bearer "}, "x-team": "blue"},
        "timeout_ms": 5000,
        "tools": ["search"],
        "rules": {"search": {"touch": "read", "repeat": "freely", "consent": "not-needed"}},
    });
    let read = server(full.clone());
    assert_eq!(read.check(), Ok(()));
    assert_eq!(serde_json::to_value(&read).unwrap(), full);
    assert_eq!(read.rules["search"].consent, Some(Consent::NotNeeded));
}

#[test]
fn what_is_left_out_is_the_careful_default() {
    let read = stdio(json!({}));
    assert_eq!(read, Server::new(ServerName::parse("files").unwrap(), read.how.clone()));
    assert_eq!((read.timeout_ms, read.tools), (60_000, None));
}

#[test]
fn a_name_that_could_be_taken_for_another_is_refused() {
    for bad in ["", "Files", "a.b", "a b", "é", "a_b", &"x".repeat(33)] {
        assert!(ServerName::parse(bad).is_err(), "{bad:?}");
    }
    assert!(serde_json::from_value::<ServerName>(json!("A")).is_err());
    assert!(ServerName::parse(&"x".repeat(32)).is_ok());
}

#[test]
fn a_secret_is_named_and_never_written_down() {
    for name in ["GITHUB_TOKEN", "API_KEY", "Db-Password", "AUTHORIZATION", "x-auth", "Cookie"] {
        let bad = stdio(json!({"env": {name: "value"}}));
        assert!(matches!(bad.check(), Err(BadServer::PlainSecret { entry, .. }) if entry == name), "{name}");
        assert_eq!(stdio(json!({"env": {name: {"env": "X"}}})).check(), Ok(()));
        assert_eq!(stdio(json!({"env": {name: {"file": "/run/x"}}})).check(), Ok(()));
    }
    assert_eq!(stdio(json!({"env": {"LOG_LEVEL": "debug"}})).check(), Ok(()));
}

#[test]
fn a_value_from_two_places_is_refused() {
    let two =
        json!({"name": "a", "transport": "stdio", "argv": ["a"], "env": {"X": {"env": "A", "file": "b"}}});
    assert!(serde_json::from_value::<Server>(two).is_err());
}

#[test]
fn everything_is_bounded() {
    let many: Vec<String> = (0..300).map(|n| format!("t{n}")).collect();
    for bad in [
        json!({"argv": []}),
        json!({"argv": [""]}),
        json!({"argv": vec!["x"; 65]}),
        json!({"argv": ["x".repeat(TEXT_MAX + 1)]}),
        json!({"tools": many}),
        json!({"timeout_ms": 0}),
        json!({"timeout_ms": TIMEOUT_MS_MAX + 1}),
        json!({"rules": {"t": {"timeout_ms": 0}}}),
        json!({"rules": {"t": {"touch": "write"}}}),
    ] {
        let refused = stdio(bad.clone()).check().expect_err(&bad.to_string());
        assert!(!refused.remedy().is_empty());
    }
}
