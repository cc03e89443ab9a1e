//! Which tools are trusted, and until when.

use bowline_core::event::Outcome;
use bowline_core::input::Returned;
use bowline_mcp::{FirstUse, McpError, PinnedBy};

use super::World;

fn mark(world: &World, what: &str) {
    std::fs::write(world.log().with_extension(what), "").unwrap();
}

#[tokio::test]
async fn first_use_pins_and_says_so() {
    let world = World::new();
    assert!(world.connect("new").await.unwrap().is_first_use);
    assert!(!world.connect("new").await.unwrap().is_first_use);
    let look = world.servers().look(&world.double("new")).await.unwrap();
    assert!(look.difference().is_empty());
    assert_eq!(look.pin.unwrap().by, PinnedBy::FirstUse);
}

#[tokio::test]
async fn where_first_use_does_not_count_a_person_must_approve() {
    let world = World::new();
    let (servers, server) = (world.servers(), world.double("new"));
    let error = servers.connect(&server, FirstUse::Refuse).await.err().unwrap();
    assert!(matches!(error, McpError::Unapproved { count: 18, .. }), "{error}");
    servers.approve(&servers.look(&server).await.unwrap()).await.unwrap();
    assert!(servers.connect(&server, FirstUse::Refuse).await.is_ok());
}

#[tokio::test]
async fn a_list_that_changed_is_refused_until_somebody_approves_it() {
    let world = World::new();
    world.connect("new").await.unwrap().close().await;
    mark(&world, "changed");
    let error = world.connect("new").await.err().unwrap();
    let McpError::Changed { difference, .. } = &error else { panic!("{error}") };
    assert_eq!(difference.added[0].name, "new");
    assert_eq!(error.remedy(), "read what it offers now: `bowline mcp approve double`");
    let look = world.servers().look(&world.double("new")).await.unwrap();
    assert!(look.difference().lines().contains(&"+ tool new".to_owned()));
    world.servers().approve(&look).await.unwrap();
    let connected = world.connect("new").await.unwrap();
    assert_eq!(world.call(&connected, "new").await.how, Returned::Known(Outcome::Ok));
}

#[tokio::test]
async fn a_change_in_the_middle_of_a_run_ends_the_use_of_the_tools() {
    for mode in ["new", "old"] {
        let world = World::new();
        let connected = world.connect(mode).await.unwrap();
        assert_eq!(world.call(&connected, "change").await.how, Returned::Known(Outcome::Ok));
        for _ in 0..2 {
            let output = world.call(&connected, "echo").await;
            assert_eq!(output.how, Returned::Known(Outcome::Error), "{mode}");
            assert!(
                output.text.contains("changed (1 added); a person must approve"),
                "{mode}: {}",
                output.text
            );
        }
        assert_eq!(world.calls_sent("echo").len(), 0, "{mode}");
    }
}

#[tokio::test]
async fn a_server_that_comes_back_with_other_tools_is_not_used() {
    let world = World::new();
    let connected = world.connect("new").await.unwrap();
    mark(&world, "changed");
    world.call(&connected, "die").await;
    let output = world.call(&connected, "echo").await;
    assert!(output.text.contains("a person must approve"), "{}", output.text);
    assert_eq!(world.calls_sent("echo").len(), 0);
}

#[tokio::test]
async fn a_list_beyond_its_bounds_is_not_used_and_not_pinned() {
    for (mode, told) in [
        ("many", "more than 256 tools"),
        ("twice", "two tools called"),
        ("fat", "65536 are accepted"),
        ("endless", "more than 64 pages"),
        ("circle", "leads to itself"),
    ] {
        let world = World::new();
        let error = world.connect(mode).await.err().unwrap();
        assert!(matches!(&error, McpError::List { why, .. } if why.contains(told)), "{mode}: {error}");
        assert!(world.servers().pins().all().await.unwrap().is_empty(), "{mode}");
    }
}

#[tokio::test]
async fn a_tool_that_talks_to_the_model_is_held_back_until_it_was_read() {
    let world = World::new();
    mark(&world, "poisoned");
    let connected = world.connect("new").await.unwrap();
    assert_eq!(connected.tools().len(), 18);
    assert_eq!(connected.held.len(), 1);
    let held = &connected.held[0];
    assert!(held.tool == "poisoned" && held.why.contains("talks to the model"), "{held:?}");
    // Used again, it is still held back; approved, it is not.
    assert_eq!(world.connect("new").await.unwrap().held.len(), 1);
    let look = world.servers().look(&world.double("new")).await.unwrap();
    assert_eq!(look.held().len(), 1);
    world.servers().approve(&look).await.unwrap();
    assert_eq!(world.connect("new").await.unwrap().held, []);
}

#[tokio::test]
async fn what_was_agreed_to_is_bound_to_the_program_not_to_the_name_alone() {
    let world = World::new();
    let (servers, server) = (world.servers(), world.double("new"));
    servers.approve(&servers.look(&server).await.unwrap()).await.unwrap();
    servers.connect(&server, FirstUse::Refuse).await.unwrap().close().await;
    // The same name and the same list, from another program.
    let copy = world.work().join("double-copy");
    std::fs::copy(super::example("double"), &copy).unwrap();
    let mut other = server.clone();
    if let bowline_core::agent::server::Reach::Stdio { argv, .. } = &mut other.how {
        argv[0] = copy.to_str().unwrap().to_owned();
    }
    let error = servers.connect(&other, FirstUse::Refuse).await.err().unwrap();
    assert!(matches!(error, McpError::Unapproved { .. }), "{error}");
    assert!(servers.look(&other).await.unwrap().pin.is_none(), "nobody agreed to that one");
    // The other arguments of the same program make it another server, too.
    let error = servers.connect(&world.double("old"), FirstUse::Refuse).await.err().unwrap();
    assert!(matches!(error, McpError::Unapproved { .. }), "{error}");
    servers.connect(&server, FirstUse::Refuse).await.unwrap().close().await;
}
